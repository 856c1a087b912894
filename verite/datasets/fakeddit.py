"""Fakeddit: Reddit posts labelled by the subreddit that they were sent to."""

from __future__ import annotations

import pandas as pd

from verite.dataset import Card, DataFile, Dataset
from verite.datasets.reading import Reader, check_values, choose, first_of
from verite.pairs import MISINFORMATION, TRUE, merge_groups, validate
from verite.tables import read_columns

__all__ = ["CARD", "load", "needs"]

_FILES = {
    "train": "fakeddit/multimodal_train.tsv",
    "validation": "fakeddit/multimodal_validate.tsv",
    "test": "fakeddit/multimodal_test_public.tsv",
}
_COLUMNS = (
    "id",
    "clean_title",
    "title",
    "image_url",
    "linked_submission_id",
    "domain",
    "subreddit",
    "2_way_label",
    "6_way_label",
)

CARD = Card(
    name="fakeddit",
    title="r/Fakeddit, multimodal samples",
    source="https://github.com/entitize/Fakeddit",
    licence="none stated; offered for research",
    citation="nakamura2020fakeddit",
    expected={"train/true": 267_601, "train/misinformation": 413_197},
    not_public=(
        "Nothing is behind a form, but the files lie on a drive without pinned"
        " addresses: follow the download link of the repository's README to v2.0 and"
        " take the three files of multimodal_only_samples; images lie in an archive"
        " linked beside it. Posts that were deleted since cannot be had elsewhere."
    ),
    notes=(
        "Labels come from the subreddit. The publisher's splits share images: the"
        " column `leaks` marks rows whose image, or whose edited original, is also"
        " in another split."
    ),
    files=tuple(DataFile(name) for name in _FILES.values()),
)


def needs(caption: str = "clean_title") -> tuple[str, ...]:
    """Files that :func:`load` reads with these options, below the data folder."""
    choose("caption", caption, ("clean_title", "title"))
    return tuple(_FILES.values())


def load(caption: str = "clean_title") -> Dataset:
    """Load the multimodal samples with the publisher's splits (paper, section 4.1).

    ``2_way_label`` 1 is ``true``, 0 ``misinformation``. The columns ``6_way_label`` (0
    is true), ``subreddit`` and ``domain`` are kept. Titles are quoted and may run over
    two lines of the file. Malformed lines are skipped; ``Dataset.skipped`` holds their
    numbers.

    A pair is named after its post; an image or a caption after the first post with that
    URL or text. Rows that share an image, or that edit the same original
    (``linked_submission_id``), are one group. The publisher's splits tear such groups
    apart: a group is therefore named after its split, and the column ``leaks`` is True
    for rows whose group is in other splits too. To drop those from training:
    ``pairs[(pairs["split"] == "test") | ~pairs["leaks"]]``.

    Parameters
    ----------
    caption
        ``"clean_title"``, which the publisher recommends, or ``"title"`` as it was
        written.

    Raises
    ------
    MissingDataError
        A file does not exist.
    DataError
        A column is missing, or a label is unknown.
    """
    needs(caption)
    reader = Reader(CARD)
    parts: list[pd.DataFrame] = []
    skipped: dict[str, tuple[int, ...]] = {}
    for split, name in _FILES.items():
        path = reader.path(name)
        part, malformed = read_columns(path, _COLUMNS, delimiter="\t", skip=True)
        check_values(path, part["2_way_label"], "01")
        check_values(path, part["6_way_label"], "012345")
        parts.append(part.assign(split=split))
        if malformed:
            skipped[name] = malformed

    table = pd.concat(parts, ignore_index=True)
    post, url, original = table["id"], table["image_url"], table["linked_submission_id"]
    image_id = first_of(post, url.where(url != "", post))
    photo = pd.Series(
        merge_groups(post, image_id, original.where(original != "", post))
    )
    pairs = pd.DataFrame(
        {
            "pair_id": post,
            "image_id": image_id,
            "text_id": first_of(post, table[caption]),
            "caption": table[caption],
            "image_path": image_id + ".jpg",
            "label": table["2_way_label"].map({"1": TRUE, "0": MISINFORMATION}),
            "group": table["split"] + ":" + photo,
            "split": table["split"],
            "dataset": "fakeddit",
            "6_way_label": table["6_way_label"].astype(int),
            "subreddit": table["subreddit"],
            "domain": table["domain"],
            "leaks": table["split"].groupby(photo).transform("nunique") > 1,
        }
    )
    checked = validate(
        pairs, where="fakeddit", extra=("6_way_label", "subreddit", "domain", "leaks")
    )
    return Dataset("fakeddit", checked, CARD, files=reader.digests, skipped=skipped)
