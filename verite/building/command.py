"""``verite build``: a table of articles to pairs, with all that there is to look at on
the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from verite.building.articles import read
from verite.building.candidates import SAME_PICTURE, rank_candidates
from verite.building.captions import GIVEAWAYS
from verite.building.captions import table as look_at_captions
from verite.building.criteria import CRITERIA, FLAGS, check
from verite.building.unpacking import Balance, balance, links, unpack
from verite.embeddings import Embeddings, concatenate
from verite.errors import DataError, ParameterError
from verite.evaluation import length_probe, unimodal_ceiling
from verite.files import sha256, write_csv, write_json, write_text
from verite.pairs import LABELS, MISCAPTIONED, OUT_OF_CONTEXT, TRUE

__all__ = ["build"]


def build(
    table: Path,
    out: Path,
    *,
    images: Iterable[Path] = (),
    texts: Path | None = None,
    k: int = 10,
    same_picture: float = SAME_PICTURE,
    force: bool = False,
) -> list[str]:
    """Check a table of articles, and unpack those that no criterion rules out.

    Writes into ``out``: ``criteria.csv`` (:func:`~verite.building.check`),
    ``captions.csv`` and ``giveaways.csv`` (:func:`verite.building.captions.table`),
    ``pairs.csv`` (:func:`~verite.building.unpack`), ``images.csv`` for ``verite data
    images``, ``candidates.csv`` (:func:`~verite.building.rank_candidates`) if there are
    vectors, and the report as ``report.json`` and ``report.txt``.

    Parameters
    ----------
    images, texts
        Files of vectors, as ``verite encode`` writes them for ``pairs.csv`` and for a
        pool: images by ``image_id``, captions by ``text_id``. Articles whose image or
        caption has no vector get no candidates.
    k, same_picture
        Candidates an article, and from which cosine on two images are one: see
        :func:`~verite.building.rank_candidates`.
    force
        Replace what an earlier run wrote.

    Returns
    -------
    list of str
        The report's lines, and where things are.

    Raises
    ------
    ParameterError
        A report is there and ``force`` is not set; vectors of images are given without
        those of captions, or the other way round.
    DataError
        The table is none (see :func:`verite.building.read`), no article is left, or
        vectors do not belong to it.
    """
    if (out / "report.json").exists() and not force:
        raise ParameterError(
            f"{out / 'report.json'} is there. Choose another folder, or replace it with"
            " --force."
        )
    files = list(images)
    if bool(files) != bool(texts):
        raise ParameterError(
            "candidates need vectors of images and of captions. Give --images and"
            " --texts, or neither."
        )
    articles = read(table)
    flags = check(articles)
    ruled_out = set(flags.loc[flags["flag"] == "not met", "id"])
    kept = articles[~articles["id"].isin(ruled_out)]
    if kept.empty:
        first = flags[flags["flag"] == "not met"].iloc[0]
        raise DataError(
            f"{table}: no article is left: all {len(articles):,} are ruled out, article"
            f" {first['id']} by {first['criterion']} ({first['why'] or 'a person'}). A"
            " column of a criterion's name with yes in it overrules the check."
        )
    captions, giveaways = look_at_captions(kept)
    pairs = unpack(kept, table.stem)
    report = _report(table, articles, flags, captions, giveaways, pairs)
    if texts is not None:
        candidates, report["candidates"] = _candidates(
            pairs,
            concatenate(map(Embeddings.load, files)),
            Embeddings.load(texts),
            k,
            same_picture,
        )
        write_csv(out / "candidates.csv", candidates)
    write_csv(out / "images.csv", links(kept))
    write_csv(out / "criteria.csv", flags)
    write_csv(out / "captions.csv", captions)
    write_csv(out / "giveaways.csv", giveaways)
    write_csv(out / "pairs.csv", pairs)
    lines = _readable(report)
    write_text(out / "report.txt", "\n".join(lines) + "\n")
    write_json(out / "report.json", report)
    return [
        *lines,
        "",
        f"pairs:  {out / 'pairs.csv'}",
        f"links:  {out / 'images.csv'}",
        f"report: {out / 'report.json'}",
    ]


def _report(
    table: Path,
    articles: pd.DataFrame,
    flags: pd.DataFrame,
    captions: pd.DataFrame,
    giveaways: pd.DataFrame,
    pairs: pd.DataFrame,
) -> dict[str, Any]:
    counts = Counter(zip(flags["criterion"], flags["flag"], strict=True))
    found = giveaways.groupby(["kind", "caption"])["id"].nunique()
    labels = pairs["label"].value_counts().reindex(list(LABELS), fill_value=0)
    gap = captions["true_words"] - captions["false_words"]
    forms = {
        name: captions[f"{name}_form"].value_counts() for name in ("true", "false")
    }
    length = length_probe(pairs[pairs["label"].isin([TRUE, MISCAPTIONED])])
    ceilings = {
        "image": unimodal_ceiling(pairs, "image"),
        "text": unimodal_ceiling(pairs, "text"),
    }
    report: dict[str, Any] = {
        "table": table.name,
        "sha256": sha256(table),
        "articles": len(articles),
        "ruled_out": list(dict.fromkeys(flags.loc[flags["flag"] == "not met", "id"])),
        "criteria": {
            name: {flag: counts[name, flag] for flag in FLAGS} for name in CRITERIA
        },
        "captions": {
            "true_words": float(captions["true_words"].mean()),
            "false_words": float(captions["false_words"].mean()),
            "true_longer": int((gap > 0).sum()),
            "false_longer": int((gap < 0).sum()),
            "shared": float(captions["shared"].mean()),
            "similarity": float(captions["similarity"].mean()),
            "same_opening": int((captions["opening"] >= 2).sum()),
            "forms": {
                name: {
                    kind or "none": int(one.get(kind, 0))
                    for kind in ("shows", "of", "")
                }
                for name, one in forms.items()
            },
        },
        "giveaways": {
            kind: {name: int(found.get((kind, name), 0)) for name in ("true", "false")}
            for kind in GIVEAWAYS
        },
        "pairs": {label: int(number) for label, number in labels.items()},
        "balance": asdict(balance(pairs)),
        "alone": {
            "length, true against miscaptioned": length.accuracy,
            **{
                f"{modality}, at best": ceiling.value
                for modality, ceiling in ceilings.items()
            },
            "largest class": ceilings["image"].majority,
        },
    }
    if "topic" in articles.columns:
        topics = articles["topic"].replace("", "(none)").value_counts()
        report["topics"] = {str(name): int(number) for name, number in topics.items()}
    return report


def _candidates(
    pairs: pd.DataFrame,
    images: Embeddings,
    texts: Embeddings,
    k: int,
    same_picture: float,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    true = pairs["label"] == TRUE
    known = pairs["image_id"].isin(images.ids) & pairs["text_id"].isin(texts.ids)
    if not (known & true).any():
        raise DataError(
            f"no true pair has both vectors: {images.where} holds ids such as"
            f" {images.ids[0]!r}, {texts.where} such as {texts.ids[0]!r}; expected such"
            f" as {pairs['image_id'].iloc[0]!r} and {pairs['text_id'].iloc[0]!r}."
            " Encode pairs.csv with verite encode."
        )
    taken = set(pairs.loc[true, "image_id"])
    ranked = rank_candidates(
        pairs[known | ~true],
        images,
        texts,
        k,
        pool=[key for key in images.ids if key not in taken],
        same_picture=same_picture,
    )
    chosen = pairs[(pairs["label"] == OUT_OF_CONTEXT) & known]
    first = ranked.loc[ranked["chosen"], "rank"]
    return ranked, {
        "pool": len(set(images.ids) - taken),
        "articles": int(ranked["pair_id"].nunique()),
        "without_vectors": int((true & ~known).sum()),
        "chosen_in_pool": len(chosen),
        "chosen_found": {
            f"first {n}": int((first <= n).sum()) for n in sorted({1, 5, k}) if n <= k
        },
        "fits_better": int(ranked.loc[ranked["rank"] == 1, "fits_better"].sum()),
    }


def _readable(report: dict[str, Any]) -> list[str]:
    about, alone, labels = report["captions"], report["alone"], report["pairs"]
    even = Balance(**report["balance"])
    lines = [
        (
            f"{report['table']}: {report['articles']:,} articles,"
            f" {len(report['ruled_out']):,} ruled out"
        ),
        "",
    ]
    lines += [f"{'criterion':20}{'met':>8}{'look':>8}{'not met':>9}"]
    for name, n in report["criteria"].items():
        lines.append(
            f"{name:20}{n['met']:>8,}{n['look']:>8,}{n['not met']:>9,}  "
            f" {CRITERIA[name].says}"
        )
    lines += [
        "",
        (
            f"words a caption: true {about['true_words']:.1f}, false"
            f" {about['false_words']:.1f}"
        ),
        (
            f"longer caption: the true one in {about['true_longer']:,} articles, the"
            f" false one in {about['false_longer']:,}"
        ),
        (
            f"true beside false: {about['shared']:.0%} of words shared, similarity"
            f" {about['similarity']:.2f}"
        ),
        f"same two first words: {about['same_opening']:,}",
    ]
    for name, n in about["forms"].items():
        lines.append(
            f'{name} captions: {n["shows"]:,} like "An image shows", {n["of"]:,} like'
            f' "Photo of", {n["none"]:,} neither'
        )
    for kind, n in report["giveaways"].items():
        lines.append(
            f"giveaway words, {kind}: in {n['true']:,} true and {n['false']:,} false"
            " captions"
        )
    lines += [
        "",
        f"{sum(labels.values()):,} pairs: "
        + ", ".join(f"{label} {number:,}" for label, number in labels.items()),
        f"true images in two classes: {even.images_balanced:,} of {even.images:,}",
        (
            f"true captions in two classes: {even.captions_balanced:,} of"
            f" {even.captions:,}; no out-of-context image: {len(even.no_image):,}"
        ),
        f"repeated otherwise: {', '.join(even.repeated) or 'none'}",
        "what one thing alone can reach: "
        + ", ".join(f"{name} {value:.1%}" for name, value in alone.items()),
    ]
    if topics := report.get("topics"):
        lines += [
            "",
            *(
                f"{name:30}{number:>6,}  {number / report['articles']:6.1%}"
                for name, number in topics.items()
            ),
        ]
    if found := report.get("candidates"):
        among = ", ".join(
            f"{name} for {number:,}" for name, number in found["chosen_found"].items()
        )
        lines += [
            "",
            (
                f"candidates for {found['articles']:,} articles from {found['pool']:,}"
                f" images; {found['without_vectors']:,} have no vectors"
            ),
            (
                "the image that was chosen is in the pool for"
                f" {found['chosen_in_pool']:,}: {among}"
            ),
            (
                "the best candidate fits the caption better than the own image:"
                f" {found['fits_better']:,}; look at these first"
            ),
        ]
    return lines
