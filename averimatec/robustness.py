"""Does a judge see what matters, and only that? The eleven checks of the paper's Table
11, for any judge.

Evidence is changed, and its recall compared with that of the same evidence unchanged.
Three changes take something away that counts, so recall should fall; eight leave the
meaning alone, so it should stay. They follow the descriptions in appendix F.3 and, for
the changes of text, those of the study that it takes them from (Akhtar et al., 2024);
the wording is ours. Synonyms are those of a small list, where the study takes
WordNet's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from averimatec.claims import Claim
from averimatec.conventions import by_count, by_images
from averimatec.judges import Judge
from averimatec.scoring import MODES
from averimatec.submission import Evidence, Prediction, reference_evidence
from averimatec.wording import (
    contracted,
    digits_to_words,
    with_synonyms,
    words_to_digits,
)
from verite.encoders.pictures import open_picture
from verite.errors import DataError, ParameterError
from verite.evaluation import grouped_bootstrap
from verite.evaluation.perturbations import clauses_swapped, letters_swapped
from verite.files import atomic_path

__all__ = ["CHECKS", "TOLERANCE", "Check", "Surroundings", "check_judge"]

TOLERANCE = 5.0
"""Per cent by which recall may move where it should stay."""

Items = tuple[Evidence, ...]


@dataclass
class Surroundings:
    """What a change may draw on.

    Image files by name, images of other claims, a folder for changed images, chance.
    """

    files: dict[str, Path]
    others: Sequence[str]
    folder: Path
    rng: np.random.Generator


class Check(NamedTuple):
    """A change of evidence, and what it should do to recall.

    Make it ``fall``, or let it ``stay``.
    """

    expected: str
    change: Callable[[Items, Surroundings], Items]


def completeness(items: Items, around: Surroundings) -> Items:
    """Take half of the items away, at least one."""
    kept = sorted(
        around.rng.choice(len(items), len(items) // 2, replace=False).tolist()
    )
    return tuple(items[place] for place in kept)


def shuffle(items: Items, around: Surroundings) -> Items:
    """Put the words of each item in random order."""
    return _texts(
        items, lambda text: " ".join(around.rng.permutation(text.split()).tolist())
    )


def irrelevant_images(items: Items, around: Surroundings) -> Items:
    """Put images of other claims in the place of each item's own."""

    def others(item: Evidence) -> Evidence:
        return (
            replace(
                item,
                images=tuple(
                    str(around.rng.choice(around.others)) for _ in item.images
                ),
            )
            if len(around.others)
            else item
        )

    return tuple(others(item) for item in items)


def redundant_words(items: Items, around: Surroundings) -> Items:
    """Write a tenth of the words twice, at least one in each item."""

    def doubled(text: str) -> str:
        words = text.split()
        chosen = _tenth(words, around.rng)
        return " ".join(
            f"{word} {word}" if place in chosen else word
            for place, word in enumerate(words)
        )

    return _texts(items, doubled)


def fluency(items: Items, around: Surroundings) -> Items:
    """Make slips of the pen in a tenth of the words, at least one in each item."""

    def slipped(text: str) -> str:
        words = text.split()
        chosen = _tenth(words, around.rng)
        return " ".join(
            letters_swapped(word) if place in chosen else word
            for place, word in enumerate(words)
        )

    return _texts(items, slipped)


def argument_structure(items: Items, around: Surroundings) -> Items:
    """Put the items in another order, and turn the two parts of each round at its first
    comma.
    """
    order = around.rng.permutation(len(items)).tolist()
    return _texts(tuple(items[place] for place in order), clauses_swapped)


def image_invariance(items: Items, around: Surroundings) -> Items:
    """Turn each image by a quarter or more, or resize it, as the paper's checks do."""
    return tuple(
        replace(item, images=tuple(_changed(name, around) for name in item.images))
        for item in items
    )


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "Completeness": Check("fall", completeness),
        "Shuffle": Check("fall", shuffle),
        "Irrelevant Image": Check("fall", irrelevant_images),
        "Inv. contract": Check("stay", lambda items, _: _texts(items, contracted)),
        "Inv. num2text": Check("stay", lambda items, _: _texts(items, digits_to_words)),
        "Inv. text2num": Check("stay", lambda items, _: _texts(items, words_to_digits)),
        "Inv. synonyms": Check("stay", lambda items, _: _texts(items, with_synonyms)),
        "Redundant words": Check("stay", redundant_words),
        "Fluency": Check("stay", fluency),
        "Argument structure": Check("stay", argument_structure),
        "Image Invariance": Check("stay", image_invariance),
    }
)
"""Checks by the names and in the order of Table 11."""


