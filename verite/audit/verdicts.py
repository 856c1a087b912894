"""One sentence for each modality.

How far it gets alone, what carries it, and what it could reach at best.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from verite.audit.probes import BROAD

__all__ = ["telling", "verdicts"]

_NAMES = {
    "text": "Text alone",
    "image": "The image alone",
    "source": "The source alone",
}
_MOST = 3


def verdicts(probes: pd.DataFrame, ceilings: pd.DataFrame) -> dict[str, str]:
    """Say what the probes and ceilings of each modality mean.

    The best probe is named by its accuracy; as the best of several it is a little
    flattered, and its interval does not know of that. What carries it are the narrow
    probes that fire (all but TF-IDF and embeddings, which see everything).

    Returns
    -------
    dict
        A sentence for ``text``, ``image`` and ``source``.
    """
    return {
        modality: f"{name}{_sentence(modality, probes, ceilings)}"
        for modality, name in _NAMES.items()
    }


def _sentence(modality: str, probes: pd.DataFrame, ceilings: pd.DataFrame) -> str:
    mine = probes[probes["modality"] == modality]
    limit = _limit(modality, ceilings)
    if mine.empty:
        return f": not probed, for there is nothing to look at{limit}."
    firing = mine[mine["fires"]].sort_values("accuracy", ascending=False, kind="stable")
    if firing.empty:
        best = mine.sort_values("accuracy", ascending=False, kind="stable").iloc[0]
        return (
            f": no probe fires; the best, {best['probe']}, reaches {_figure(best)},"
            f" chance {best['chance']:.1%}{limit}."
        )
    best = firing.iloc[0]
    others = [
        str(name)
        for name in firing["probe"]
        if name not in BROAD and name != best["probe"]
    ][:_MOST]
    carried = [telling(one) for one in best["carriers"]][:_MOST]
    why = ""
    if others:
        why = (
            f": {_and(others)} {'carry' if len(others) > 1 else 'carries'} it"
            if best["probe"] in BROAD
            else f"; {_and(others)} {'get' if len(others) > 1 else 'gets'} no further"
        )
    if carried:
        why += f"; telling are {_and(carried)}"
    above = best["low"] > best["chance"]
    chance = (
        f"chance {best['chance']:.1%}"
        if above
        else (
            f"balanced {best['balanced_accuracy']:.1%}, chance"
            f" {best['balanced_chance']:.1%}"
        )
    )
    return f" reaches {_figure(best)} ({best['probe']}), {chance}{why}{limit}."


def telling(carrier: Mapping[str, Any]) -> str:
    """A feature and the label that it speaks for, or against.

    >>> telling({"feature": "allegedly", "label": "true", "weight": -0.2})
    'allegedly (not true)'
    """
    return (
        f"{carrier['feature']}"
        f" ({'not ' if carrier['weight'] < 0 else ''}{carrier['label']})"
    )


def _figure(row: pd.Series) -> str:
    return f"{row['accuracy']:.1%} [{row['low']:.1%}, {row['high']:.1%}]"


def _limit(modality: str, ceilings: pd.DataFrame) -> str:
    if ceilings.empty:
        return ""
    rows = ceilings[
        (ceilings["modality"] == modality) & (ceilings["labels"] == "all")
    ].set_index("duplicates")
    if rows.empty:
        return ""
    exact, near = (f"{float(rows['ceiling'][kind]):.1%}" for kind in ("exact", "near"))
    merged = f" ({near} with near-duplicates as one)" if near != exact else ""
    return f"; nothing that sees it alone can pass {exact}{merged}"


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
