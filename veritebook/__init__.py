"""Run the notebooks, keep a record of each run, and build the book from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veritebook.page import Page

__all__ = ["Page"]


def __getattr__(name: str) -> Any:
    if name == "Page":
        from veritebook.page import Page

        return Page
    raise AttributeError(f"module 'veritebook' has no attribute {name!r}")
