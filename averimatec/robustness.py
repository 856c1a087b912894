"""The eleven checks of a judge of the paper's Table 11.

Evidence is changed, and its recall compared with that of the same evidence unchanged.
Three changes remove something that counts, so recall should fall; eight leave the
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
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from averimatec.claims import Claim
from averimatec.conventions import MODES, evidence_coverage
from averimatec.judges import Judge
from averimatec.submission import Evidence, reference_evidence
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

TOLERANCE = 5.0
"""Per cent by which recall may move where it should stay."""

Items = tuple[Evidence, ...]

_TURNS = (
    Image.Transpose.ROTATE_90,
    Image.Transpose.ROTATE_180,
    Image.Transpose.ROTATE_270,
)
_SIZES = ((300, 300), (100, 500), (500, 100))


@dataclass
class Surroundings:
    """Files by name, images of other claims, a folder for changed images, chance."""

    files: dict[str, Path]
    others: Sequence[str]
    folder: Path
    rng: np.random.Generator


class Check(NamedTuple):
    """A change of evidence; ``expected`` says whether recall should fall or stay."""

    expected: str
    change: Callable[[Items, Surroundings], Items]


def completeness(items: Items, around: Surroundings) -> Items:
    """Remove half of the items, at least one."""
    places = around.rng.choice(len(items), len(items) // 2, replace=False)
    return tuple(items[place] for place in sorted(places.tolist()))


def shuffle(items: Items, around: Surroundings) -> Items:
    """Put the words of each item in random order."""
    return _texts(
        items, lambda text: " ".join(around.rng.permutation(text.split()).tolist())
    )


def irrelevant_images(items: Items, around: Surroundings) -> Items:
    """Replace each item's images by images of other claims."""
    if not len(around.others):
        return items
    return _images(items, lambda _: str(around.rng.choice(around.others)))


def redundant_words(items: Items, around: Surroundings) -> Items:
    """Write a tenth of the words twice, at least one in each item."""
    return _tenth(items, around, lambda word: f"{word} {word}")


def fluency(items: Items, around: Surroundings) -> Items:
    """Make typing errors in a tenth of the words, at least one in each item."""
    return _tenth(items, around, letters_swapped)


def argument_structure(items: Items, around: Surroundings) -> Items:
    """Reorder the items, and swap the two parts of each around its first comma."""
    order = around.rng.permutation(len(items)).tolist()
    return _texts(tuple(items[place] for place in order), clauses_swapped)


def image_invariance(items: Items, around: Surroundings) -> Items:
    """Turn or resize each image, as the paper's checks do."""
    return _images(items, lambda name: _changed_image(name, around))


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
    modes: Sequence[str] = MODES,
    seed: int = 0,
    resamples: int = 2000,
) -> pd.DataFrame:
    """Run all checks on a judge.

    The reference's own evidence is changed; before the change a perfect judge gives it
    a recall of 1, by the corrected convention.

    Parameters
    ----------
    claims
        Claims with questions and answers; the paper took 20.
    folder
        Where changed images are written.
    files
        Image files by name.

    Returns
    -------
    pandas.DataFrame
        One row per check and mode: ``check``, ``mode``, ``expected`` (``fall`` or
        ``stay``), ``before`` and ``after`` (mean recall, 0 to 1), ``difference`` (per
        cent of ``before``) with its 95 % interval ``low``, ``high`` over claims,
        ``holds`` (the interval lies below zero, or the difference within ±5; None where
        nothing was changed, or recall was 0 before), ``changed`` (share of claims whose
        evidence differs after the change) and ``n`` claims. Claims that cannot be
        scored before or after are left out.

    Raises
    ------
    DataError
        No claim has evidence.
    """
    if unknown := [mode for mode in modes if mode not in MODES]:
        raise ParameterError(
            f"unknown mode: {', '.join(unknown)}. Choose among {', '.join(MODES)}."
        )
    images = dict(files or {})
    evidence = {claim.id: reference_evidence(claim) for claim in claims}
    evidence = {claim: items for claim, items in evidence.items() if items}
    if not evidence:
        raise DataError("expected claims with evidence to change, found none.")
    before = {
        claim: _recalls(judge, items, items, images, modes)
        for claim, items in evidence.items()
    }
    rows = []
    for number, (check, (expected, change)) in enumerate(CHECKS.items()):
        rng = np.random.default_rng([seed, number])
        changed, after = {}, {}
        for claim, items in evidence.items():
            others = _images_of_others(claim, evidence, images)
            around = Surroundings(images, others, folder, rng)
            changed[claim] = change(items, around)
            after[claim] = _recalls(judge, items, changed[claim], around.files, modes)
        differs = [changed[claim] != items for claim, items in evidence.items()]
        share = float(np.mean(differs))
        for mode in modes:
            recalls = pd.DataFrame(
                [(before[claim][mode], after[claim][mode]) for claim in evidence],
                columns=["before", "after"],
            ).dropna()
            row: dict[str, Any] = {"check": check, "mode": mode, "expected": expected}
            row |= _comparison(recalls, seed, resamples)
            row["holds"] = None
            if share and not np.isnan(row["difference"]):
                falls = bool(row["high"] < 0)
                stays = bool(abs(row["difference"]) < TOLERANCE)
                row["holds"] = falls if expected == "fall" else stays
            rows.append(row | {"changed": share, "n": len(recalls)})
    return pd.DataFrame(rows)


