"""Check, or with --fix rewrite, the code cells of the notebooks with ruff.

Cells are formatted one by one at the line length of ``pyproject.toml``; the cells of a
notebook are linted together, since names of one cell are used in the next.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CELL = re.compile(r"(?<=^```\{code-cell\} ipython3\n)(.*?)(?=^```$)", re.S | re.M)
TAGS = re.compile(r"(:tags: .*\n\n?)?")
RUFF = (sys.executable, "-m", "ruff")
# Imports belong where they are first used, and the last line of a cell is shown. The
# parameters have their meaning beside them, in one line that papermill reads; prose of
# a figure may be long; a dropped loop variable or an unused name is still an error.
IGNORED = (
    "E402,E501,B018,INP001,PD010,PD901,B905,D,T201,ANN,F811,B023,PLW2901,S101,RET501,"
    "C408"
)


def ruff(*options: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run ruff over a cell's code."""
    command = [*RUFF, *options, "--stdin-filename", "notebook.py", "-"]
    return subprocess.run(command, input=code, text=True, capture_output=True)  # noqa: S603


def formatted(match: re.Match[str]) -> str:
    """A code cell, sorted and formatted; parameters stay as they are."""
    tags = TAGS.match(match[0])[0]
    if "parameters" in tags:  # papermill reads one parameter per line
        return match[0]
    code = match[0].removeprefix(tags)
    code = ruff("check", "--select=I", "--fix", "--quiet", code=code).stdout or code
    result = ruff("format", code=code)
    if result.returncode:
        raise SystemExit(f"cannot format this cell: {result.stderr}\n{match[0]}")
    return (tags.rstrip("\n") + "\n\n" if tags else "") + result.stdout


def main() -> int:
    """Check the notebooks, or rewrite them with ``--fix``."""
    fix = "--fix" in sys.argv
    names = [name for name in sys.argv[1:] if name != "--fix"]
    paths = [Path(name) for name in names] or sorted(Path("notebooks").glob("*.md"))
    failed = False
    for path in paths:
        text = path.read_text(encoding="utf8")
        new = CELL.sub(formatted, text)
        if fix and new != text:
            path.write_text(new, encoding="utf8")
        elif new != text:
            print(f"{path}: not formatted; run python .ci/notebooks.py --fix")
            failed = True
        # Markdown lines become empty ones, so that line numbers are those of the file.
        code, end = "", 0
        for match in CELL.finditer(new):
            code += "\n" * new.count("\n", end, match.start())
            code += re.sub("^:tags:", "# tags:", match[0])
            end = match.end()
        result = ruff("check", "--quiet", f"--extend-ignore={IGNORED}", code=code)
        if result.returncode:
            print(result.stdout.replace("notebook.py", str(path)), end="")
            failed = True
        for number, line in enumerate(code.splitlines(), 1):
            if len(line) > 88 and not re.match(r"\w+: \w+ = .*#", line):
                print(f"{path}:{number}: {len(line)} characters, more than 88")
                failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
