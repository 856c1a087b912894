"""Pairs changed in what should not matter, or in what should, and verdicts on them.

The paper shows two such experiments by example. One image under its own and under other
captions: a verdict that never changes has not read them (section 5, Figure 5). Captions
that differ in next to nothing: a verdict that changes depends on next to nothing
(Figure 6). Here both are done to every pair of a table, so that they can be counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import linear_kernel

from verite.errors import DataError, ParameterError, name_some

__all__ = ["PERTURBATIONS", "exchange", "near_duplicates", "perturb", "with_flips"]

_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_NUMBERS = {word: str(number) for number, word in enumerate(_WORDS, start=2)}
_REWRITTEN = {**_NUMBERS, **{digits: word for word, digits in _NUMBERS.items()}}
_NUMBER = re.compile(
    rf"(?<![\w.,/:-])({'|'.join(_REWRITTEN)})(?![\w/:-]|[.,]\d)", re.IGNORECASE
)
_ARTICLE = re.compile(r"\b(the|an?) (?=\w)", re.IGNORECASE)
_PLACE = re.compile(
    r"(?<=\w)(?= (?:in|on|at|near|with|by|from|during|after|before|for|as|while)\b)"
)
_QUOTES = {
    r"(?<![\w.,;:!?)])'(?=\w)": "\N{LEFT SINGLE QUOTATION MARK}",
    "'": "\N{RIGHT SINGLE QUOTATION MARK}",
    r'(?<![\w.,;:!?)])"(?=\w)': "\N{LEFT DOUBLE QUOTATION MARK}",
    '"': "\N{RIGHT DOUBLE QUOTATION MARK}",
}


def comma_more(caption: str) -> str:
    """Put a comma before the first place, time or manner that has none.

    >>> comma_more("Three boats near a bridge.")
    'Three boats, near a bridge.'
    """
    return _PLACE.sub(",", caption, count=1)


def full_stop(caption: str) -> str:
    """Remove the full stop at the end, or add one.

    >>> full_stop("Three boats."), full_stop("Three boats")
    ('Three boats', 'Three boats.')
    """
    text = caption.rstrip()
    return text[:-1] if text.endswith(".") and not text.endswith("..") else f"{text}."


def lower_case(caption: str) -> str:
    """Write everything in lower case."""
    return caption.lower()


def doubled_space(caption: str) -> str:
    """Double the first space."""
    return caption.replace(" ", "  ", 1)


def typographic_quotes(caption: str) -> str:
    """Write straight quotation marks and apostrophes as typesetters do.

    >>> typographic_quotes("Ann's") == "Ann\N{RIGHT SINGLE QUOTATION MARK}s"
    True
    """
    for straight, mark in _QUOTES.items():
        caption = re.sub(straight, mark, caption)
    return caption


def article_dropped(caption: str) -> str:
    """Leave the first article out, as headlines do.

    >>> article_dropped("The boat near a bridge.")
    'Boat near a bridge.'
    """
    return _capital(caption, _ARTICLE.sub("", caption, count=1))


def article_swapped(caption: str) -> str:
    """Make the first article definite, or indefinite.

    >>> article_swapped("The boat near a bridge."), article_swapped("By an island.")
    ('A boat near a bridge.', 'By the island.')
    """

    def swap(article: re.Match[str]) -> str:
        if article.group(1).lower() != "the":
            return "the "
        vowel = caption[article.end()].lower() in "aeiou"
        return "an " if vowel else "a "

    return _capital(caption, _ARTICLE.sub(swap, caption, count=1))


def word_before(caption: str) -> str:
    """Put one word in front that says nothing."""
    return f"Here: {caption}"


def clauses_swapped(caption: str) -> str:
    """Exchange the two parts around the first comma.

    >>> clauses_swapped("On a rainy night, three boats near a bridge.")
    'Three boats near a bridge, On a rainy night.'
    """
    text = caption.rstrip()
    stop = text[-1] if text.endswith((".", "!", "?")) else ""
    first, comma, second = text.removesuffix(stop).partition(", ")
    if not (comma and second.strip()):
        return caption
    return f"{second[:1].upper()}{second[1:]}, {first}{stop}"


def number_rewritten(caption: str) -> str:
    """Write the first small number in digits, or in letters.

    >>> number_rewritten("Three boats on 12 May."), number_rewritten("In 2 boats.")
    ('3 boats on 12 May.', 'In two boats.')
    """
    changed = _NUMBER.sub(lambda at: _REWRITTEN[at.group(1).lower()], caption, count=1)
    return _capital(caption, changed)


def letters_swapped(caption: str) -> str:
    """Exchange two letters in the middle of the longest word.

    >>> letters_swapped("A rescue boat.")
    'A recsue boat.'
    """
    words = re.finditer(r"[^\W\d_]{4,}", caption)
    for match in sorted(words, key=lambda match: -len(match.group())):
        word = match.group()
        places = range(1, len(word) - 2)
        for at in sorted(places, key=lambda at: abs(2 * at + 2 - len(word))):
            if word[at] != word[at + 1]:
                changed = f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"
                return f"{caption[: match.start()]}{changed}{caption[match.end() :]}"
    return caption


PERTURBATIONS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "lower case": lower_case,
        "a doubled space": doubled_space,
        "full stop at the end": full_stop,
        "a comma more": comma_more,
        "typographic quotes": typographic_quotes,
        "clauses swapped": clauses_swapped,
        "another article": article_swapped,
        "an article less": article_dropped,
        "a word in front": word_before,
        "a number rewritten": number_rewritten,
        "two letters swapped": letters_swapped,
    }
)
"""Changes that leave a caption's meaning alone, or the caption where none applies."""


