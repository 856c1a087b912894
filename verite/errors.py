"""The errors a user of the package can meet.

Every message answers four questions: what was expected, what was found, where, and what
to do next. The command line prints the message alone; a traceback is for faults of
ours.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "DataError",
    "DownloadError",
    "MissingDataError",
    "ParameterError",
    "RunError",
    "StoppedError",
    "VeriteError",
    "name_some",
]


class VeriteError(Exception):
    """Base of all errors whose cause is the input or the machine, not the package."""


class DataError(VeriteError, ValueError):
    """A table or an array does not hold what it must hold."""


class MissingDataError(VeriteError, FileNotFoundError):
    """A file that is needed is not there; the message says how to get it."""


class ParameterError(VeriteError, ValueError):
    """An option or a notebook parameter does not exist, or its value does not parse."""


class DownloadError(VeriteError, OSError):
    """A file could not be fetched, or what came is not what was pinned."""


class RunError(VeriteError, RuntimeError):
    """A notebook or the book did not run to its end."""


class StoppedError(VeriteError):
    """The user stopped it (Ctrl-C); what had finished is kept."""


def name_some(items: Iterable[object], limit: int = 5) -> str:
    """Name the first few of many items, and count the rest.

    >>> name_some([3, 7, 9])
    '3, 7, 9'
    >>> name_some(range(10), limit=3)
    '0, 1, 2 and 7 more'
    """
    listed = [str(item) for item in items]
    shown = ", ".join(listed[:limit])
    rest = len(listed) - limit
    return f"{shown} and {rest:,} more" if rest > 0 else shown
