"""Claims made by the newsroom: a small synthetic AVerImaTeC with its evidence.

Each claim reports an event of the newsroom's world (:mod:`verite.newsroom`) beside a
picture. Reports of events, with their pictures, make the knowledge store. It also has
pages that must not be used or obeyed: fact-checks published after the claim, a page
without a date, one that addresses machines. It is for teaching; it is not evidence.

============== ======================== ===============================================
recipe         verdict                  facts
============== ======================== ===============================================
true           Supported                picture and text show one event, reported twice
out-of-context Refuted                  the event took place, the picture is of another
miscaptioned   Refuted                  the text gets one or two facts wrong
unreported     Not Enough Evidence      no page has the event or the picture
disputed       Conflicting/             one paper reports what the claim says, another
               Cherrypicking            one contradicts it
============== ======================== ===============================================

The first three are VERITE's three labels.
"""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from averimatec.claims import Claim, read_claims, write_claims
from averimatec.newsdesk import NewsDesk
from averimatec.store import Store, read_store, write_store
from verite.errors import ParameterError
from verite.files import atomic_path, write_json
from verite.newsroom import sample_events
from verite.pairs import MISCAPTIONED, OUT_OF_CONTEXT, TRUE

_DOZEN = (
    [TRUE] * 3
    + [OUT_OF_CONTEXT] * 3
    + [MISCAPTIONED] * 2
    + ["unreported"] * 2
    + ["disputed"] * 2
)


@dataclass(frozen=True)
class MadeClaims:
    """Synthetic claims and their files.

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
    the claims), ``images/``, ``store/`` and ``made.json``, which records that all of it
    is synthetic.

    Parameters
    ----------
    claims
        12 or more; of each 12, three are true, three out-of-context, two miscaptioned,
        two unreported, two disputed.
    seed
        0 or more; the same seed gives the same files.

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
        for recipe in rng.permutation(_DOZEN)[: claims - start].tolist()
    ]
    written = [
        desk.claim(number, event, recipe)
        for number, (event, recipe) in enumerate(zip(events, recipes, strict=True))
    ]
    desk.noise(sample_events(claims // 2, rng))
    order = sorted(range(claims), key=lambda i: written[i].date or datetime.date.min)
    half, rest = claims // 2, claims - claims // 4
    numbers = {"train": order[:half], "val": order[half:rest], "test": order[rest:]}
    splits, by_split = {}, {}
    for split, members in numbers.items():
        path = place / f"{split}.json"
        write_claims(path, [written[number] for number in members])
        splits[split] = read_claims(path)
        by_split[split] = {str(i): recipes[number] for i, number in enumerate(members)}
    for name in sorted({name for claim in written for name in claim.image_names()}):
        with atomic_path(place / "images" / name) as temporary:
            temporary.write_bytes(desk.pictures[name])
    published = sorted({name for page in desk.pages for name in page.images})
    write_store(
        place / "store", desk.pages, {name: desk.pictures[name] for name in published}
    )
    note = "Synthetic, for teaching: no evidence about real claims."
    record = {"synthetic": True, "note": note, "claims": claims, "seed": seed}
    write_json(place / "made.json", record | {"recipes": by_split})
    return MadeClaims(place, splits, read_store(place / "store"), by_split)