def check_judge(
    judge: Judge,
    claims: Sequence[Claim],
    folder: Path,
    *,
    files: Mapping[str, Path] | None = None,
    predictions: Sequence[Prediction] | None = None,
    modes: Sequence[str] = MODES,
    seed: int = 0,
    resamples: int = 2000,
) -> pd.DataFrame:
    """Run all checks on a judge.

    Parameters
    ----------
    claims
        Claims with questions and answers; the paper took 20.
    folder
        Where changed images are written.
    files
        Image files by name.
    predictions
        Whose evidence is changed; without them the reference's own, which a perfect
        judge scores 1 before.

    Returns
    -------
    pandas.DataFrame
        A row a check and mode: ``check``, ``mode``, ``expected`` (``fall`` or
        ``stay``), ``before`` and ``after`` (mean recall, 0 to 1), ``difference`` (per
        cent of ``before``) with its 95 % interval ``low``, ``high`` over claims,
        ``holds`` (the interval lies below zero, or the difference within ±5; None where
        nothing was changed, or recall was 0 before), ``changed`` (share of claims whose
        evidence differs after the change) and ``n`` claims. Claims that cannot be
        scored before or after are left out. Recall is the corrected convention's.

    Raises
    ------
    DataError
        No claim has evidence.
    ParameterError
        A mode is unknown.
    """
    if unknown := [mode for mode in modes if mode not in MODES]:
        raise ParameterError(
            f"unknown mode: {', '.join(unknown)}. There are: {', '.join(MODES)}."
        )
    known = dict(files or {})
    said = {prediction.id: prediction.evidence for prediction in predictions or ()}
    reference = {claim.id: reference_evidence(claim) for claim in claims}
    evidence = {
        name: said.get(name, ()) if predictions is not None else items
        for name, items in reference.items()
    }
    evidence = {
        name: items for name, items in evidence.items() if items and reference[name]
    }
    if not evidence:
        raise DataError("expected claims with evidence to change, found none.")
    before = {
        name: _recalls(judge, reference[name], items, known, modes)
        for name, items in evidence.items()
    }
    rows = []
    for number, (check, (expected, change)) in enumerate(CHECKS.items()):
        rng = np.random.default_rng([seed, number])
        changed, after = {}, {}
        for name, items in evidence.items():
            own = {
                image for item in (*items, *reference[name]) for image in item.images
            }
            others = sorted(
                {
                    image
                    for other in evidence.values()
                    for item in other
                    for image in item.images
                    if image in known
                }
                - own
            )
            around = Surroundings(known, others, folder, rng)
            changed[name] = change(items, around)
            after[name] = _recalls(
                judge, reference[name], changed[name], around.files, modes
            )
        share = float(
            np.mean([changed[name] != items for name, items in evidence.items()])
        )
        for mode in modes:
            pairs = pd.DataFrame(
                {"before": {name: found[mode] for name, found in before.items()}}
            )
            pairs["after"] = pd.Series(
                {name: found[mode] for name, found in after.items()}
            )
            rows.append(
                (
                    check,
                    mode,
                    expected,
                    *_compared(pairs.dropna(), expected, share, seed, resamples),
                )
            )
    columns = [
        "check",
        "mode",
        "expected",
        "before",
        "after",
        "difference",
        "low",
        "high",
        "holds",
        "changed",
        "n",
    ]
    return pd.DataFrame(rows, columns=columns)


def _recalls(
    judge: Judge,
    reference: Items,
    items: Items,
    files: Mapping[str, Path],
    modes: Sequence[str],
) -> dict[str, float]:
    if not items:
        return dict.fromkeys(modes, 0.0)
    texts = (
        judge.evidence(reference, items)
        if {"text-only", "separated"} & set(modes)
        else None
    )
    found = {}
    for mode in modes:
        if mode == "separated" and texts is not None:
            coverage = by_images(texts, reference, items, judge, files)
        else:
            matches = (
                texts
                if mode == "text-only" and texts is not None
                else judge.interleaved(reference, items, files)
            )
            coverage = by_count(matches, len(reference), len(items))
        found[mode] = coverage.corrected.recall
    return found


def _compared(
    pairs: pd.DataFrame, expected: str, changed: float, seed: int, resamples: int
) -> tuple[float, float, float, float, float, bool | None, float, int]:
    first = float(pairs["before"].mean()) if len(pairs) else np.nan
    second = float(pairs["after"].mean()) if len(pairs) else np.nan
    if not len(pairs) or not first:
        return first, second, np.nan, np.nan, np.nan, None, changed, len(pairs)

    def per_cent(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.asarray(100 * (other - one) / np.maximum(one, 1e-12))

    found = grouped_bootstrap(
        pairs.to_numpy(),
        range(len(pairs)),
        seed=seed,
        resamples=resamples,
        statistic=per_cent,
    )
    holds = (
        None
        if not changed
        else (
            bool(found.high < 0)
            if expected == "fall"
            else bool(abs(found.value) < TOLERANCE)
        )
    )
    return first, second, found.value, found.low, found.high, holds, changed, len(pairs)


def _texts(items: Items, change: Callable[[str], str]) -> Items:
    """Change the words of each item, its image tokens left alone."""
    return tuple(replace(item, text=change(item.text)) for item in items)


def _tenth(words: Sequence[str], rng: np.random.Generator) -> set[int]:
    free = [place for place, word in enumerate(words) if not re.match(r"\[IMG_", word)]
    return (
        set(
            rng.choice(
                free, min(len(free), max(1, len(words) // 10)), replace=False
            ).tolist()
        )
        if free
        else set()
    )


_TURNS = (
    Image.Transpose.ROTATE_90,
    Image.Transpose.ROTATE_180,
    Image.Transpose.ROTATE_270,
)
_SIZES = ((300, 300), (100, 500), (500, 100))


def _changed(name: str, around: Surroundings) -> str:
    if name not in around.files:
        return name
    picture, _ = open_picture(around.files[name])
    which = int(around.rng.integers(len(_TURNS) + len(_SIZES)))
    made = (
        picture.transpose(_TURNS[which])
        if which < len(_TURNS)
        else picture.resize(_SIZES[which - len(_TURNS)])
    )
    changed = f"changed-{which}-{Path(name).stem}.png"
    with atomic_path(around.folder / changed) as temporary:
        made.save(temporary, "PNG")
    around.files[changed] = around.folder / changed
    return changed
