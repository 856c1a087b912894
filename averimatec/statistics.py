"""The paper's Tables 2 and 5 to 9, made from the files, and checks of dates and
duplicates (sections 4 and 5, appendix D).
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from averimatec.claims import VERDICTS, Claim
from verite.errors import DataError, ParameterError

__all__ = ["duplicate_claims", "late_evidence", "split_order", "statistics", "url_date"]

_ARCHIVE = re.compile(
    r"^https?://(?:web\.archive\.org/web/\d+\w*/|archive\.\w+/(?:o/)?\w+/)(?=https?:)"
)
_URL_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)[/-](\d{1,2})[/-](\d{1,2})(?!\d)")
_BLOCK = 1024  # claims compared at a time with all others


def statistics(splits: Mapping[str, Sequence[Claim]]) -> pd.DataFrame:
    """Describe splits as the paper's Tables 2 and 5 to 9 do.

    Shares are of claims (Tables 2, 5, 6), of questions (Table 8 and the answering
    methods of Table 9) and of answers (the rest of Table 9). A claim or question can be
    of several kinds, so columns of Tables 5, 6 and 8 may sum to more than 100. Table 7
    counts the locations of all splits together; the paper prints those of ten claims
    and more.

    Returns
    -------
    pandas.DataFrame
        ``table``, ``block`` (which of the three of Table 9), ``row``, ``column`` (the
        split), ``value``, ``unit`` and ``n`` (what the value was computed from). The
        end date of Table 2 is a number, ``20230531`` for 31 May 2023. Rows that no
        split has anything of are not there; a reannotation that no file tells of is
        NaN.

    Raises
    ------
    DataError
        A split has no claims.

    >>> made = statistics({"val": [Claim("0", "A boat in Rome.", ("a.png",), "Refuted", claim_types=("Causal Claim",))]})
    >>> made.loc[made["row"].isin(["claims", "Refuted", "Causal Claim"]), ["table", "row", "column", "value", "unit"]].values.tolist()
    [[2, 'claims', 'val', 1.0, 'claims'], [2, 'Refuted', 'val', 100.0, '%'], [5, 'Causal Claim', 'val', 100.0, '%']]
    """
    rows: list[tuple[int, str, str, str, float, str, int]] = []
    for split, claims in splits.items():
        if not claims:
            raise DataError(f"statistics: split {split!r} has no claims. Leave it out.")
        rows += _table_2(split, claims)
        questions = [question for claim in claims for question in claim.questions]
        answers = [answer for question in questions for answer in question.answers]
        for number, block, lists in (
            (5, "", [claim.claim_types for claim in claims]),
            (6, "", [claim.strategies for claim in claims]),
            (8, "", [question.kinds for question in questions]),
            (9, "answering method", [(question.method,) for question in questions]),
            (9, "answer type", [(answer.kind,) for answer in answers]),
            (9, "source medium", [(answer.medium,) for answer in answers]),
        ):
            counts = Counter(
                kind for kinds in lists for kind in dict.fromkeys(kinds) if kind
            )
            rows += [
                (number, block, kind, split, 100 * count / len(lists), "%", len(lists))
                for kind, count in sorted(counts.items())
            ]
    everyone = [claim for claims in splits.values() for claim in claims]
    places = Counter(claim.location for claim in everyone if claim.location)
    rows += [
        (7, "", place, "all", float(count), "claims", len(everyone))
        for place, count in places.most_common()
    ]
    made = pd.DataFrame(
        rows, columns=["table", "block", "row", "column", "value", "unit", "n"]
    )
    return made.sort_values("table", kind="stable", ignore_index=True)


def url_date(url: str) -> datetime.date | None:
    """Day that an address spells, as news sites do.

    That of a web archive's copy is the original's, not the copy's.

    >>> url_date("https://web.archive.org/web/20201130144023/https://news.example/2020/11/03/boats"), url_date("https://news.example/1")
    (datetime.date(2020, 11, 3), None)
    """
    found = _URL_DAY.search(_ARCHIVE.sub("", url))
    try:
        return datetime.date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def late_evidence(
    claims: Iterable[Claim], dates: Mapping[str, datetime.date | None] | None = None
) -> pd.DataFrame:
    """Find evidence that was published after its claim, which a system in the claim's
    time could not have had.

    Parameters
    ----------
    dates
        When pages were published, by address, such as those of a knowledge store.
        Without them, and for others, what the address spells (:func:`url_date`); pages
        whose date neither tells are not judged.

    Returns
    -------
    pandas.DataFrame
        ``claim``, ``question`` (counted from 0), ``url``, ``claim_date``, ``date``,
        ``days`` (how much later), ``known_from`` (``"store"`` or ``"address"``). In
        ``attrs``: ``answers`` with an address, and how many were ``judged``.

    >>> from averimatec.claims import Answer, Question
    >>> answer = Answer("Extractive", "Yes.", url="https://news.example/2023/7/10/boats")
    >>> claim = Claim("0", "A boat.", date=datetime.date(2023, 7, 8), questions=(Question("Where?", (answer,)),))
    >>> late_evidence([claim])[["claim", "days", "known_from"]].values.tolist()
    [['0', 2, 'address']]
    """
    rows, answers, judged = [], 0, 0
    for claim in claims:
        for number, question in enumerate(claim.questions):
            for answer in question.answers:
                if not answer.url:
                    continue
                answers += 1
                stored = (dates or {}).get(answer.url)
                day = stored or url_date(answer.url)
                if day is None or claim.date is None:
                    continue
                judged += 1
                if day > claim.date:
                    source = "store" if stored else "address"
                    rows.append(
                        (
                            claim.id,
                            number,
                            answer.url,
                            claim.date,
                            day,
                            (day - claim.date).days,
                            source,
                        )
                    )
    found = pd.DataFrame(
        rows,
        columns=[
            "claim",
            "question",
            "url",
            "claim_date",
            "date",
            "days",
            "known_from",
        ],
    )
    found.attrs |= {"answers": answers, "judged": judged}
    return found


def split_order(splits: Mapping[str, Sequence[Claim]]) -> pd.DataFrame:
    """Check that splits follow each other in time, in the order given, as the paper's
    do (Table 2).

    Returns
    -------
    pandas.DataFrame
        A row a split: ``split``, ``first`` and ``last`` day, ``undated`` claims, and
        ``too_early``: claims dated before the last day of the split in front.

    >>> day = datetime.date
    >>> made = split_order({"train": [Claim("0", "a", date=day(2023, 5, 2))], "val": [Claim("0", "b", date=day(2023, 5, 1))]})
    >>> made["too_early"].tolist()
    [0, 1]
    """
    rows = []
    end: datetime.date | None = None
    for split, claims in splits.items():
        days = [claim.date for claim in claims if claim.date is not None]
        early = sum(day < end for day in days) if end else 0
        rows.append(
            (
                split,
                min(days, default=None),
                max(days, default=None),
                len(claims) - len(days),
                early,
            )
        )
        end = max(days, default=end)
    return pd.DataFrame(
        rows, columns=["split", "first", "last", "undated", "too_early"]
    )


def duplicate_claims(
    claims: Sequence[Claim], *, least: float = 0.3, words: tuple[int, int] = (1, 2)
) -> pd.DataFrame:
    """Find pairs of claims that may be one.

    Cosine or Jaccard index of their n-grams above ``least`` (paper, appendix D.1).

    The paper looked through such pairs by hand. It does not say which n-grams it took,
    and calls the Jaccard index a distance.

    Parameters
    ----------
    words
        Shortest and longest n-gram, in words.

    Returns
    -------
    pandas.DataFrame
        ``first``, ``second`` (ids), ``cosine`` (of counts), ``jaccard`` (of sets), the
        nearest first.

    Raises
    ------
    ParameterError
        ``least`` is not from 0 to 1.

    >>> two = [Claim("0", "A boat sank in Rome."), Claim("1", "The boat sank in Rome"), Claim("2", "Snow fell.")]
    >>> duplicate_claims(two).round(2).values.tolist()
    [['0', '1', 0.78, 0.64]]
    """
    if not 0 <= least <= 1:
        raise ParameterError(f"least must be from 0 to 1, found {least}.")
    if len(claims) < 2:
        return pd.DataFrame(columns=["first", "second", "cosine", "jaccard"])
    vectorizer = CountVectorizer(ngram_range=words, token_pattern=r"(?u)\w+")  # noqa: S106
    counts = vectorizer.fit_transform([claim.text for claim in claims]).tocsr()
    sets = (counts > 0).astype(np.float64)
    unit, sizes = (
        normalize(counts.astype(np.float64)),
        np.asarray(sets.sum(axis=1)).ravel(),
    )
    found = []
    for start in range(0, len(claims), _BLOCK):
        rows = slice(start, start + _BLOCK)
        cosine, shared = (
            (unit[rows] @ unit.T).toarray(),
            (sets[rows] @ sets.T).toarray(),
        )
        jaccard = shared / np.maximum(sizes[rows, None] + sizes[None, :] - shared, 1)
        later = (
            np.arange(len(claims))[None, :]
            > np.arange(start, start + len(cosine))[:, None]
        )
        for i, j in zip(
            *np.nonzero(later & ((cosine > least) | (jaccard > least))), strict=True
        ):
            found.append(
                (
                    claims[start + i].id,
                    claims[j].id,
                    float(cosine[i, j]),
                    float(jaccard[i, j]),
                )
            )
    pairs = pd.DataFrame(found, columns=["first", "second", "cosine", "jaccard"])
    return pairs.sort_values(
        "cosine", ascending=False, kind="stable", ignore_index=True
    )


def _table_2(
    split: str, claims: Sequence[Claim]
) -> list[tuple[int, str, str, str, float, str, int]]:
    n = len(claims)
    told = [claim.reannotated for claim in claims if claim.reannotated is not None]
    last = max((claim.date for claim in claims if claim.date), default=None)
    labelled = [claim.label for claim in claims if claim.label]
    rows = [
        ("claims", float(n), "claims", n),
        ("images / claim", sum(len(claim.images) for claim in claims) / n, "images", n),
        (
            "QA pairs / claim",
            sum(len(claim.questions) for claim in claims) / n,
            "pairs",
            n,
        ),
        ("reannotated", 100 * float(np.mean(told)) if told else np.nan, "%", len(told)),
        ("end date", float(last.strftime("%Y%m%d")) if last else np.nan, "yyyymmdd", n),
        *(
            (
                verdict,
                100 * labelled.count(verdict) / max(len(labelled), 1),
                "%",
                len(labelled),
            )
            for verdict in VERDICTS
        ),
    ]
    return [(2, "", row, split, value, unit, count) for row, value, unit, count in rows]
