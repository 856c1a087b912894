"""VMU-Twitter: posts of MediaEval's Verifying Multimedia Use tasks of 2015 and 2016."""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from verite.dataset import Card, DataFile, Dataset
from verite.datasets.reading import Reader, check_values, choose, first_of
from verite.errors import DataError, ParameterError, name_some
from verite.files import read_text
from verite.pairs import MISINFORMATION, TRUE, validate
from verite.tables import read_columns

__all__ = ["CARD", "load", "needs", "renaming"]

_CORPUS = "https://raw.githubusercontent.com/MKLab-ITI/image-verification-corpus"
_DEVELOPMENT = "vmu-twitter/mediaeval2016/devset/posts.txt"
_TEST = "vmu-twitter/mediaeval2016/testset/posts_groundtruth.txt"
_OLDER = (
    "vmu-twitter/mediaeval2015/devset/tweets.txt",
    "vmu-twitter/mediaeval2015/testset/tweets.txt",
)
_IMAGES = "vmu-twitter/images_available.txt"

_COLUMNS = (
    ("post_id", "post_id", "tweetId"),
    ("caption", "post_text", "tweetText"),
    ("image_id", "image_id", "image_id(s)", "imageId(s)"),
    "label",
)
_LABELS = {"fake": MISINFORMATION, "real": TRUE}

CARD = Card(
    name="vmu-twitter",
    title="Image verification corpus: MediaEval Verifying Multimedia Use 2015 and 2016",
    source="https://github.com/MKLab-ITI/image-verification-corpus",
    licence="Apache-2.0 (repository); posts are subject to the platform's terms",
    citation="boididou2018detection",
    expected={
        "train/true": 7_292,
        "train/misinformation": 9_148,
        "test/true": 467,
        "test/misinformation": 623,
    },
    not_public=(
        "The images as files: set_images.txt in the repository links to them and many"
        " links are dead; ask the authors of the corpus. For with_images='available',"
        " write the file names of the images that you have into images_available.txt,"
        " one a line."
    ),
    notes=(
        "The counts that the paper prints cannot be had from the public files. Without"
        " humour, the posts of 2015 (both sets) are exactly those of the 2016"
        " development set, but many images have another name there: a union that does"
        " not know it holds posts twice."
    ),
    # Each file comes from the commit that changed it last.
    files=(
        *(
            DataFile(path, f"{_CORPUS}/{commit}/{path.removeprefix('vmu-twitter/')}")
            for path, commit in {
                _OLDER[0]: "43b8c39a789691a715695f7f0a93915117024589",
                _OLDER[1]: "22884cfe116d117e68f3c548535920de4ac71d19",
                _DEVELOPMENT: "97149e34f7e0094d8e2d0f3b1c52c165b3f11de5",
                _TEST: "93bd70abc84b1ab82f30bac8254eed7d755240bb",
            }.items()
        ),
        DataFile(_IMAGES),
    ),
)


def needs(
    with_images: str = "all", protocol: str = "corrected", seed: int = 0
) -> tuple[str, ...]:
    """Files that :func:`load` reads with these options, below the data folder.

    >>> len(needs()), len(needs(with_images="available"))
    (4, 5)
    """
    choose("with_images", with_images, ("all", "available"))
    choose("protocol", protocol, ("comparable", "corrected"))
    if seed < 0:
        raise ParameterError(f"seed: expected 0 or more, found {seed}.")
    return (
        _DEVELOPMENT,
        _TEST,
        *_OLDER,
        *([_IMAGES] if with_images == "available" else []),
    )


