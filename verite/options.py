"""Options of the command line that repeat: ``-p KEY VALUE`` and ``NAME=VALUE``."""

from __future__ import annotations

from verite.errors import ParameterError

__all__ = ["join_options", "parse_options"]


def join_options(words: list[str]) -> list[str]:
    """Join ``-p key value`` into ``-p key=value``, which the parser of options can
    repeat.

    >>> join_options(["run", "a", "-p", "folds", "5", "-p", "seed=-1"])
    ['run', 'a', '-p', 'folds=5', '-p', 'seed=-1']
    """
    joined: list[str] = []
    rest = iter(words)
    for word in rest:
        joined.append(word)
        if word in {"-p", "--parameter"} and (key := next(rest, None)) is not None:
            if "=" in key:
                joined.append(key)
                continue
            value = next(rest, None)
            if value is None or value.startswith("--") or value == "-p":
                raise ParameterError(
                    f"parameter {key} has no value. Write: -p {key} VALUE."
                )
            joined.append(f"{key}={value}")
    return joined


def parse_options(words: list[str]) -> dict[str, str]:
    """Values by name from ``NAME=VALUE`` words.

    Raises
    ------
    ParameterError
        A name is given twice.

    >>> parse_options(["a=1", "b=x=y"])
    {'a': '1', 'b': 'x=y'}
    """
    found: dict[str, str] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key in found:
            raise ParameterError(f"parameter {key} is given twice.")
        found[key] = value
    return found
