"""``verite build``: a table of articles to pairs, with all there is to look at."""

from __future__ import annotations

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
from verite.files import check_overwrite, sha256, write_csv, write_json, write_text
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
        pool. Articles whose image or caption has no vector get no candidates.
    k, same_picture
        Candidates per article, and the cosine from which on two images are one: see
        :func:`~verite.building.rank_candidates`.
    force
        Replace existing files.

    Returns
    -------
    list of str
        The report's lines, and where things are.

    Raises
    ------
    ParameterError
        A report exists and ``force`` is not set; or only one of ``images`` and
        ``texts`` is given.
    DataError
        The table cannot be used (see :func:`verite.building.read`), no article is left,
        or vectors do not belong to it.
    """
    check_overwrite(out / "report.json", force)
    files = list(images)
    if bool(files) != bool(texts):
        raise ParameterError("candidates need both --images and --texts, or neither.")
    articles = read(table)
    flags = check(articles)
    ruled_out = flags[flags["flag"] == "not met"]
    kept = articles[~articles["id"].isin(ruled_out["id"])]
    if kept.empty:
        first = ruled_out.iloc[0]
        raise DataError(
            f"{table}: all {len(articles):,} articles are ruled out, article"
            f" {first['id']} by {first['criterion']} ({first['why'] or 'a person'}). A"
            " column of a criterion's name with yes in it overrules the check."
        )
    captions, giveaways = look_at_captions(kept)
    pairs = unpack(kept, table.stem)
    report: dict[str, Any] = {"table": table.name, "sha256": sha256(table)}
    report |= _report(articles, flags, captions, giveaways, pairs)
    tables = {
        "images": links(kept),
        "criteria": flags,
        "captions": captions,
        "giveaways": giveaways,
        "pairs": pairs,
    }
    if texts is not None:
        vectors = concatenate(map(Embeddings.load, files)), Embeddings.load(texts)
        tables["candidates"], report["candidates"] = _candidates(
            pairs, *vectors, k, same_picture
        )
    for name, frame in tables.items():
        write_csv(out / f"{name}.csv", frame)
    lines = _readable(report)
    write_text(out / "report.txt", "\n".join(lines) + "\n")
    write_json(out / "report.json", report)
    paths = {"pairs": "pairs.csv", "links": "images.csv", "report": "report.json"}
    return [
        *lines,
        "",
        *(f"{name + ':':8}{out / path}" for name, path in paths.items()),
    ]


def _report(
    articles: pd.DataFrame,
    flags: pd.DataFrame,
    captions: pd.DataFrame,
    giveaways: pd.DataFrame,
    pairs: pd.DataFrame,
) -> dict[str, Any]:
    by_flag = pd.crosstab(flags["criterion"], flags["flag"])
    by_flag = by_flag.reindex(index=list(CRITERIA), columns=list(FLAGS), fill_value=0)
    words = giveaways.groupby(["kind", "caption"])["id"].nunique()
    gap = captions["true_words"] - captions["false_words"]
    means = captions[["true_words", "false_words", "shared", "similarity"]].mean()
    sides = ("true", "false")
    length = length_probe(pairs[pairs["label"].isin([TRUE, MISCAPTIONED])])
    image, text = (unimodal_ceiling(pairs, side) for side in ("image", "text"))
    report: dict[str, Any] = {
        "articles": len(articles),
        "ruled_out": list(flags.loc[flags["flag"] == "not met", "id"].unique()),
        "criteria": by_flag.T.to_dict(),
        "captions": {
            **{name: float(value) for name, value in means.items()},
            "true_longer": int((gap > 0).sum()),
            "false_longer": int((gap < 0).sum()),
            "same_opening": int((captions["opening"] >= 2).sum()),
            "forms": {
                side: {
                    kind or "none": int((captions[f"{side}_form"] == kind).sum())
                    for kind in ("shows", "of", "")
                }
                for side in sides
            },
        },
        "giveaways": {
            kind: {side: int(words.get((kind, side), 0)) for side in sides}
            for kind in GIVEAWAYS
        },
        "pairs": {label: int((pairs["label"] == label).sum()) for label in LABELS},
        "balance": asdict(balance(pairs)),
        "alone": {
            "length, true against miscaptioned": length.accuracy,
            "image, at best": image.value,
            "text, at best": text.value,
            "largest class": image.majority,
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
    about, even = report["captions"], Balance(**report["balance"])
    articles, ruled_out = report["articles"], len(report["ruled_out"])
    lines = [f"{report['table']}: {articles:,} articles, {ruled_out:,} ruled out", ""]
    lines.append(f"{'criterion':20}{'met':>8}{'look':>8}{'not met':>9}")
    for name, n in report["criteria"].items():
        counts = f"{n['met']:>8,}{n['look']:>8,}{n['not met']:>9,}"
        lines.append(f"{name:20}{counts}   {CRITERIA[name].says}")
    lines += [
        "",
        "words per caption: true {true_words:.1f}, false {false_words:.1f}",
        "longer caption: true in {true_longer:,} articles, false in {false_longer:,}",
        "true and false: {shared:.0%} of words shared, similarity {similarity:.2f}",
        "same two first words: {same_opening:,}",
    ]
    lines[-4:] = [line.format(**about) for line in lines[-4:]]
    for name, n in about["forms"].items():
        lines.append(
            f'{name} captions: {n["shows"]:,} like "An image shows", {n["of"]:,} like'
            f' "Photo of", {n["none"]:,} neither'
        )
    for kind, n in report["giveaways"].items():
        counts = f"in {n['true']:,} true and {n['false']:,} false captions"
        lines.append(f"giveaway words, {kind}: {counts}")
    pairs = report["pairs"]
    labels = ", ".join(f"{label} {number:,}" for label, number in pairs.items())
    alone = ", ".join(f"{name} {value:.1%}" for name, value in report["alone"].items())
    balanced = even.captions_balanced
    lines += [
        "",
        f"{sum(pairs.values()):,} pairs: {labels}",
        f"true images in two classes: {even.images_balanced:,} of {even.images:,}",
        f"true captions in two classes: {balanced:,} of {even.captions:,}",
        f"true captions without an out-of-context image: {len(even.no_image):,}",
        f"repeated otherwise: {', '.join(even.repeated) or 'none'}",
        f"what one feature alone can reach: {alone}",
    ]
    if topics := report.get("topics"):
        lines.append("")
        for name, number in topics.items():
            lines.append(f"{name:30}{number:>6,}  {number / articles:6.1%}")
    if n := report.get("candidates"):
        found = n["chosen_found"].items()
        among = ", ".join(f"{name} for {number:,}" for name, number in found)
        lines += [
            "",
            f"candidates for {n['articles']:,} articles from {n['pool']:,} images",
            f"articles without vectors: {n['without_vectors']:,}",
            f"the chosen image is in the pool for {n['chosen_in_pool']:,}: {among}",
            f"the best candidate fits better than the own image: {n['fits_better']:,}",
        ]
    return lines