def load(
    with_images: str = "all", protocol: str = "corrected", seed: int = 0
) -> Dataset:
    """Load VMU-Twitter: one row per post and image (paper, section 4.2).

    Humour is dropped. The test set of 2016 is the test set; everything else is
    development. A post of both editions is taken from 2016 (one has two images with
    opposite labels in 2015, and 2016 has only one of them); images of posts that only
    2015 has get their name of 2016 through :func:`renaming`. The group is the image.
    ``post_id`` and ``edition`` are kept as columns. A caption is named after the first
    post with exactly its text.

    Parameters
    ----------
    with_images
        ``"all"``, or ``"available"``: only pairs whose image is in
        ``images_available.txt``; ``image_path`` is known for these alone.
    protocol
        ``"comparable"``: splits ``train`` and ``test``, and models are selected on the
        test set, as earlier work did. ``"corrected"``: images with a tenth of the
        development rows of each class are held out for validation, as in the paper, but
        drawn by image, so that no image is on two sides. Images are taken in random
        order as long as they fit into the tenth; the few that alone fill more stay in
        training.
    seed
        Draws the validation images.

    Raises
    ------
    MissingDataError
        A file does not exist.
    DataError
        A line is malformed, a label is unknown, or a post has no text or no image.
    ParameterError
        An option has an unknown value.
    """
    needs(with_images, protocol, seed)
    reader = Reader(CARD)
    new, test = (_read(reader, name) for name in (_DEVELOPMENT, _TEST))
    old = pd.concat([_read(reader, name) for name in _OLDER])
    names = renaming(old, new)
    only_old = old[~old["post_id"].isin(new["post_id"])]
    only_old = only_old.assign(image_id=only_old["image_id"].replace(names))
    table = pd.concat(
        [
            new.assign(split="train"),
            only_old.assign(split="train"),
            test.assign(split="test"),
        ]
    )
    table = table.drop_duplicates(["post_id", "image_id"], ignore_index=True)

    table["image_path"] = ""
    if with_images == "available":
        listed = [
            line.strip()
            for line in read_text(reader.path(_IMAGES)).splitlines()
            if line.strip()
        ]
        files = {PurePosixPath(name).stem: name for name in listed}
        table = table[table["image_id"].isin(files)].reset_index(drop=True)
        if table.empty:
            raise DataError(
                f"{reader.path(_IMAGES)}: none of its {len(listed):,} file names is an"
                " image of a post."
            )
        table["image_path"] = table["image_id"].map(files)
    if protocol == "corrected":
        table.loc[_held_out(table, seed), "split"] = "validation"

    table["pair_id"] = table["post_id"] + "_" + table["image_id"]
    table["text_id"] = first_of(table["post_id"], table["caption"])
    table["group"] = table["image_id"]
    table["dataset"] = "vmu-twitter"
    pairs = validate(table, where="vmu-twitter", extra=("post_id", "edition"))
    return Dataset(
        "vmu-twitter",
        pairs,
        CARD,
        validation="test" if protocol == "comparable" else "validation",
        files=reader.digests,
    )


def renaming(old: pd.DataFrame, new: pd.DataFrame) -> dict[str, str]:
    """New names of images, learnt from posts with one image in both editions.

    Raises
    ------
    DataError
        An image would get two names.

    >>> old = pd.DataFrame({"post_id": ["1"], "image_id": ["sandyA_fake_46"]})
    >>> new = pd.DataFrame({"post_id": ["1"], "image_id": ["sandy_fake_60"]})
    >>> renaming(old, new)
    {'sandyA_fake_46': 'sandy_fake_60'}
    """
    both = [
        table.drop_duplicates("post_id", keep=False).set_index("post_id")["image_id"]
        for table in (old, new)
    ]
    links = pd.concat(both, axis=1, join="inner", keys=["old", "new"]).drop_duplicates()
    twice = links.loc[links["old"].duplicated(keep=False), "old"].unique()
    if len(twice):
        raise DataError(
            f"vmu-twitter: posts give the image {name_some(twice)} of 2015 several"
            " names in 2016. Fetch the files again."
        )
    return dict(zip(links["old"], links["new"], strict=True))


def _read(reader: Reader, name: str) -> pd.DataFrame:
    path = reader.path(name)
    table, _ = read_columns(path, _COLUMNS, delimiter="\t", quoted=False)
    check_values(path, table["label"], [*_LABELS, "humor"])
    table = table[table["label"] != "humor"]
    table = table.assign(
        label=table["label"].map(_LABELS),
        # A post without any image keeps a row, which validate() then reports.
        image_id=table["image_id"].map(
            lambda cell: (
                [part.strip() for part in cell.split(",") if part.strip()] or [""]
            )
        ),
        edition=next(
            part for part in PurePosixPath(name).parts if part.startswith("mediaeval")
        ).removeprefix("mediaeval"),
    )
    return table.explode("image_id").drop_duplicates(["post_id", "image_id"])


def _held_out(table: pd.DataFrame, seed: int) -> pd.Series:
    """Mark the development rows whose image is held out."""
    # Not grouped_split, which takes the largest groups first: one image has a tenth of
    # the rows, so the folds would hardly depend on the seed.
    rng = np.random.default_rng(seed)
    development = table[table["split"] == "train"]
    chosen: list[str] = []
    for _, rows in development.groupby("label"):
        room = len(rows) // 10
        sizes = rows.groupby("image_id").size()
        for image in rng.permutation(sizes.index.to_numpy(dtype=object)):
            if sizes[image] <= room:
                chosen.append(image)
                room -= sizes[image]
    return (table["split"] == "train") & table["image_id"].isin(chosen)