def perturb(
    pairs: pd.DataFrame, names: tuple[str, ...] = tuple(PERTURBATIONS)
) -> pd.DataFrame:
    """Change the caption of every pair in every way that changes it.

    Returns
    -------
    pandas.DataFrame
        The columns of ``pairs``, one row per pair and change that has an effect:
        ``pair_id`` and ``text_id`` end in the name of the change, ``original`` is the
        pair it was made from, ``change`` the name.

    >>> pairs = pd.DataFrame({"pair_id": ["p"], "text_id": ["t"], "caption": ["boat."]})
    >>> changed = perturb(pairs, ("lower case", "full stop at the end"))
    >>> changed[["text_id", "caption", "original"]].to_numpy().tolist()
    [['t:full stop at the end', 'boat', 'p']]
    """
    if unknown := [name for name in names if name not in PERTURBATIONS]:
        raise ParameterError(
            f"unknown perturbation {name_some(unknown)}. Known:"
            f" {', '.join(PERTURBATIONS)}."
        )
    parts = []
    for name in names:
        rows = pairs.assign(caption=pairs["caption"].map(PERTURBATIONS[name]))
        rows = rows.assign(text_id=[f"{text}:{name}" for text in pairs["text_id"]])
        changed = rows["caption"] != pairs["caption"]
        parts.append(_renamed(rows, name, name)[changed])
    return pd.concat(parts, ignore_index=True)


def exchange(
    pairs: pd.DataFrame,
    what: Literal["text", "image"],
    *,
    rng: np.random.Generator,
    times: int = 1,
) -> pd.DataFrame:
    """Give every pair the captions, or the images, of other pairs drawn at random.

    Returns
    -------
    pandas.DataFrame
        The columns of ``pairs``, ``times`` rows per pair, from different donors of
        other images. ``label`` is the original's, as a name of the row and not as a
        truth. ``original`` and ``change`` as in :func:`perturb`.

    Raises
    ------
    DataError
        Some pair has fewer than ``times`` pairs of other images to take from.

    >>> rows = [["a", "boat", "", "ta", "A boat."], ["b", "dog", "", "tb", "A dog."]]
    >>> columns = ["pair_id", "image_id", "image_path", "text_id", "caption"]
    >>> pairs = pd.DataFrame(rows, columns=columns)
    >>> changed = exchange(pairs, "text", rng=np.random.default_rng(0))
    >>> changed[["pair_id", "image_id", "caption"]].to_numpy().tolist()
    [['a:another text 1', 'boat', 'A dog.'], ['b:another text 1', 'dog', 'A boat.']]
    """
    if what not in ("text", "image"):
        raise ParameterError(f"unknown modality {what!r}. Known: text, image.")
    image = pd.factorize(pairs["image_id"])[0]
    order = np.argsort(image, kind="stable")
    sizes = np.bincount(image)
    if (others := len(pairs) - sizes.max()) < times:
        most = pairs["image_id"].iloc[np.argmax(image == sizes.argmax())]
        raise DataError(
            f"expected {times} or more pairs of other images for each pair, found"
            f" {others:,} for the pairs of {most!r}. Use more images."
        )
    ends = np.cumsum(sizes)
    # Sorted by image, the pairs of other images are all that follow the image's own, in
    # a circle.
    steps = np.stack(
        [rng.choice(len(pairs) - sizes[at], times, replace=False) for at in image]
    )
    donors = order[(ends[image][:, None] + steps) % len(pairs)]
    columns = ["text_id", "caption"] if what == "text" else ["image_id", "image_path"]
    parts = []
    for at in range(times):
        donor = pairs.iloc[donors[:, at]]
        rows = pairs.assign(**{name: donor[name].to_numpy() for name in columns})
        parts.append(_renamed(rows, f"another {what} {at + 1}", f"another {what}"))
    return pd.concat(parts, ignore_index=True)


