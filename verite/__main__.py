"""``python -m verite`` is ``verite``."""

from verite.cli import main

main()
