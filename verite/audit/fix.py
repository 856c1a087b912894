"""Mending a table by rule.

Characters, white space, pairs that are there twice; every change is logged.
"""

from __future__ import annotations

import pandas as pd

from verite.audit.reading import Benchmark
from verite.characters import clean, find_problems

__all__ = ["fix", "for_spreadsheets"]


def fix(benchmark: Benchmark) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make a cleaned copy, and a log of what was changed.

    Captions: look-alike letters become Latin, characters that cannot be seen go,
    accents are composed (NFC), white space becomes single spaces. Rows that repeat
    image, caption and label of an earlier row go, whatever their split; where no image
    is named, none goes. A broken encoding and U+FFFD are left alone, for what was lost
    stands in the source only; so is whatever calls for a decision, such as two labels.

    The cleaned copy is data: its cells are not changed for the sake of spreadsheets, in
    which a caption that begins with ``=`` may run.

    Returns
    -------
    cleaned, log : pandas.DataFrame
        The table that was read, all columns under their own names; and ``pair_id``,
        ``change``, ``before``, ``after``.

    >>> from verite.datasets import load
    >>> world = Benchmark.of(load("newsroom", events=2, encoder=None))
    >>> fix(world)[1].empty
    True
    """
    table = benchmark.pairs if benchmark.table is None else benchmark.table
    pairs = benchmark.pairs.assign(caption=benchmark.pairs["caption"].map(clean))
    before = benchmark.pairs["caption"]
    changed = pairs["caption"] != before
    log = [
        (
            pair_id,
            ", ".join(
                name for name in find_problems(old) if name not in find_problems(new)
            ),
            old,
            new,
        )
        for pair_id, old, new in zip(
            pairs.loc[changed, "pair_id"],
            before[changed],
            pairs.loc[changed, "caption"],
            strict=True,
        )
    ]
    key = ["image_id", "caption", "label"]
    twice = pairs.duplicated(key) & (pairs["image_id"] != "")
    first = pairs.groupby(key)["pair_id"].transform("first")
    log += [
        (pair_id, f"left out: repeats {kept}", "", "")
        for pair_id, kept in zip(pairs.loc[twice, "pair_id"], first[twice], strict=True)
    ]
    cleaned = table.assign(**{benchmark.caption_column: pairs["caption"]})[
        ~twice
    ].reset_index(drop=True)
    return cleaned, pd.DataFrame(
        log, columns=["pair_id", "change", "before", "after"], dtype="str"
    )


def for_spreadsheets(table: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before cells of text that a spreadsheet would take for a
    formula.

    >>> for_spreadsheets(pd.DataFrame({"caption": ["=1+1", "a = b", "-"]}))["caption"].tolist()
    ["'=1+1", 'a = b', "'-"]
    """
    safe = table.copy()
    for name in safe.columns:
        if pd.api.types.is_string_dtype(safe[name]) or safe[name].dtype == object:
            text = safe[name].astype("str")
            safe[name] = text.where(~text.str.match(r"\s*[=+\-@]|[\t\r\n]"), "'" + text)
    return safe
