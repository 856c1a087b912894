"""A small checkout of its own for tests that run notebooks."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

HEADER = """\
---
kernelspec: {display_name: Python 3, language: python, name: python3}
jupytext: {text_representation: {extension: .md, format_name: myst}}
---

# A small notebook

```{code-cell} ipython3
:tags: [parameters]

size: int = 3  # (from 1) how many rows
source: str = "auto"  # {auto, newsroom} data to read
share: float = 0.5  # (from 0 to 1) a share
loud: bool = False  # whether to shout
```
"""

BODY = """\
import pandas as pd
from veritebook import Page

page = Page("small", globals())
rows = {"row": range(size), "column": "x", "value": [share / 3] * size}
page.add_results(pd.DataFrame(rows), table="t", unit="", protocol="none")
page.finish()
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make a checkout with notebooks of the given cells, and stand in it."""

    def make(**cells: str) -> Path:
        (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\n")
        (tmp_path / "notebooks").mkdir(exist_ok=True)
        for name, body in (cells or {"small": BODY}).items():
            code = f"\n```{{code-cell}} ipython3\n{textwrap.dedent(body)}```\n"
            (tmp_path / "notebooks" / f"{name}.md").write_text(HEADER + code)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return make
