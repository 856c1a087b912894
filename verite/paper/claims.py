"""What the paper says of its own numbers, claim by claim, held against its own tables.

The claims, in our words, are in ``claims.csv``. Each is recomputed here from the
published cells; where these do not suffice, the verdict says so. Figures that the paper
derives, cell by cell, are in :mod:`verite.paper.errata`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verite.paper.published import wide

__all__ = ["VERDICTS", "claims"]

VERDICTS = ("follows", "follows in part", "does not follow", "cannot be checked")
"""What a check can find."""

BOTH, ONE = ["image;text", "image+text"], ["text", "image"]

Check = tuple[str, float | None, str]
"""Key, the share of the claim that holds (None: cannot be checked), the evidence."""


def claims() -> pd.DataFrame:
    """Check every claim.

    Returns
    -------
    pandas.DataFrame
        One row per claim: ``key``, ``where`` the paper makes it, the ``claim`` in our
        words, ``verdict``, and the evidence, ``found``.

    >>> claims().set_index("key").loc["attention-on-verite", "verdict"]
    'does not follow'
    """
    listed = pd.read_csv(Path(__file__).with_name("claims.csv"), dtype=str)
    parts = (_sizes, _samples, _on_vmu, _on_cosmos, _on_test_sets, _on_verite)
    checks = [check for part in (*parts, _on_verite_b) for check in part()]
    results = pd.DataFrame(checks, columns=["key", "share", "found"])
    verdicts = [_verdict(share) for share in results.pop("share")]
    results.insert(1, "verdict", verdicts)
    return listed.merge(results, on="key", how="left", validate="1:1")


def _verdict(share: float | None) -> str:
    if share is None or np.isnan(share):
        return VERDICTS[3]
    return VERDICTS[0] if share == 1 else VERDICTS[1] if share else VERDICTS[2]


def _cells(name: int | str) -> Any:
    """A published table; ``Any``, since pandas' stubs allow a cell to be anything."""
    return wide(name)


def _sizes() -> Iterator[Check]:
    sizes, said = _cells(1).fillna(0), _cells("prose")
    for key, row, column in (
        ("vmu-training", "VMU-Twitter (training)", "training pairs"),
        ("vmu-test", "VMU-Twitter (testing)", "test pairs"),
        ("fakeddit-size", "Fakeddit", "pairs"),
        ("cosmos-size", "COSMOS", "pairs"),
    ):
        total = sizes.loc[row].sum()
        holds = total == said.loc[row.partition(" (")[0], column]
        yield key, holds, f"Table 1 adds up to {total:,.0f}."
    rounded = said.loc["VMU-Twitter", "training texts, rounded"]
    exact = said.loc["VMU-Twitter", "training pairs"]
    found = f"rounds to {round(exact, -3) / 1000:.0f} thousand."
    found = f"Elsewhere there are {exact:,.0f}, which {found}"
    yield "vmu-rounded", round(exact, -3) == rounded, found
    articles, true = _articles(said), sizes.loc["VERITE", "true"]
    holds = articles == true == sizes.loc["VERITE", "miscaptioned"]
    yield "verite-articles", holds, f"{articles} articles, {true:.0f} true pairs."
    retained = said.loc["CHASMA pool", "captions retained"]
    whole = said.loc["CHASMA pool", "truthful pairs"]
    found = (
        f"Both are {retained:,.0f}. But Table 1 counts training pairs, and of CHASMA"
        f" these are {sizes.loc['CHASMA', 'true'] / whole:.0%} of the {whole:,.0f} in"
        " the text; the same share of CHASMA-D would be fewer."
    )
    share = 0.5 if retained == sizes.loc["CHASMA-D", "miscaptioned"] else 0
    yield "chasma-d-size", share, found


def _articles(said: Any) -> int:
    return int(said.loc["VERITE", ["articles of Snopes", "articles of Reuters"]].sum())


