"""From events to a data set that is built as VERITE is."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from verite.datasets.base import Card, Dataset
from verite.embeddings import Embeddings
from verite.errors import ParameterError
from verite.files import atomic_path
from verite.newsroom.captions import WORDINGS, caption
from verite.newsroom.draw import draw
from verite.newsroom.features import ENCODER, encode_captions, encode_images
from verite.newsroom.world import VISIBLE, Event, differences, sample_events, vary
from verite.pairs import MISCAPTIONED, OUT_OF_CONTEXT, TRUE, validate

__all__ = ["make"]

_CAPTION_CHANGES = (1, 2)
"""How many visible attributes a false caption gets wrong."""

_IMAGE_CHANGES = (4, 6)
"""In how many, its topic apart, an out-of-context image differs from its event: another occasion of the same kind."""


def make(events: int = 200, seed: int = 0, image_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Make a data set of synthetic pairs with the balance of VERITE (paper, section 3.2).

    Each event gives a true image and a true caption, a false caption that gets one or two visible attributes wrong,
    and an out-of-context image that shows another occasion of the same topic. They make three pairs: true image with
    true caption (true), true image with false caption (miscaptioned), out-of-context image with true caption
    (out-of-context). False captions and out-of-context images are distributed as the true ones are, see
    :mod:`verite.newsroom.world`: what a detector gains over chance it gains from image and caption together.

    Parameters
    ----------
    events
        Number of events, 1 or more. The first events of a larger data set are those of a smaller one.
    seed
        0 or more; the same seed gives the same pairs, pixels and vectors.
    image_dir
        Folder to write the images to, as PNG, one at a time and all or nothing. Without it no file is written and
        ``image_path`` is empty.

    Returns
    -------
    Dataset
        ``3 * events`` pairs whose group is the event, with vectors of 64 dimensions. ``method`` says which attributes
        were changed, ``donor_id`` names the true pair that was changed.

    Raises
    ------
    ParameterError
        ``events`` or ``seed`` is not a whole number, or too small.
    VeriteError
        ``image_dir`` cannot be written to.

    >>> newsroom = make(events=3)
    >>> newsroom.pairs["label"].value_counts().to_dict()
    {'true': 3, 'miscaptioned': 3, 'out-of-context': 3}
    >>> newsroom.tokens().shape
    (9, 2, 64)
    """
    events, seed = _whole("events", events, 1), _whole("seed", seed, 0)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    rows: list[dict[str, str]] = []
    pictures: dict[str, Image.Image] = {}
    captions: dict[str, str] = {}
    for number in range(events):
        name = f"event-{seed}-{number:04d}"
        event, false, other, wording = _tell(rng)
        image, text = {True: f"{name}-image-a", False: f"{name}-image-b"}, {True: f"{name}-text-a", False: f"{name}-text-b"}
        pictures |= {image[True]: draw(event), image[False]: draw(other)}
        captions |= {text[True]: caption(event, wording), text[False]: caption(false, wording)}
        rows += [
            _row(name, TRUE, image[True], text[True], ()),
            _row(name, MISCAPTIONED, image[True], text[False], differences(event, false)),
            _row(name, OUT_OF_CONTEXT, image[False], text[True], differences(event, other)),
        ]
    paths = {} if image_dir is None else _save(pictures, Path(image_dir))
    pairs = pd.DataFrame(rows)
    pairs["caption"] = pairs["text_id"].map(captions)
    pairs["image_path"] = [paths.get(image_id, "") for image_id in pairs["image_id"]]
    return Dataset(
        name="newsroom",
        pairs=validate(pairs, where="newsroom"),
        card=_card(events),
        images=Embeddings(pictures, encode_images(list(pictures.values())), encoder=ENCODER, where="newsroom images"),
        texts=Embeddings(captions, encode_captions(list(captions.values())), encoder=ENCODER, where="newsroom texts"),
    )


def _tell(rng: np.random.Generator) -> tuple[Event, Event, Event, int]:
    """Draw an event, what a false caption makes of it, what an out-of-context image shows, and a wording for both captions."""
    [event] = sample_events(1, rng)
    wording = int(rng.integers(len(WORDINGS)))
    false = vary(event, _choose(VISIBLE, _CAPTION_CHANGES, rng), rng)
    other = vary(event, _choose([name for name in VISIBLE if name != "topic"], _IMAGE_CHANGES, rng), rng)
    return event, false, replace(other, look=int(rng.integers(2**31))), wording


def _choose(names: list[str] | tuple[str, ...], bounds: tuple[int, int], rng: np.random.Generator) -> list[str]:
    chosen: list[str] = rng.choice(names, rng.integers(bounds[0], bounds[1] + 1), replace=False).tolist()
    return chosen


def _row(name: str, label: str, image_id: str, text_id: str, changed: tuple[str, ...]) -> dict[str, str]:
    return {
        "pair_id": f"{name}-{label}",
        "image_id": image_id,
        "text_id": text_id,
        "label": label,
        "group": name,
        "split": "",
        "dataset": "newsroom",
        "method": f"change {', '.join(changed)}" if changed else "",
        "donor_id": f"{name}-{TRUE}" if changed else "",
    }


def _save(pictures: dict[str, Image.Image], folder: Path) -> dict[str, str]:
    paths = {image_id: folder / f"{image_id}.png" for image_id in pictures}
    for image_id, picture in pictures.items():
        with atomic_path(paths[image_id]) as temporary:
            picture.save(temporary, format="PNG")
    return {image_id: str(path) for image_id, path in paths.items()}


def _card(events: int) -> Card:
    return Card(
        name="newsroom",
        title="Newsroom: a small world that was made up",
        source="drawn and written by verite.newsroom",
        licence="Apache-2.0",
        citation="",
        expected={TRUE: events, OUT_OF_CONTEXT: events, MISCAPTIONED: events},
        synthetic=True,
        notes=(
            "Neither image nor caption alone tells anything in it, which is what modality balancing is after. "
            "It teaches, and is no evidence about real misinformation."
        ),
    )


def _whole(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ParameterError(f"newsroom: expected {name} to be a whole number of {least} or more, found {value!r}.")
    return int(value)
