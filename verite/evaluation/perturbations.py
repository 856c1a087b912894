"""Pairs that are changed in what should not matter, or in what should, to see whether a
verdict holds.

The paper shows two such experiments by example. One image under its own and under other
captions: a verdict that never changes has not read them (section 5, Figure 5). Captions
that differ in next to nothing: a verdict that changes hangs on next to nothing (Figure
6). Here both are done to every pair of a table, so that they can be counted.

Changed pairs are rows like any other. They stand in a table of predictions beside the
pairs they were made from.
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

_NUMBERS = {
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
}
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
    """Take the full stop at the end away, or put one there.

    >>> full_stop("Three boats."), full_stop("Three boats")
    ('Three boats', 'Three boats.')
    """
    text = caption.rstrip()
    return text[:-1] if text.endswith(".") and not text.endswith("..") else f"{text}."


def lower_case(caption: str) -> str:
    """Write everything in lower case.

    >>> lower_case("Boats in Rome.")
    'boats in rome.'
    """
    return caption.lower()


def doubled_space(caption: str) -> str:
    """Double the first space.

    >>> doubled_space("Three boats near a bridge.")
    'Three  boats near a bridge.'
    """
    return caption.replace(" ", "  ", 1)


def typographic_quotes(caption: str) -> str:
    """Write straight quotation marks and apostrophes as typesetters do.

    >>> [f"{ord(letter):x}" for letter in typographic_quotes("The mayor's 'boat'") if not letter.isascii()]
    ['2019', '2018', '2019']
    """
    for straight, mark in _QUOTES.items():
        caption = re.sub(straight, mark, caption)
    return caption


def article_dropped(caption: str) -> str:
    """Leave the first article out, as headlines do.

    >>> article_dropped("Three boats near a bridge by the sea."), article_dropped("The boat.")
    ('Three boats near bridge by the sea.', 'Boat.')
    """
    return _capital(caption, _ARTICLE.sub("", caption, count=1))


def article_swapped(caption: str) -> str:
    """Make the first article definite, or indefinite.

    >>> article_swapped("The boat near a bridge."), article_swapped("Boats near an island.")
    ('A boat near a bridge.', 'Boats near the island.')
    """
    found = _ARTICLE.search(caption)
    if found is None:
        return caption
    vowel = caption[found.end() : found.end() + 1].lower() in set("aeiou")
    other = "the" if found.group(1).lower() != "the" else "an" if vowel else "a"
    return _capital(
        caption, f"{caption[: found.start()]}{other} {caption[found.end() :]}"
    )


def word_before(caption: str) -> str:
    """Put one word in front that says nothing.

    >>> word_before("Boats in Rome.")
    'Here: Boats in Rome.'
    """
    return f"Here: {caption}"


def clauses_swapped(caption: str) -> str:
    """Turn the two parts at the first comma round.

    >>> clauses_swapped("On a rainy night, three boats near a bridge.")
    'Three boats near a bridge, On a rainy night.'
    """
    text = caption.rstrip()
    stop = text[-1] if text.endswith((".", "!", "?")) else ""
    first, comma, second = text.removesuffix(stop).partition(", ")
    return (
        f"{second[:1].upper()}{second[1:]}, {first}{stop}"
        if comma and second.strip()
        else caption
    )


def number_rewritten(caption: str) -> str:
    """Write the first small number in digits, or in letters.

    >>> number_rewritten("Three boats on 12 May."), number_rewritten("In 2 boats.")
    ('3 boats on 12 May.', 'In two boats.')
    """
    return _capital(
        caption,
        _NUMBER.sub(lambda found: _REWRITTEN[found.group(1).lower()], caption, count=1),
    )


def letters_swapped(caption: str) -> str:
    """Make a slip of the pen.

    Two letters in the middle of the longest word change places.

    >>> letters_swapped("A rescue boat.")
    'A recsue boat.'
    """
    words = list(re.finditer(r"[^\W\d_]{4,}", caption))
    for found in sorted(words, key=lambda found: -len(found.group())):
        word = found.group()
        for at in sorted(
            range(1, len(word) - 2), key=lambda at: abs(2 * at + 2 - len(word))
        ):
            if word[at] != word[at + 1]:
                changed = f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"
                return f"{caption[: found.start()]}{changed}{caption[found.end() :]}"
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
"""Changes of a caption that leave its meaning alone, by name.

