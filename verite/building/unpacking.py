"""From articles to pairs and back, and whether the pairs are balanced (paper, section
3.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from verite.datasets.reading import first_of
from verite.errors import DataError, name_some
from verite.pairs import MISCAPTIONED, OUT_OF_CONTEXT, TRUE, merge_groups, validate

__all__ = ["Balance", "balance", "links", "pack", "unpack"]


def unpack(articles: pd.DataFrame, dataset: str = "verite") -> pd.DataFrame:
    """Make the pairs of each article.

    True, miscaptioned, and out-of-context where there is an image for it.

    An image is called ``true_ID`` or ``false_ID``, as in the release, and so is a
    caption; both after the first article that has them, as true ones if there is such a
    one. The group is the article; articles that share a caption, a link or a page are
    one group.

    Parameters
    ----------
    articles
        As :func:`verite.building.read` gives it; a column ``topic`` is handed on.

    Returns
    -------
    pandas.DataFrame
        A pair table, in the order of the articles.

    >>> row = dict(id="7", true_url="https://x.example/a.jpg", true_caption="A boat.", false_url="", false_caption="A shark.",
    ...            query="", snopes_url="https://www.snopes.com/boat")
    >>> unpack(pd.DataFrame([row]))[["pair_id", "image_id", "text_id", "label"]].to_numpy().tolist()
    [['7-true', 'true_7', 'true_7', 'true'], ['7-miscaptioned', 'true_7', 'false_7', 'miscaptioned']]
    """
    pairs = _unpack(articles)
    pairs["group"] = merge_groups(
        pairs["group"], pairs["caption"], pairs["url"], pairs["page"]
    )
    return validate(
        pairs.drop(columns=["url", "page"]).assign(dataset=dataset), extra=("topic",)
    )


def pack(pairs: pd.DataFrame, site: str = "https://newsroom.example") -> pd.DataFrame:
    """The table of articles that :func:`unpack` makes such pairs of, for a benchmark
    that came without one.

    Parameters
    ----------
    pairs
        A pair table. Each group is one article: a true pair, a miscaptioned one with
        the same image, and at most one out-of-context pair with the same caption.
    site
        What links begin with. A pair table has none, so they are made up, after the ids
        of images and groups.

    Returns
    -------
    pandas.DataFrame
        As :func:`verite.building.read` gives it, with an empty ``query``; ids are the
        groups, in their order. A column ``topic`` is handed on, from true pairs.

    Raises
    ------
    DataError
        A group is no such article.

    >>> rows = [("i", "A boat.", "true", "g"), ("i", "A shark.", "miscaptioned", "g"), ("x", "A boat.", "out-of-context", "g")]
    >>> pack(pd.DataFrame(rows, columns=["image_id", "caption", "label", "group"])).drop(columns="query").iloc[0].tolist()
    ['g', 'https://newsroom.example/i', 'A boat.', 'https://newsroom.example/x', 'A shark.', 'https://newsroom.example/g']
    """
    every = pd.Index(pairs["group"].unique())
    true, false, other = (
        pairs[pairs["label"] == label]
        .drop_duplicates("group")
        .set_index("group")
        .reindex(every)
        for label in (TRUE, MISCAPTIONED, OUT_OF_CONTEXT)
    )
    good = true["image_id"].eq(false["image_id"]) & (
        other["caption"].isna() | other["caption"].eq(true["caption"])
    )
    good &= ~every.isin(pairs.loc[pairs.duplicated(["group", "label"]), "group"])
    if not good.all():
        raise DataError(
            "expected each group to be one article: a true pair, a miscaptioned pair"
            " of the same image, and at most one out-of-context pair of the same"
            f" caption. Not so: {name_some(every[~good])}. Choose the groups that are."
        )
    articles = pd.DataFrame(
        {
            "id": every,
            "true_url": f"{site}/" + true["image_id"],
            "true_caption": true["caption"],
            "false_url": (f"{site}/" + other["image_id"]).fillna(""),
            "false_caption": false["caption"],
            "query": "",
            "snopes_url": f"{site}/" + every,
        }
    )
    return (
        articles.assign(topic=true["topic"]) if "topic" in pairs.columns else articles
    ).reset_index(drop=True)


def links(articles: pd.DataFrame) -> pd.DataFrame:
    """Where the images of :func:`unpack` are to be had.

    ``id`` and ``url``, each image once, for ``verite data images``.
    """
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
        part = pd.DataFrame(
            {
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
        )
        parts.append(
            part.assign(topic=rows["topic"]) if "topic" in articles.columns else part
        )
    pairs = pd.concat(parts).reset_index(names="row")
    pairs["text_id"] = first_of(
        pairs["text_id"], pairs["caption"]
    )  # while true pairs come first: theirs is the name
    pairs["image_id"] = first_of(pairs["image_id"], pairs["url"])
    pairs = (
        pairs.sort_values("row", kind="stable")
        .drop(columns="row")
        .reset_index(drop=True)
    )
    return pairs.assign(image_path="images/" + pairs["image_id"] + ".jpg")


@dataclass(frozen=True)
class Balance:
    """How far each true image stands in two classes and each true caption in two
    ("modality balancing").

    Attributes
    ----------
    images, images_balanced
        Images of true pairs, and those of them that stand once as true, once as
        miscaptioned and nowhere else.
    captions, captions_balanced
        Captions of true pairs, and those that stand once as true, once as
        out-of-context and nowhere else.
    no_image
        Groups' true captions without an out-of-context pair, by ``text_id``.
    repeated
        Other images and captions that stand more than once, by id: such as a false
        caption that two articles share.
    """

    images: int
    images_balanced: int
    captions: int
    captions_balanced: int
    no_image: tuple[str, ...]
    repeated: tuple[str, ...]


def balance(pairs: pd.DataFrame) -> Balance:
    """Count how often images and captions stand in each class.

    >>> rows = [("i", "t", "true"), ("i", "f", "miscaptioned"), ("x", "t", "out-of-context")]
    >>> rows += [("j", "u", "true"), ("j", "f", "miscaptioned")]
    >>> balance(pd.DataFrame(rows, columns=["image_id", "text_id", "label"]))
    Balance(images=2, images_balanced=2, captions=2, captions_balanced=1, no_image=('u',), repeated=('f',))
    """
    images = pd.crosstab(pairs["image_id"], pairs["label"]).reindex(
        columns=[TRUE, MISCAPTIONED, OUT_OF_CONTEXT], fill_value=0
    )
    texts = pd.crosstab(pairs["text_id"], pairs["label"]).reindex(
        columns=[TRUE, OUT_OF_CONTEXT, MISCAPTIONED], fill_value=0
    )
    no_image = texts.index[(texts[TRUE] > 0) & (texts[OUT_OF_CONTEXT] == 0)]
    order = pairs["text_id"].drop_duplicates()
    twice = {
        name: (table == [1, 1, 0]).all(axis=1)
        for name, table in (("images", images), ("texts", texts))
    }
    often = [
        table.index[(table.sum(axis=1) > 1) & ~twice[name]]
        for name, table in (("images", images), ("texts", texts))
    ]
    return Balance(
        images=int((images[TRUE] > 0).sum()),
        images_balanced=int(twice["images"].sum()),
        captions=int((texts[TRUE] > 0).sum()),
        captions_balanced=int(twice["texts"].sum()),
        no_image=tuple(order[order.isin(no_image)]),
        repeated=tuple(str(key) for keys in often for key in keys),
    )