def with_flips(changed: pd.DataFrame, predictions: pd.Series) -> pd.DataFrame:
    r"""Mark the changed pairs whose verdict differs from their original's.

    The mean of ``flipped`` over :math:`n` originals with :math:`k` changes each is the
    flip rate, 0 to 1:

    .. math:: \frac{1}{nk} \sum_{i=1}^{n} \sum_{j=1}^{k}
              \left[ \hat y(I_i, C_{ij}) \ne \hat y(I_i, C_i) \right]

    It says nothing about right and wrong: a constant detector has a flip rate of zero.

    Parameters
    ----------
    changed
        Rows from :func:`perturb` or :func:`exchange`.
    predictions
        Verdicts by ``pair_id``, of the changed pairs and of their originals.

    Returns
    -------
    pandas.DataFrame
        ``changed`` with ``flipped``, 0 or 1.

    Raises
    ------
    DataError
        A verdict is missing, or a pair has two.

    >>> changed = pd.DataFrame({"pair_id": ["a:1", "b:1"], "original": ["a", "b"]})
    >>> verdicts = pd.Series({"a": "true", "b": "true", "a:1": "false", "b:1": "true"})
    >>> with_flips(changed, verdicts)["flipped"].tolist()
    [1.0, 0.0]
    """
    repeated = predictions.index[predictions.index.duplicated()]
    if len(repeated):
        raise DataError(
            f"duplicate verdicts for {name_some(repeated.unique())}. Compare one"
            " detector at a time."
        )
    missing = {*changed["pair_id"], *changed["original"]} - set(predictions.index)
    if missing:
        raise DataError(
            f"no verdict for {name_some(sorted(missing))}. Predict changed pairs and"
            " their originals."
        )
    new, old = (
        predictions.loc[changed[name]].to_numpy() for name in ("pair_id", "original")
    )
    return changed.assign(flipped=(new != old).astype(float))


def near_duplicates(captions: pd.Series, least: float = 0.8) -> pd.DataFrame:
    """Find captions whose TF-IDF vectors have a cosine of ``least`` or more.

    Words are single and in lower case. Captions that differ only in case, white space
    and punctuation are duplicates, not near duplicates, and left out. All captions are
    compared: see :func:`verite.similar.near_captions` for a hundred thousand.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second``, labels of the index of ``captions``, and ``cosine``,
        the nearest first.

    >>> captions = pd.Series(["Boats near a bridge.", "Boats near this bridge."])
    >>> near_duplicates(captions, 0.6)
       first  second    cosine
    0      0       1  0.776515
    """
    plain: pd.Series = captions.str.casefold().str.replace(r"\W+", " ", regex=True)
    stripped = plain.str.strip().to_numpy()
    vectors = TfidfVectorizer().fit_transform(captions)
    cosine = np.triu(linear_kernel(vectors), k=1)
    first, second = np.nonzero(cosine >= least)
    table = pd.DataFrame(
        {
            "first": captions.index[first],
            "second": captions.index[second],
            "cosine": cosine[first, second],
        }
    )
    table = pd.DataFrame(table[stripped[first] != stripped[second]])
    return table.sort_values(
        "cosine", ascending=False, kind="stable", ignore_index=True
    )


def _renamed(rows: pd.DataFrame, suffix: str, change: str) -> pd.DataFrame:
    original = rows["pair_id"]
    renamed = [f"{pair}:{suffix}" for pair in original]
    return rows.assign(pair_id=renamed, original=original, change=change)


def _capital(before: str, after: str) -> str:
    """Begin with a capital if it did so before."""
    return after[:1].upper() + after[1:] if before[:1].isupper() else after