Each gives the caption back where it has nothing to change.
"""


def perturb(
    pairs: pd.DataFrame, names: tuple[str, ...] = tuple(PERTURBATIONS)
) -> pd.DataFrame:
    """Change the caption of every pair in every way that changes it.

    Returns
    -------
    pandas.DataFrame
        The columns of ``pairs``, one row for each pair and change that left a trace:
        ``pair_id`` and ``text_id`` end in the name of the change, ``original`` is the
        pair it was made from, ``change`` the name.

    Raises
    ------
    ParameterError
        There is no such change.

    >>> pairs = pd.DataFrame({"pair_id": ["p"], "text_id": ["t"], "caption": ["a boat."]})
    >>> perturb(pairs, ("lower case", "a doubled space"))[["text_id", "caption", "original"]].values.tolist()
    [['t:a doubled space', 'a  boat.', 'p']]
    """
    if unknown := [name for name in names if name not in PERTURBATIONS]:
        raise ParameterError(
            f"no perturbation is called {name_some(unknown)}. There are:"
            f" {', '.join(PERTURBATIONS)}."
        )
    made = []
    for name in names:
        rows = pairs.assign(caption=pairs["caption"].map(PERTURBATIONS[name]))
        made.append(
            _renamed(rows, pairs, name, "text_id")[rows["caption"] != pairs["caption"]]
        )
    return pd.concat(made, ignore_index=True)


def exchange(
    pairs: pd.DataFrame,
    what: Literal["text", "image"],
    *,
    rng: np.random.Generator,
    times: int = 1,
) -> pd.DataFrame:
    """Give every pair the captions, or the images, of other pairs, drawn at random
    among those of other images.

    Returns
    -------
    pandas.DataFrame
        The columns of ``pairs``, ``times`` rows for each pair, their donors all
        different. ``label`` is the original's, as a name of the row and not as a truth.
        ``original`` and ``change`` as in :func:`perturb`.

    Raises
    ------
    DataError
        Some pair has fewer than ``times`` pairs of other images to take from.

    >>> pairs = pd.DataFrame({"pair_id": ["a", "b"], "image_id": ["boat", "dog"], "image_path": ["", ""],
    ...                       "text_id": ["ta", "tb"], "caption": ["A boat.", "A dog."]})
    >>> exchange(pairs, "text", rng=np.random.default_rng(0))[["pair_id", "image_id", "caption"]].values.tolist()
    [['a:another text 1', 'boat', 'A dog.'], ['b:another text 1', 'dog', 'A boat.']]
    """
    if what not in ("text", "image"):
        raise ParameterError(f"unknown modality: {what!r}. Known: text, image.")
    image = pd.factorize(pairs["image_id"])[0]
    order = np.argsort(image, kind="stable")
    sizes = np.bincount(image)
    if len(pairs) - sizes.max() < times:
        raise DataError(
            f"expected {times} or more pairs of other images for each pair, found"
            f" {len(pairs) - sizes.max():,} for the pairs of"
            f" {pairs['image_id'].iloc[order[image[order] == sizes.argmax()][0]]!r}."
            " Use more images."
        )
    ends = np.cumsum(sizes)
    # Sorted by image, the pairs of other images are all that follow the image's own,
    # going round at the end.
    steps = np.stack(
        [rng.choice(len(pairs) - sizes[each], times, replace=False) for each in image]
    )
    donors = order[(ends[image][:, None] + steps) % len(pairs)]
    columns = ["text_id", "caption"] if what == "text" else ["image_id", "image_path"]
    made = []
    for at in range(times):
        rows = pairs.assign(
            **{name: pairs[name].to_numpy()[donors[:, at]] for name in columns}
        )
        made.append(
            _renamed(rows, pairs, f"another {what} {at + 1}").assign(
                change=f"another {what}"
            )
        )
    return pd.concat(made, ignore_index=True)


def with_flips(changed: pd.DataFrame, predictions: pd.Series) -> pd.DataFrame:
    r"""Say of each changed pair whether its verdict is another than its original's.

    The mean of ``flipped`` over :math:`n` originals with :math:`k` changes each is the
    flip rate

    .. math:: \frac{1}{nk} \sum_{i=1}^{n} \sum_{j=1}^{k} \left[ \hat y(I_i, C_{ij}) \ne \hat y(I_i, C_i) \right]

    It knows nothing of right and wrong: a detector that always says the same has a flip
    rate of zero.

    Parameters
    ----------
    changed
        Rows that :func:`perturb` or :func:`exchange` made.
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
    >>> verdicts = pd.Series({"a": "true", "b": "true", "a:1": "misinformation", "b:1": "true"})
    >>> with_flips(changed, verdicts)["flipped"].tolist()
    [1.0, 0.0]
    """
    twice = predictions.index[predictions.index.duplicated()]
    if len(twice):
        raise DataError(
            "one verdict a pair expected, several found for"
            f" {name_some(twice.unique())}. Look at one detector at a time."
        )
    sides = []
    for column in ("pair_id", "original"):
        missing = changed.loc[~changed[column].isin(predictions.index), column]
        if len(missing):
            raise DataError(
                f"{len(missing):,} pairs have no verdict:"
                f" {name_some(missing.unique())}. Predict originals and changed pairs"
                " alike."
            )
        sides.append(predictions.loc[changed[column]].to_numpy())
    return changed.assign(flipped=(sides[0] != sides[1]).astype(float))


def near_duplicates(captions: pd.Series, least: float = 0.8) -> pd.DataFrame:
    """Find captions that are nearly one another.

    Cosine of their TF-IDF vectors (single words, lower case) at ``least``.

    Captions that are the same but for case, white space and punctuation are no near
    duplicates: they are duplicates.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second``, labels of the index of ``captions``, and ``cosine``,
        the nearest first.

    >>> near_duplicates(pd.Series(["Boats near a bridge.", "boats near a bridge", "Boats near this bridge.", "A dog."]), 0.6)
       first  second    cosine
    0      0       2  0.741621
    1      1       2  0.741621
    """
    plain = (
        captions.str.casefold()
        .str.replace(r"\W+", " ", regex=True)
        .str.strip()
        .to_numpy()
    )
    vectors = TfidfVectorizer().fit_transform(captions)
    cosine = np.triu(linear_kernel(vectors), k=1)
    first, second = np.nonzero(cosine >= least)
    different = plain[first] != plain[second]
    found = pd.DataFrame(
        {
            "first": captions.index[first],
            "second": captions.index[second],
            "cosine": cosine[first, second],
        }
    )
    return pd.DataFrame(
        found[different].sort_values(
            "cosine", ascending=False, kind="stable", ignore_index=True
        )
    )


def _renamed(
    rows: pd.DataFrame, pairs: pd.DataFrame, name: str, *ids: str
) -> pd.DataFrame:
    new = {
        column: [f"{value}:{name}" for value in pairs[column]]
        for column in ("pair_id", *ids)
    }
    return rows.assign(**new, original=pairs["pair_id"], change=name)


def _capital(before: str, after: str) -> str:
    """Begin with a capital if it did so before."""
    return after[:1].upper() + after[1:] if before[:1].isupper() else after