def _comparison(recalls: pd.DataFrame, seed: int, resamples: int) -> dict[str, Any]:
    """Mean recall before and after, and the difference with its interval."""
    means = {
        name: float(recalls[name].mean()) if len(recalls) else np.nan
        for name in ("before", "after")
    }
    if not len(recalls) or not means["before"]:
        return means | dict.fromkeys(("difference", "low", "high"), np.nan)

    def per_cent(before: np.ndarray, after: np.ndarray) -> np.ndarray:
        return np.asarray(100 * (after - before) / np.maximum(before, 1e-12))

    groups = range(len(recalls))
    value, low, high, *_ = grouped_bootstrap(
        recalls.to_numpy(), groups, seed=seed, resamples=resamples, statistic=per_cent
    )
    return means | {"difference": value, "low": low, "high": high}


def _recalls(
    judge: Judge,
    reference: Items,
    items: Items,
    files: Mapping[str, Path],
    modes: Sequence[str],
) -> dict[str, float]:
    if not items:
        return dict.fromkeys(modes, 0.0)
    coverage = evidence_coverage(judge, reference, items, files, modes)
    return {mode: coverage[mode].corrected.recall for mode in modes}


def _images_of_others(
    claim: str, evidence: Mapping[str, Items], files: Mapping[str, Path]
) -> list[str]:
    names = {name for items in evidence.values() for x in items for name in x.images}
    own = {name for item in evidence[claim] for name in item.images}
    return sorted((names & set(files)) - own)


def _texts(items: Items, change: Callable[[str], str]) -> Items:
    return tuple(replace(item, text=change(item.text)) for item in items)


def _images(items: Items, change: Callable[[str], str]) -> Items:
    return tuple(
        replace(item, images=tuple(change(name) for name in item.images))
        for item in items
    )


def _tenth(items: Items, around: Surroundings, change: Callable[[str], str]) -> Items:
    """Change a tenth of the words of each item, at least one, and no image token."""

    def changed(text: str) -> str:
        words = text.split()
        free = [i for i, word in enumerate(words) if not re.match(r"\[IMG_", word)]
        count = min(len(free), max(1, len(words) // 10))
        for place in around.rng.choice(free, count, replace=False) if free else ():
            words[place] = change(words[place])
        return " ".join(words)

    return _texts(items, changed)


def _changed_image(name: str, around: Surroundings) -> str:
    """Write a turned or resized copy of an image, and return its name."""
    if name not in around.files:
        return name
    picture, _ = open_picture(around.files[name])
    which = int(around.rng.integers(len(_TURNS) + len(_SIZES)))
    if which < len(_TURNS):
        picture = picture.transpose(_TURNS[which])
    else:
        picture = picture.resize(_SIZES[which - len(_TURNS)])
    changed = f"changed-{which}-{Path(name).stem}.png"
    with atomic_path(around.folder / changed) as temporary:
        picture.save(temporary, "PNG")
    around.files[changed] = around.folder / changed
    return changed
