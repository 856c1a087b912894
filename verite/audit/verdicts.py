"""One sentence per modality: how far it gets alone, why, and its ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from verite.audit.probes import BROAD

__all__ = ["describe_carrier", "verdicts"]

_NAMES = {
    "text": "Text alone",
    "image": "The image alone",
    "source": "The source alone",
}
_MOST = 3


def verdicts(probes: pd.DataFrame, ceilings: pd.DataFrame) -> dict[str, str]:
    """Say what the probes and ceilings of each modality mean.

    The best probe is named with its accuracy, which is a little optimistic, as it is
    the best of several. Narrow probes that fire explain it.

    Returns
    -------
    dict
        A sentence for ``text``, ``image`` and ``source``.
    """
    return {
        modality: f"{name}{_describe(modality, probes, ceilings)}"
        for modality, name in _NAMES.items()
    }


def describe_carrier(carrier: Mapping[str, Any]) -> str:
    """A feature and the label that it speaks for, or against.

    >>> describe_carrier({"feature": "allegedly", "label": "true", "weight": -0.2})
    'allegedly (not true)'
    """
    sign = "not " if carrier["weight"] < 0 else ""
    return f"{carrier['feature']} ({sign}{carrier['label']})"


def _describe(modality: str, probes: pd.DataFrame, ceilings: pd.DataFrame) -> str:
    ranked = probes[probes["modality"] == modality]
    ranked = ranked.sort_values("accuracy", ascending=False, kind="stable")
    limit = _describe_ceiling(modality, ceilings)
    if ranked.empty:
        return f": not probed, for there is nothing to look at{limit}."
    firing = ranked[ranked["fires"].astype(bool)]
    best = (ranked if firing.empty else firing).iloc[0]
    reached = f"{best['accuracy']:.1%} [{best['low']:.1%}, {best['high']:.1%}]"
    chance = f"chance {best['chance']:.1%}"
    if firing.empty:
        return (
            f": no probe fires; the best, {best['probe']}, reaches {reached},"
            f" {chance}{limit}."
        )
    if best["low"] <= best["chance"]:
        chance = (
            f"balanced {best['balanced_accuracy']:.1%}, chance"
            f" {best['balanced_chance']:.1%}"
        )
    others = [
        name for name in firing["probe"] if name not in BROAD and name != best["probe"]
    ][:_MOST]
    why = ""
    if others and best["probe"] in BROAD:
        verb = "carry" if len(others) > 1 else "carries"
        why = f": {_and(others)} {verb} it"
    elif others:
        verb = "get" if len(others) > 1 else "gets"
        why = f"; {_and(others)} {verb} no further"
    if carriers := [describe_carrier(carrier) for carrier in best["carriers"]][:_MOST]:
        why += f"; telling are {_and(carriers)}"
    return f" reaches {reached} ({best['probe']}), {chance}{why}{limit}."


def _describe_ceiling(modality: str, ceilings: pd.DataFrame) -> str:
    if ceilings.empty:
        return ""
    part = (ceilings["modality"] == modality) & (ceilings["labels"] == "all")
    values = ceilings[part].set_index("duplicates")["ceiling"]
    if values.empty:
        return ""
    exact, near = f"{values['exact']:.1%}", f"{values['near']:.1%}"
    merged = f" ({near} with near-duplicates as one)" if near != exact else ""
    return f"; nothing that sees it alone can pass {exact}{merged}"


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
