"""Probes: what each one looks at. To add a probe, register a function here.

A probe of captions is a function of the distinct captions, registered with
``@text_probe(name)``. Any other is a generator of :class:`Probe`, registered with
``@probe(name)``, that yields nothing where a benchmark lacks what it looks at.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from verite.audit.features import (
    TOKEN,
    Features,
    at_equal_length,
    binned,
    categories,
    column_features,
    id_features,
    join,
    table,
    tfidf,
)
from verite.audit.images import ImageFile
from verite.audit.reading import Benchmark
from verite.characters import PROBLEMS, clean, find_problems
from verite.errors import ParameterError

__all__ = ["BROAD", "MOST_COLUMNS", "PROBES", "Probe", "list_probes"]

MOST_COLUMNS = 20
"""Further columns of a table that are looked at."""

BROAD = ("TF-IDF", "text embedding", "image embedding")
"""Probes that see all of a modality.

Where narrower ones fire, these fire only for what they add.
"""

_CHARACTERS_PER_WORD = 15  # more on average: white space does not separate words
_MARKS = ".,;:!?\"'()[]-–—…/&#@*%$“”‘’«»"
_MONTH = re.compile(
    r"\b(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?"
    r"|sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?)\b\.?",
    re.I,
)
_DATE = re.compile(r"\b\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b")
_YEAR = re.compile(r"\b(1[89]|20)\d\d\b")


class Probe(NamedTuple):
    """One probe of one benchmark, ready to be fitted."""

    name: str
    modality: str
    """``text``, ``image``, ``source`` or ``both``."""
    keys: np.ndarray
    """What each row holds: rows of a group with equal keys are one item."""
    rows: np.ndarray
    """Whether a row can be looked at."""
    build: Callable[[pd.Index], Features]
    """Features for the items at the given row positions."""


Files = Mapping[str, ImageFile]
_REGISTRY: dict[str, Callable[[Benchmark, Files], Iterable[Probe]]] = {}


def list_probes(
    benchmark: Benchmark, files: Files, names: Sequence[str]
) -> list[Probe]:
    """Probes of the named families for which a benchmark has data, in a fixed order.

    Raises
    ------
    ParameterError
        A probe is not known.
    """
    if unknown := [name for name in names if name not in _REGISTRY]:
        raise ParameterError(
            f"no probe is called {', '.join(map(repr, unknown))}. Known:"
            f" {', '.join(_REGISTRY)}."
        )
    families = [make for name, make in _REGISTRY.items() if name in names]
    return [found for make in families for found in make(benchmark, files)]


def probe(name: str) -> Callable[..., Callable[..., Iterable[Probe]]]:
    """Register a generator of probes."""

    def register(
        make: Callable[[Benchmark, Files], Iterable[Probe]],
    ) -> Callable[..., Iterable[Probe]]:
        _REGISTRY[name] = make
        return make

    return register


def text_probe(name: str) -> Callable[..., Callable[[Sequence[str]], Features]]:
    """Register a function of captions."""

    def register(
        make: Callable[[Sequence[str]], Features],
    ) -> Callable[[Sequence[str]], Features]:
        def probes(benchmark: Benchmark, files: Files) -> Iterator[Probe]:
            captions = benchmark.pairs["caption"].to_numpy(dtype=object)

            def build(at: pd.Index) -> Features:
                # Each distinct caption counts once, in however many groups it occurs.
                codes, distinct = pd.factorize(captions[at])
                features = make(list(distinct))
                return Features(features.matrix[codes], features.names)

            yield Probe(name, "text", captions, np.ones(len(captions), bool), build)

        _REGISTRY[name] = probes
        return make

    return register


@text_probe("length")
def length(captions: Sequence[str]) -> Features:
    """Words; characters where white space does not separate words."""
    words = [len(caption.split()) for caption in captions]
    characters = [len(caption) for caption in captions]
    if sum(characters) > _CHARACTERS_PER_WORD * sum(words):
        return binned(characters, "characters")
    return binned(words, "words")


@text_probe("punctuation and case")
def punctuation(captions: Sequence[str]) -> Features:
    """Marks, the last character and capitals, at equal length."""
    columns: dict[str, Sequence[float]] = {
        f"holds {mark}": [caption.count(mark) for caption in captions]
        for mark in _MARKS
    }
    for mark in (*".!?…", '"', "”"):
        ends = [caption.rstrip().endswith(mark) for caption in captions]
        columns[f"ends in {mark}"] = ends
    words = [caption.split() for caption in captions]
    columns |= {
        "begins in lower case": [caption[:1].islower() for caption in captions],
        "words in capitals": [
            sum(word.isupper() and len(word) > 1 for word in row) for row in words
        ],
        "words with a capital": [
            sum(word[:1].isupper() for word in row) for row in words
        ],
        "no capital at all": [caption.lower() == caption for caption in captions],
        "doubled marks": [
            len(re.findall(r"([!?.,])\1", caption)) for caption in captions
        ],
        "a link": ["http" in caption or "www." in caption for caption in captions],
    }
    return at_equal_length(table(columns), captions)


@text_probe("first words")
def first_words(captions: Sequence[str]) -> Features:
    """The first word and the first two, with look-alike letters replaced."""
    fixes = ("look-alike letter", "invisible character")
    cleaned = [clean(caption[:200], fixes).casefold() for caption in captions]
    words = [re.findall(TOKEN, caption)[:2] for caption in cleaned]
    first = categories([row[0] if row else "" for row in words])
    both = categories([" ".join(row) if len(row) > 1 else "" for row in words])
    return join(first, both)


@text_probe("characters")
def characters(captions: Sequence[str]) -> Features:
    """Odd characters (:mod:`verite.characters`), scripts and signs beyond ASCII."""
    problems = [find_problems(caption) for caption in captions]
    kinds = [_character_kinds(caption) for caption in captions]
    columns: dict[str, Sequence[float]] = {
        problem: [problem in row for row in problems] for problem in PROBLEMS
    }
    for kind in sorted(set().union(*kinds)):
        columns[f"{kind} characters"] = [kind in row for row in kinds]
    return table(columns)


@text_probe("digits and dates")
def digits(captions: Sequence[str]) -> Features:
    """Numbers, years, months and dates, at equal length."""
    numbers = [len(re.findall(r"\d+", caption)) for caption in captions]
    columns: dict[str, Sequence[float]] = {
        "numbers": numbers,
        "a number": [count > 0 for count in numbers],
        "a year": [bool(_YEAR.search(caption)) for caption in captions],
        "a month": [bool(_MONTH.search(caption)) for caption in captions],
        "a date in digits": [bool(_DATE.search(caption)) for caption in captions],
        "begins with a number": [caption[:1].isdigit() for caption in captions],
    }
    return at_equal_length(table(columns), captions)


text_probe("TF-IDF")(tfidf)


@probe("text embedding")
def text_embedding(benchmark: Benchmark, files: Files) -> Iterator[Probe]:
    """All that the vectors of captions hold."""
    if (vectors := benchmark.texts) is not None:
        captions = benchmark.pairs["caption"].to_numpy(dtype=object)
        ids = benchmark.pairs["text_id"]
        every = np.ones(len(captions), dtype=bool)
        yield Probe(
            "text embedding",
            "text",
            captions,
            every,
            lambda at: _unit_vectors(vectors.rows(ids.iloc[at])),
        )


@probe("image embedding")
def image_embedding(benchmark: Benchmark, files: Files) -> Iterator[Probe]:
    """All that the vectors of images hold."""
    if (vectors := benchmark.images) is not None:
        ids = benchmark.pairs["image_id"].to_numpy(dtype=object)
        yield Probe(
            "image embedding",
            "image",
            ids,
            ids != "",
            lambda at: _unit_vectors(vectors.rows(ids[at])),
        )


@probe("image files")
def image_files(benchmark: Benchmark, files: Files) -> Iterator[Probe]:
    """Format, colour mode, size and shape of the image files."""
    if files:
        ids = benchmark.pairs["image_id"].to_numpy(dtype=object)
        known = benchmark.pairs["image_id"].isin(list(files)).to_numpy()

        def build(at: pd.Index) -> Features:
            rows = [files[name] for name in ids[at]]
            return join(
                categories([f"{row.format} {row.mode}" for row in rows]),
                binned([row.width for row in rows], "width"),
                binned([row.height for row in rows], "height"),
                binned([row.bytes for row in rows], "bytes"),
                binned(
                    [round(row.width / row.height, 3) for row in rows],
                    "width over height",
                ),
            )

        yield Probe("image files", "source", ids, known, build)


@probe("ids")
def ids(benchmark: Benchmark, files: Files) -> Iterator[Probe]:
    """Words in ids and file names."""
    if benchmark.ids:
        yield _row_probe(
            benchmark,
            "ids",
            lambda at: id_features(
                {
                    name: benchmark.pairs[name].iloc[at].tolist()
                    for name in benchmark.ids
                }
            ),
        )


@probe("columns")
def columns(benchmark: Benchmark, files: Files) -> Iterator[Probe]:
    """One probe per further column of the table."""
    for name in benchmark.source.columns[:MOST_COLUMNS]:
        values = benchmark.source[name].to_numpy(dtype=object)
        yield _row_probe(
            benchmark,
            f"column {name}",
            lambda at, values=values: column_features(values[at]),  # type: ignore[misc]
        )


@probe("similarity")
def similarity(benchmark: Benchmark, files: Files) -> Iterator[Probe]:
    """Cosine of image and caption: a reference line that sees both, and never fires."""
    has_image = (benchmark.pairs["image_id"] != "").to_numpy()
    if benchmark.comparable and has_image.any():
        everything = _row_probe(
            benchmark,
            "similarity",
            lambda at: binned(benchmark.similarities(at), "cosine"),
        )
        yield everything._replace(modality="both", rows=has_image)


PROBES = tuple(_REGISTRY)
"""Names of families of probes; ``columns`` has one probe per further column."""


def _row_probe(
    benchmark: Benchmark, name: str, build: Callable[[pd.Index], Features]
) -> Probe:
    rows = len(benchmark.pairs)
    keys = np.arange(rows).astype(object)
    return Probe(name, "source", keys, np.ones(rows, dtype=bool), build)


def _unit_vectors(vectors: np.ndarray) -> Features:
    matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return Features(matrix, [f"dimension {at}" for at in range(vectors.shape[1])])


def _character_kinds(text: str) -> Counter[str]:
    """Characters beyond ASCII by script, or by kind where they have none."""
    kinds: Counter[str] = Counter()
    for character in set(text):
        if character.isascii():
            continue
        category = unicodedata.category(character)[0]
        if category == "L":
            name = unicodedata.name(character, "UNNAMED").split()[0].capitalize()
        else:
            name = {"S": "symbol", "P": "punctuation"}.get(category, "other")
        kinds[name] += 1
    return kinds