def _samples() -> Iterator[Check]:
    said = _cells("prose")
    for key, row in (
        ("chasma-sample", "CHASMA, pairs looked at"),
        ("cosmos-sample-unique", "COSMOS, pairs looked at, duplicates apart"),
    ):
        total = said.loc[row].dropna().sum()
        yield key, total == 100, f"The shares add up to {total:.0f} %."
    cosmos = said.loc["COSMOS, pairs looked at"]
    false = cosmos["associative imagery"] + cosmos["reinforcing captions"]
    total = cosmos["false claims"] + cosmos["miscaptioned"]
    found = f"The two kinds make {false:.0f} %, and with the rest {total:.0f} %."
    yield "cosmos-sample", false == cosmos["false claims"] and total == 100, found
    fakeddit = said.loc["Fakeddit, pairs looked at"]
    kinds = fakeddit["manipulated images"] + fakeddit["associative imagery"]
    parts = ["asymmetric", "misleading by both modalities", "other content"]
    total = fakeddit[parts].sum()
    found = f"all together make {total:.0f} %, said to be rough."
    share = total == 100 or 0.5 * (kinds == fakeddit["asymmetric"])
    yield "fakeddit-sample", share, f"The two kinds make {kinds:.0f} %; {found}"
    shares = said.loc["VERITE, topics"].dropna().to_numpy()
    articles = _articles(said)
    fits = [count for count in range(100, 401) if _largest_gap(shares, count) < 0.02]
    found = (
        f"Of {articles} articles, whole numbers would give shares up to"
        f" {_largest_gap(shares, articles):.2f} points away. From 100 to 400, the"
        " printed shares are those of whole numbers out of"
        f" {' or '.join(map(str, fits))} only."
    )
    yield "verite-topics", articles in fits, found


def _largest_gap(shares: np.ndarray, count: int) -> float:
    """Distance of the worst of these percentages from whole numbers out of ``count``.

    >>> round(_largest_gap(np.array([50.0, 33.0]), 3), 2)
    16.67
    """
    return float(np.abs(shares - 100 * np.round(shares * count / 100) / count).max())


def _on_vmu() -> Iterator[Check]:
    accuracy = _cells(2)["accuracy"].dropna()
    corrected = _cells(2)["accuracy, corrected protocol"].dropna()
    rank = accuracy.drop(ONE).rank(ascending=False)["image;text"]
    found = "Three rows of Table 2 are lost in the text that was read. Of those that"
    yield "vmu-third", None, f"{found} are known it is number {rank:.0f}."
    others = accuracy.drop("image")
    found = f"of the known others the best, {others.idxmax()}, has {others.max()} %."
    found = f"{accuracy['image']} %; {found}"
    yield "vmu-image-first", accuracy.idxmax() == "image", found
    found = " and ".join(f"{value} %" for value in corrected[BOTH])
    holds = (corrected["image"] > corrected[BOTH]).all()
    yield "vmu-corrected", holds, f"{corrected['image']} % against {found}."


def _on_cosmos() -> Iterator[Check]:
    table = _cells(3)
    best = table.max().max()
    found = f"The highest of Table 3 is {best} %."
    yield "cosmos-best", table.loc["CHASMA-D", "text"] == best, found
    ahead = table.index[table[BOTH].lt(table["text"], axis=0).all(axis=1)]
    named = {"CLIP-NESt", "R-NESt", "Fakeddit", "CHASMA", "CHASMA-D"}
    yield "cosmos-which", set(ahead) == named, f"It does for {', '.join(ahead)}."


def _unbiased(table: Any) -> Any:
    """Training sets for which both multimodal inputs lead both unimodal ones."""
    return table[table[ONE].max(axis=1) < table[BOTH].min(axis=1)].index


