"""From articles to pairs and back, and whether the pairs are balanced (section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from verite.datasets.reading import first_of
from verite.errors import DataError, name_some
from verite.pairs import MISCAPTIONED, OUT_OF_CONTEXT, TRUE, merge_groups, validate

__all__ = ["Balance", "balance", "links", "pack", "unpack"]


def unpack(articles: pd.DataFrame, dataset: str = "verite") -> pd.DataFrame:
    """Make the pairs of each article: true, miscaptioned and, if any, out-of-context.

    As in the release, images and captions are called ``true_ID`` or ``false_ID``; those
    of several articles after the first that has them as true ones, or the first. The
    group is the article; articles that share a caption, a link or a page are one group.

    Parameters
    ----------
    articles
        As :func:`verite.building.read` returns it; a column ``topic`` is kept.

    Returns
    -------
    pandas.DataFrame
        A pair table, in the order of the articles.

    >>> row = dict(id="7", true_url="a.jpg", true_caption="A boat.", false_url="",
    ...            false_caption="A shark.", query="", snopes_url="https://x.example")
    >>> unpack(pd.DataFrame([row]))[["pair_id", "text_id"]].to_numpy().tolist()
    [['7-true', 'true_7'], ['7-miscaptioned', 'false_7']]
    """
    pairs = _unpack(articles)
    keys = (pairs[name] for name in ("group", "caption", "url", "page"))
    pairs = pairs.assign(group=merge_groups(*keys), dataset=dataset)
    return validate(pairs.drop(columns=["url", "page"]), extra=("topic",))


def pack(pairs: pd.DataFrame, site: str = "https://newsroom.example") -> pd.DataFrame:
    """Table of articles from which :func:`unpack` makes such pairs.

    Parameters
    ----------
    pairs
        A pair table. Each group is one article: a true pair, a miscaptioned one with
        the same image, and at most one out-of-context pair with the same caption.
    site
        Beginning of the links, which are made up after the ids of images and groups.

    Returns
    -------
    pandas.DataFrame
        As :func:`verite.building.read` returns it, with an empty ``query``; ids are the
        groups, in their order. A column ``topic`` is kept, from true pairs. A DataError
        names groups that are no such article.

    >>> rows = [("i", "A boat.", "true", "g"), ("i", "A shark.", "miscaptioned", "g")]
    >>> names = ["image_id", "caption", "label", "group"]
    >>> pack(pd.DataFrame(rows, columns=names)).iloc[0, :4].tolist()
    ['g', 'https://newsroom.example/i', 'A boat.', '']
    """
    groups = pd.Index(pairs["group"].unique())
    true, false, other = (
        pairs[pairs["label"] == label]
        .drop_duplicates("group")
        .set_index("group")
        .reindex(groups)
        for label in (TRUE, MISCAPTIONED, OUT_OF_CONTEXT)
    )
    good = true["image_id"].eq(false["image_id"])
    good &= other["caption"].isna() | other["caption"].eq(true["caption"])
    good &= ~groups.isin(pairs.loc[pairs.duplicated(["group", "label"]), "group"])
    if not good.all():
        raise DataError(
            "expected each group to be one article: a true pair, a miscaptioned pair"
            " of the same image, and at most one out-of-context pair of the same"
            f" caption. Leave out: {name_some(groups[~good])}."
        )
    articles = pd.DataFrame(
        {
            "id": groups,
            "true_url": f"{site}/" + true["image_id"],
            "true_caption": true["caption"],
            "false_url": (f"{site}/" + other["image_id"]).fillna(""),
            "false_caption": false["caption"],
            "query": "",
            "snopes_url": f"{site}/" + groups,
        }
    )
    if "topic" in pairs.columns:
        articles["topic"] = true["topic"]
    return articles.reset_index(drop=True)


def links(articles: pd.DataFrame) -> pd.DataFrame:
    """``id`` and ``url`` of each image, once, for ``verite data images``."""
    images = _unpack(articles)[["image_id", "url"]].drop_duplicates()
    return images.set_axis(["id", "url"], axis=1).reset_index(drop=True)


def _unpack(articles: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for label, image, caption in (
        (TRUE, "true", "true"),
        (MISCAPTIONED, "true", "false"),
        (OUT_OF_CONTEXT, "false", "true"),
    ):
        rows = articles[articles[f"{image}_url"] != ""]
        part = {
            "pair_id": rows["id"] + f"-{label}",
            "image_id": f"{image}_" + rows["id"],
            "text_id": f"{caption}_" + rows["id"],
            "caption": rows[f"{caption}_caption"],
            "label": label,
            "group": "article_" + rows["id"],
            "split": "",
            "url": rows[f"{image}_url"],
            "page": rows["snopes_url"],
        }
        if "topic" in articles.columns:
            part["topic"] = rows["topic"]
        parts.append(pd.DataFrame(part))
    pairs = pd.concat(parts).reset_index(names="row")
    # True pairs come first here, so that shared ids are theirs.
    pairs["text_id"] = first_of(pairs["text_id"], pairs["caption"])
    pairs["image_id"] = first_of(pairs["image_id"], pairs["url"])
    pairs = pairs.sort_values("row", kind="stable").drop(columns="row")
    pairs["image_path"] = "images/" + pairs["image_id"] + ".jpg"
    return pairs.reset_index(drop=True)


@dataclass(frozen=True)
class Balance:
    """How far images and captions of true pairs are in two classes each."""

    images: int
    """Images of true pairs."""
    images_balanced: int
    """Those once true, once miscaptioned and in no other pair."""
    captions: int
    """Captions of true pairs."""
    captions_balanced: int
    """Those once true, once out-of-context and in no other pair."""
    no_image: tuple[str, ...]
    """``text_id`` of true captions without an out-of-context pair."""
    repeated: tuple[str, ...]
    """Other images and captions in several pairs, such as a shared false caption."""


def balance(pairs: pd.DataFrame) -> Balance:
    """Count in how many pairs of each class images and captions are.

    >>> rows = [("i", "t", "true"), ("i", "f", "miscaptioned")]
    >>> count = balance(pd.DataFrame(rows, columns=["image_id", "text_id", "label"]))
    >>> count.images_balanced, count.captions_balanced, count.no_image
    (1, 0, ('t',))
    """
    images, texts = (
        pd.crosstab(pairs[key], pairs["label"]).reindex(
            columns=[TRUE, other, third], fill_value=0
        )
        for key, other, third in (
            ("image_id", MISCAPTIONED, OUT_OF_CONTEXT),
            ("text_id", OUT_OF_CONTEXT, MISCAPTIONED),
        )
    )
    balanced = [(table == [1, 1, 0]).all(axis=1) for table in (images, texts)]
    repeated = [
        table.index[(table.sum(axis=1) > 1) & ~fine]
        for table, fine in zip((images, texts), balanced, strict=True)
    ]
    no_image = texts.index[(texts[TRUE] > 0) & (texts[OUT_OF_CONTEXT] == 0)]
    order = pairs["text_id"].drop_duplicates()
    return Balance(
        images=int((images[TRUE] > 0).sum()),
        images_balanced=int(balanced[0].sum()),
        captions=int((texts[TRUE] > 0).sum()),
        captions_balanced=int(balanced[1].sum()),
        no_image=tuple(order[order.isin(no_image)]),
        repeated=tuple(str(key) for keys in repeated for key in keys),
    )
