"""Fakeddit: Reddit posts labelled by the subreddit that they were sent to."""

from __future__ import annotations

import pandas as pd

from verite.dataset import Card, Dataset
from verite.datasets.home import Reader, choose, first_of
from verite.errors import DataError, name_some
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
        " column `leaks` marks rows whose image, or whose edited original, also stands"
        " in another split."
    ),
)


def needs(caption: str = "clean_title") -> tuple[str, ...]:
    """Files that :func:`load` reads with these options, below the data folder."""
    choose("caption", caption, ("clean_title", "title"))
    return tuple(_FILES.values())


def load(caption: str = "clean_title") -> Dataset:
    r"""Load the multimodal samples of Fakeddit with the publisher's splits (paper,
    section 4.1).

    ``2_way_label`` 1 is ``true``, 0 ``misinformation``. The columns ``6_way_label`` (0
    is true), ``subreddit`` and ``domain`` are kept. Fields are quoted as the
    publisher's software wrote them, so a title may run over two lines of the file. A
    record that does not have the header's fields is skipped, and the numbers of its
    lines stand in ``Dataset.skipped``.

    A pair is named after its post; an image or a caption after the first post with that
    URL or text, so that images which were posted again are one image. Rows that share
    an image, or that edit the same original (``linked_submission_id``), are one group.
    The publisher's splits tear such groups apart; a group is therefore named after its
    split, and the column ``leaks`` is True for each row whose group stands in other
    splits too. Drop those rows from training where the difference matters:
    ``pairs[(pairs["split"] == "test") | ~pairs["leaks"]]``.

    Parameters
    ----------
    caption
        ``"clean_title"``, which the publisher recommends, or ``"title"`` as it was
        written.

    Raises
    ------
    MissingDataError
        A file is not there.
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
        for column, known in (("2_way_label", "01"), ("6_way_label", "012345")):
            bad = part.index[~part[column].isin(list(known))]
            if len(bad):
                found = name_some(part.loc[bad, column].map(repr).unique())
                raise DataError(
                    f"{path}: expected {column} from {known[0]} to {known[-1]}, found"
                    f" {found} (line {name_some(bad)}). Use the publisher's own file."
                )
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