def _on_test_sets() -> Iterator[Check]:
    table = _cells(4)
    count = len(_unbiased(table))
    found = f"It holds for {count} of {len(table)} sets."
    yield "test-sets-no-bias", count == len(table), found
    gap = table["text"] - table["image"]
    named = gap[["MEIR", "R-NESt", "CLIP-NESt", "CHASMA", "CHASMA-D"]]
    found = f"points ahead; with Fakeddit {gap['Fakeddit']:.1f}."
    found = f"Text is {named.min():.1f} to {named.max():.1f} {found}"
    yield "image-behind-text", named.min() > gap["Fakeddit"], found


def _on_verite() -> Iterator[Check]:
    table = _cells(5)
    count = len(_unbiased(table))
    found = f"It holds for {count} of {len(table)} training sets."
    yield "verite-no-bias", count == len(table), found
    behind = table[table["image+text"] <= table["image;text"]]
    listed = ", ".join(
        f"{row} ({cells['image+text']} against {cells['image;text']} %)"
        for row, cells in behind.iterrows()
    )
    count = len(table) - len(behind)
    found = f"It holds for {count} of {len(table)} training sets, not for"
    yield "attention-on-verite", behind.empty, f"{found} {listed or 'none'}."
    alone, swaps = ["CHASMA", "CHASMA-D"], ["CLIP-NESt", "R-NESt"]
    joined = table.index[table.index.str.contains(" + ", regex=False)]
    for inputs in ("image+text", "image;text"):
        by_alone, by_swaps = table.loc[alone, inputs], table.loc[swaps, inputs]
        found = " % against ".join(
            " and ".join(map(str, part)) for part in (by_alone, by_swaps)
        )
        holds = by_alone.min() > by_swaps.max()
        yield f"chasma-alone, {inputs}", holds, f"{found} %."
        by_joined = table.loc[joined, inputs]
        found = " % against ".join(
            f"{part.min()} to {part.max()}" for part in (by_joined, by_swaps)
        )
        holds = by_joined.min() > by_swaps.max()
        yield f"chasma-joined, {inputs}", holds, f"{found} %."
    best = table["image+text"].idxmax()
    first, last = table.loc[["CLIP-NESt", best], "image+text"]
    holds = table[BOTH].max().max() == table.loc["CLIP-NESt + CHASMA-D", "image+text"]
    yield "chasma-best", holds, f"The highest is that of {best}, {last} %."
    found = f"% of what it was, or {last - first:.1f} points."
    found = f"From {first} to {last} %: by {100 * (last - first) / first:.1f} {found}"
    yield "gain", 0.5, found
    text, both = table.loc[alone, "text"], table.loc[alone, BOTH].min(axis=1)
    found = "; ".join(
        f"{row}: text {text[row]} %, both {both[row]} % or more" for row in alone
    )
    yield "chasma-bias-gone", (text < both).all(), f"{found}."


def _on_verite_b() -> Iterator[Check]:
    table = _cells(6)

    def gain(protocol: str, inputs: str) -> Any:
        return table[f"{protocol}: {inputs}"] - table[f"{protocol}: text"]

    joined, attended = (gain("true-vs-mc", what) for what in BOTH)
    behind, named = joined[joined < 0], ["R-NESt", "CHASMA-D"]
    share = 1 if set(behind.index) == set(named) else sum(joined[named] < 0) / 2
    listed = ", ".join(f"{row} ({value:+.1f} points)" for row, value in behind.items())
    found = f"It is behind text for {listed}; for R-NESt it is {joined['R-NESt']:+.1f}."
    yield "verite-b-joined", share, found
    found = "; ".join(
        f"{row}: {joined[row]:+.1f} without, {attended[row]:+.1f} with it"
        for row in named
    )
    holds = (attended[named] < joined[named]).all()
    yield "verite-b-attention", holds, f"{found} (points against text)."
    fakeddit = gain("true-vs-ooc", "image+text")["Fakeddit"]
    yield "verite-b-fakeddit", fakeddit < 0, f"{fakeddit:+.1f} points against text."
