"""From events to a data set: images, captions, labels and splits."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from verite.dataset import Card, Dataset
from verite.embeddings import Embeddings
from verite.encoders import Encoder
from verite.errors import ParameterError
from verite.files import atomic_path
from verite.newsroom.captions import entities
from verite.newsroom.desk import Post, Shown
from verite.newsroom.desk import posts as posts_of
from verite.newsroom.knobs import Preset, preset_named
from verite.pairs import MISINFORMATION, TRUE, to_binary, validate

__all__ = ["encoder_named", "make"]

EXTRA = ("method", "donor_id", "topic", "entities", "leaks")
"""Columns behind those of every pair table."""

_SPLITS = (("train", 0.8), ("validation", 0.9), ("test", 1.0))


def make(
    events: int = 200,
    seed: int = 0,
    preset: str = "verite",
    image_dir: str | os.PathLike[str] | None = None,
    encoder: str | None = "newsroom",
    **knobs: Any,
) -> Dataset:
    """Make a data set of synthetic pairs.

    Each event has a true image and a true caption, a false caption that gets one or two
    visible attributes wrong, and an out-of-context image that shows another occasion.
    They make up to three pairs: true image with true caption (true), true image with
    false caption (miscaptioned), out-of-context image with true caption
    (out-of-context). With all knobs at zero, false captions and out-of-context images
    are distributed as the true ones are, see :mod:`verite.newsroom.world`: what a
    detector then gains over chance it gains from image and caption together.

    Parameters
    ----------
    events
        Number of events, 1 or more. The first events of a larger data set are those of
        a smaller one.
    seed
        0 or more; the same seed gives the same pairs, pixels and vectors.
    preset
        One of :data:`verite.newsroom.PRESETS`: which pairs an event makes, and where
        the knobs stand.
    image_dir
        Folder to write the images to, as PNG, one at a time and all or nothing. Without
        it no file is written and ``image_path`` is empty.
    encoder
        Name for :meth:`verite.encoders.Encoder.load`. ``"newsroom"`` is a small CLIP
        that is trained at its first use; None makes no vectors.
    knobs
        Knobs to turn, see :class:`verite.newsroom.Knobs`.

    Returns
    -------
    Dataset
        Pairs whose group is the event (of one split, where pairs of an event stand in
        several). ``method`` says how a pair was made misleading and which attributes
        were changed, ``donor_id`` names the true pair of the event, ``topic`` and
        ``entities`` (JSON: names and their types) go with the caption, and ``leaks``
        says whether pairs of the same event stand in another split.

    Raises
    ------
    ParameterError
        ``events`` or ``seed`` is not a whole number, or too small; a preset or knob is
        unknown or out of range.
    VeriteError
        ``image_dir`` cannot be written to.

    >>> newsroom = make(events=3, encoder=None)
    >>> newsroom.pairs["label"].value_counts().to_dict()
    {'true': 3, 'out-of-context': 3, 'miscaptioned': 3}
    >>> len(make(events=2, encoder=None, preset="vmu-twitter", posts_per_image=3).pairs)
    12
    """
    events, seed = _whole("events", events, 1), _whole("seed", seed, 0)
    chosen = preset_named(preset, knobs)
    posts: list[Post] = []
    shown: dict[str, Shown] = {}
    for number in range(events):
        for post in posts_of(number, seed, chosen):
            posts.append(post)
            shown.setdefault(post.image_id, post.shown)
    pairs = _table(posts, chosen)
    pictures = (
        {image_id: image.picture() for image_id, image in shown.items()}
        if image_dir is not None or encoder is not None
        else {}
    )
    paths = {} if image_dir is None else _save(pictures, Path(image_dir))
    pairs["image_path"] = [paths.get(image_id, "") for image_id in pairs["image_id"]]
    images, texts = (
        (None, None) if encoder is None else _encode(pictures, pairs, encoder)
    )
    checked = validate(pairs, where=f"newsroom {preset}", extra=EXTRA)
    counts = {
        str(label): int(count)
        for label, count in checked["label"].value_counts().items()
    }
    return Dataset(
        name="newsroom",
        pairs=checked,
        card=_card(preset, chosen, counts),
        images=images,
        texts=texts,
    )


def _table(posts: list[Post], preset: Preset) -> pd.DataFrame:
    def pair_id(post: Post, kind: str) -> str:
        number = f"-{post.number}" if preset.knobs.posts_per_image > 1 else ""
        return f"{post.group}-{kind}{number}"

    def split(post: Post) -> str:
        ends = (name for name, end in _SPLITS if post.chances[0] < end)
        return next(ends) if preset.split else ""

    table = pd.DataFrame(
        {
            "pair_id": [pair_id(post, post.kind) for post in posts],
            "image_id": [post.image_id for post in posts],
            "text_id": [post.text_id for post in posts],
            "caption": [post.caption for post in posts],
            "label": [post.kind for post in posts],
            "group": [post.group for post in posts],
            "split": [split(post) for post in posts],
            "dataset": "newsroom",
            "method": [post.method for post in posts],
            "donor_id": [
                "" if post.kind == TRUE else pair_id(post, TRUE) for post in posts
            ],
            "topic": [post.told.topic for post in posts],
            "entities": [
                json.dumps([] if post.shared else entities(post.told)) for post in posts
            ],
        }
    )
    table["leaks"] = table.groupby("group")["split"].transform("nunique") > 1
    if preset.split == "post":
        table["group"] = table["split"] + ":" + table["group"]
    if preset.binary:
        noise = np.array([post.chances[1] for post in posts])
        labels = to_binary(table["label"])
        others = np.where(labels == TRUE, MISINFORMATION, TRUE)
        noised = noise < preset.knobs.label_noise
        table["label"] = np.where(noised, others, labels)
    return table


def _encode(
    pictures: dict[str, Image.Image], pairs: pd.DataFrame, name: str
) -> tuple[Embeddings, Embeddings]:
    encoder = encoder_named(name)
    captions = dict(zip(pairs["text_id"], pairs["caption"], strict=True))
    images = encoder.encode_images(pictures, normalise=True)
    texts = encoder.encode_texts(captions, normalise=True)
    return images.embeddings, texts.embeddings


@lru_cache(maxsize=2)
def encoder_named(name: str) -> Encoder:
    """Load an encoder once per process."""
    return Encoder.load(name)


def _save(pictures: dict[str, Image.Image], folder: Path) -> dict[str, str]:
    paths = {image_id: folder / f"{image_id}.png" for image_id in pictures}
    for image_id, picture in pictures.items():
        with atomic_path(paths[image_id]) as temporary:
            picture.save(temporary, format="PNG")
    return {image_id: str(path) for image_id, path in paths.items()}


def _card(name: str, preset: Preset, counts: dict[str, int]) -> Card:
    return Card(
        name="newsroom",
        title=f"Newsroom ({name}): {preset.title}",
        source="drawn and written by verite.newsroom",
        licence="Apache-2.0",
        citation="",
        expected=counts,
        synthetic=True,
        notes=(
            "It was made up. It teaches, and is no evidence about real misinformation."
        ),
    )


def _whole(name: str, value: object, least: int) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or value < least
    ):
        raise ParameterError(
            f"newsroom: expected {name} to be a whole number of {least} or more, found"
            f" {value!r}."
        )
    return int(value)
