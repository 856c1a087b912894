"""Tables 2 and 5 to 9 of the paper, and checks of dates and duplicates (section 5)."""

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

_ARCHIVE = re.compile(
    r"^https?://(?:web\.archive\.org/web/\d+\w*/|archive\.\w+/(?:o/)?\w+/)(?=https?:)"
)
_URL_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)[/-](\d{1,2})[/-](\d{1,2})(?!\d)")
_BLOCK = 1024  # claims compared at a time with all others: bounds the memory


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
        split has anything of are left out; a reannotation that no file records is NaN.

    >>> claim = Claim("0", "A boat.", label="Refuted", claim_types=("Causal Claim",))
    >>> table = statistics({"val": [claim]}).set_index("row")
    >>> table.loc[["claims", "Refuted", "Causal Claim"], "value"].tolist()
    [1.0, 100.0, 100.0]
    """
    rows: list[tuple[int, str, str, str, float, str, int]] = []
    for split, claims in splits.items():
        if not claims:
            raise DataError(f"statistics: split {split!r} has no claims. Leave it out.")
        rows += [
            (2, "", row, split, value, unit, n)
            for row, value, unit, n in _table_2(claims)
        ]
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
    table = pd.DataFrame(
        rows, columns=["table", "block", "row", "column", "value", "unit", "n"]
    )
    return table.sort_values("table", kind="stable", ignore_index=True)


def _table_2(claims: Sequence[Claim]) -> list[tuple[str, float, str, int]]:
    n = len(claims)
    checked = [c.reannotated for c in claims if c.reannotated is not None]
    labels = [claim.label for claim in claims if claim.label]
    total = max(len(labels), 1)
    last = max((claim.date for claim in claims if claim.date), default=None)
    end = float(last.strftime("%Y%m%d")) if last else np.nan
    images = sum(len(claim.images) for claim in claims) / n
    pairs = sum(len(claim.questions) for claim in claims) / n
    share = 100 * float(np.mean(checked)) if checked else np.nan
    return [
        ("claims", float(n), "claims", n),
        ("images / claim", images, "images", n),
        ("QA pairs / claim", pairs, "pairs", n),
        ("reannotated", share, "%", len(checked)),
        ("end date", end, "yyyymmdd", n),
        *((v, 100 * labels.count(v) / total, "%", len(labels)) for v in VERDICTS),
    ]


def url_date(url: str) -> datetime.date | None:
    """Day in an address, as news sites write it; of an archived copy, the original's.

    >>> url_date("https://web.archive.org/web/20201130/https://news.example/2020/11/03/a")
    datetime.date(2020, 11, 3)
    """
    match = _URL_DAY.search(_ARCHIVE.sub("", url))
    try:
        return datetime.date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def late_evidence(
    claims: Iterable[Claim], dates: Mapping[str, datetime.date | None] | None = None
) -> pd.DataFrame:
    """Find evidence published after its claim: no system could have had it in time.

    Parameters
    ----------
    dates
        When pages were published, by address, such as those of a knowledge store. For
        other pages, the day in the address (:func:`url_date`); pages with neither are
        not judged.

    Returns
    -------
    pandas.DataFrame
        ``claim``, ``question`` (counted from 0), ``url``, ``claim_date``, ``date``,
        ``days`` (how much later), ``known_from`` (``"store"`` or ``"address"``). In
        ``attrs``: ``answers`` with an address, and how many were ``judged``.

    >>> from averimatec.claims import Answer, Question
    >>> answer = Answer("Extractive", "Yes.", url="https://news.example/2023/7/10/boats")
    >>> question = Question("Where?", (answer,))
    >>> day = datetime.date(2023, 7, 8)
    >>> claim = Claim("0", "A boat.", date=day, questions=(question,))
    >>> late_evidence([claim])["days"].tolist()
    [2]
    """
    rows, answers, judged = [], 0, 0
    for claim in claims:
        for number, question in enumerate(claim.questions):
            for url in (answer.url for answer in question.answers if answer.url):
                answers += 1
                stored = (dates or {}).get(url)
                day = stored or url_date(url)
                if day is None or claim.date is None:
                    continue
                judged += 1
                if day > claim.date:
                    days = (day - claim.date).days
                    source = "store" if stored else "address"
                    rows.append((claim.id, number, url, claim.date, day, days, source))
    columns = ["claim", "question", "url", "claim_date", "date", "days", "known_from"]
    table = pd.DataFrame(rows, columns=columns)
    table.attrs |= {"answers": answers, "judged": judged}
    return table


def split_order(splits: Mapping[str, Sequence[Claim]]) -> pd.DataFrame:
    """Check that splits follow each other in time, in the order given (Table 2).

    Returns
    -------
    pandas.DataFrame
        One row per split: ``split``, ``first`` and ``last`` day, ``undated`` claims,
        and ``too_early``: claims dated before the last day of the split before it.

    >>> def claims(day): return [Claim("0", "a", date=datetime.date(2023, 5, day))]
    >>> split_order({"train": claims(2), "val": claims(1)})["too_early"].tolist()
    [0, 1]
    """
    rows = []
    end: datetime.date | None = None
    for split, claims in splits.items():
        days = [claim.date for claim in claims if claim.date is not None]
        first, last = min(days, default=None), max(days, default=None)
        early = sum(day < end for day in days) if end else 0
        rows.append((split, first, last, len(claims) - len(days), early))
        end = last or end
    columns = ["split", "first", "last", "undated", "too_early"]
    return pd.DataFrame(rows, columns=columns)


def duplicate_claims(
    claims: Sequence[Claim], *, least: float = 0.3, words: tuple[int, int] = (1, 2)
) -> pd.DataFrame:
    """Find pairs of claims that may be duplicates (appendix D.1).

    Cosine or Jaccard index of their n-grams is above ``least``. The paper, which looked
    through such pairs by hand, does not say which n-grams it took.

    Parameters
    ----------
    words
        Shortest and longest n-gram, in words.

    Returns
    -------
    pandas.DataFrame
        ``first``, ``second`` (ids), ``cosine`` (of counts), ``jaccard`` (of sets), the
        nearest first.

    >>> texts = "A boat sank in Rome.", "The boat sank in Rome", "Snow fell."
    >>> table = duplicate_claims([Claim(str(i), text) for i, text in enumerate(texts)])
    >>> table.round(2).values.tolist()
    [['0', '1', 0.78, 0.64]]
    """
    if not 0 <= least <= 1:
        raise ParameterError(f"least must be from 0 to 1, found {least}.")
    columns = ["first", "second", "cosine", "jaccard"]
    if len(claims) < 2:
        return pd.DataFrame(columns=columns)
    vectorizer = CountVectorizer(ngram_range=words, token_pattern=r"(?u)\w+")  # noqa: S106
    counts = vectorizer.fit_transform([claim.text for claim in claims]).tocsr()
    sets = (counts > 0).astype(np.float64)
    unit = normalize(counts.astype(np.float64))
    sizes = np.asarray(sets.sum(axis=1)).ravel()
    rows = []
    for start in range(0, len(claims), _BLOCK):
        block = slice(start, start + _BLOCK)
        cosine = (unit[block] @ unit.T).toarray()
        shared = (sets[block] @ sets.T).toarray()
        jaccard = shared / np.maximum(sizes[block, None] + sizes[None, :] - shared, 1)
        places = np.arange(start, start + len(cosine))
        later = np.arange(len(claims))[None, :] > places[:, None]
        near = np.nonzero(later & ((cosine > least) | (jaccard > least)))
        for i, j in zip(*near, strict=True):
            pair = claims[start + i].id, claims[j].id
            rows.append((*pair, float(cosine[i, j]), float(jaccard[i, j])))
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(
        "cosine", ascending=False, kind="stable", ignore_index=True
    )
