"""Claims made by the newsroom.

A small synthetic AVerImaTeC, with pages and pictures to verify it by.

Each claim tells an event of the newsroom's world (:mod:`verite.newsroom`) beside a
picture. Reports of events, with their pictures, make the knowledge store. So do pages
that must not be used, or not be obeyed: fact-checks that came after the claim, a page
without a date, one that speaks to machines. It teaches; it is not evidence.

============== =========================
========================================================================== recipe
verdict                   what is so ============== =========================
========================================================================== true
Supported                 picture and text show one event, as two papers report it
out-of-context Refuted                   the event took place, but the picture is of an
earlier one miscaptioned   Refuted                   the picture is of the event, but
the text gets one or two things wrong unreported     Not Enough Evidence       no page
tells of the event, and none has the picture disputed       Conflicting/Cherrypicking
one paper reports what the claim says, another one something else ==============
=========================
==========================================================================

The first three are VERITE's three labels.
"""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from averimatec.claims import Claim, read_claims, write_claims
from averimatec.newsdesk import RECIPES, NewsDesk
from averimatec.store import Store, read_store, write_store
from verite.errors import ParameterError
from verite.files import atomic_path, write_json
from verite.newsroom import sample_events
from verite.pairs import MISCAPTIONED, OUT_OF_CONTEXT, TRUE

__all__ = ["RECIPES", "MadeClaims", "make_claims"]


_ROUND = (
    TRUE,
    TRUE,
    TRUE,
    *[OUT_OF_CONTEXT] * 3,
    MISCAPTIONED,
    MISCAPTIONED,
    "unreported",
    "unreported",
    "disputed",
    "disputed",
)

_NOTE = (
    "Made up by averimatec.make_claims. It teaches, and is no evidence about real"
    " claims."
)


@dataclass(frozen=True)
class MadeClaims:
    """Where the files are, and what stands in them.

    Attributes
    ----------
    splits
        ``train``, ``val`` and ``test``, each later than the one before.
    recipes
        For each split the recipe of each claim, by claim id: keys of :data:`RECIPES`.
    """

    folder: Path
    splits: dict[str, tuple[Claim, ...]]
    store: Store
    recipes: dict[str, dict[str, str]]

    @property
    def images(self) -> Path:
        """Folder of the images that claims name."""
        return self.folder / "images"


def make_claims(
    folder: str | os.PathLike[str], claims: int = 48, seed: int = 0
) -> MadeClaims:
    """Write a synthetic AVerImaTeC, then read it as the real one is read.

    Writes ``train.json``, ``val.json``, ``test.json`` (half, a quarter, a quarter of
    the claims), ``images/``, ``store/`` and ``made.json``, which says that all of it is
    made up.

    Parameters
    ----------
    claims
        12 or more; of each 12, three are true, three out-of-context, two miscaptioned,
        two unreported, two disputed.
    seed
        0 or more; the same seed gives the same files.

    Raises
    ------
    ParameterError
        ``claims`` or ``seed`` is out of range.

    >>> import tempfile
    >>> made = make_claims(tempfile.mkdtemp(), claims=12)
    >>> {split: len(claims) for split, claims in made.splits.items()}
    {'train': 6, 'val': 3, 'test': 3}
    """
    if claims < 12 or seed < 0:
        raise ParameterError(
            "make_claims: expected 12 claims or more and a seed of 0 or more, found"
            f" {claims} and {seed}."
        )
    place = Path(folder)
    rng = np.random.default_rng(seed)
    events = sorted(sample_events(claims, rng), key=lambda event: event.date)
    desk = NewsDesk(rng)
    recipes = [
        recipe
        for start in range(0, claims, 12)
        for recipe in rng.permutation(_ROUND)[: claims - start].tolist()
    ]
    told = [
        desk.claim(number, event, recipe)
        for number, (event, recipe) in enumerate(zip(events, recipes, strict=True))
    ]
    desk.noise(sample_events(claims // 2, rng))
    order = sorted(
        range(claims),
        key=lambda number: (told[number].date or datetime.date.min, number),
    )
    ends = {
        "train": (0, claims // 2),
        "val": (claims // 2, claims - claims // 4),
        "test": (claims - claims // 4, claims),
    }
    by_split = {
        split: [order[place] for place in range(*ends[split])] for split in ends
    }
    for split, numbers in by_split.items():
        write_claims(place / f"{split}.json", [told[number] for number in numbers])
    named = {name for claim in told for name in claim.image_names()}
    for name in sorted(named):
        with atomic_path(place / "images" / name) as temporary:
            temporary.write_bytes(desk.pictures[name])
    published = {name for page in desk.pages for name in page.images}
    write_store(
        place / "store",
        desk.pages,
        {name: desk.pictures[name] for name in sorted(published)},
    )
    found = {
        split: {str(at): recipes[number] for at, number in enumerate(numbers)}
        for split, numbers in by_split.items()
    }
    write_json(
        place / "made.json",
        {
            "synthetic": True,
            "note": _NOTE,
            "claims": claims,
            "seed": seed,
            "recipes": found,
        },
    )
    splits = {split: read_claims(place / f"{split}.json") for split in ends}
    return MadeClaims(place, splits, read_store(place / "store"), found)
