"""Named entities of captions: where they are, which are the same, how to replace them.

Entities come from a column of the pair table or from any callable, so nobody needs
spaCy. Their types are the eighteen of OntoNotes.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import pandas as pd

from verite.errors import DataError, name_some

__all__ = [
    "ONTONOTES_TYPES",
    "Entity",
    "Source",
    "find",
    "plain",
    "read",
    "replace",
    "same_entity",
]

ONTONOTES_TYPES = (
    *("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART"),
    *("LAW", "LANGUAGE", "DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL"),
    "CARDINAL",
)
"""Types of entities; an entity is only ever swapped for one of its own type."""

Source = str | Callable[[str], Iterable[tuple[str, str]]]
"""A column with JSON lists of [name, type], or a function of the caption.

If a function has a method ``many``, from captions to their lists in order, that is
called once for all captions.
"""

_POSSESSIVE = re.compile(r"['’]s?$", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(^|[.!?]['\"”’)]*\s+)['\"“‘(]*$")
_MARK = "\u0300-\u036f"  # an accent that follows its letter belongs to the word
# A whole word: no part of another word, of a contraction (don't) or a name with an
# apostrophe (O'Neil), or of a number (5,000).
_BEFORE = rf"(?<![\w{_MARK}])(?<!\w['’])(?<!\d[.,:](?=\d))"
_AFTER = rf"(?![\w{_MARK}])(?!['’](?![sS]\b)\w)(?!(?<=\d)[.,:]\d)"


@dataclass(frozen=True)
class Entity:
    """An entity of a caption, with all places that mention it."""

    name: str
    """The fullest name that the caption's list has for it."""
    type: str
    """One of :data:`ONTONOTES_TYPES`."""
    names: tuple[str, ...] = ()
    """All names that the list has for it."""
    spans: tuple[tuple[int, int], ...] = ()
    """Begin and end of each mention, in order."""


def read(pairs: pd.DataFrame, source: Source = "entities") -> list[list[Entity]]:
    """Entities that each row's caption mentions, in the order of the rows.

    Raises
    ------
    DataError
        The column is missing, or a cell is no JSON list of [name, type] with a known
        type.
    """
    if callable(source):
        lists = getattr(source, "many", partial(map, source))(pairs["caption"])
    elif source in pairs.columns:
        lists = pairs[source]
    else:
        raise DataError(
            f"expected a column {source!r} with entities, found none. Name another"
            " column, or give a function of the caption."
        )
    rows = zip(pairs["caption"], lists, pairs["pair_id"], strict=True)
    return [find(caption, _listed(cell, key)) for caption, cell, key in rows]


def find(caption: str, listed: Iterable[tuple[str, str]]) -> list[Entity]:
    """Find the listed entities in a caption; those it does not mention are left out.

    Names that are the same but for spelling are one entity, and so is a person's
    shorter name where exactly one longer name contains it. A mention may be capitalised
    or in capitals where the list has small letters. Of names that overlap, the longer
    one counts.

    >>> names = [("Ada Lux", "PERSON"), ("Lux", "PERSON")]
    >>> [entity] = find("Ada Lux spoke; later Lux's dog spoke.", names)
    >>> entity.name, entity.spans
    ('Ada Lux', ((0, 7), (21, 24)))
    """
    cleaned = {
        (_POSSESSIVE.sub("", name.strip()).strip(), kind) for name, kind in listed
    }
    full: dict[tuple[str, str], list[str]] = {}
    owner: dict[str, tuple[str, str]] = {}
    # Longer names come first, so a person's full name is known before the short one.
    for name, kind in sorted(cleaned, key=lambda entry: (-len(entry[0]), entry)):
        if not plain(name):
            continue
        key = (plain(name), kind)
        if kind == "PERSON" and key not in full:
            longer = [
                other
                for other, other_kind in full
                if other_kind == kind and _words(name) < set(other.split())
            ]
            key = (longer[0], kind) if len(longer) == 1 else key
        full.setdefault(key, []).append(name)
        for form in (name, name[0].upper() + name[1:], name.upper()):
            owner.setdefault(form, key)
    spans: dict[tuple[str, str], list[tuple[int, int]]] = {}
    if owner:
        forms = sorted(owner, key=lambda form: (-len(form), form))
        pattern = f"{_BEFORE}(?:{'|'.join(map(re.escape, forms))}){_AFTER}"
        for match in re.finditer(pattern, caption):
            spans.setdefault(owner[match.group()], []).append(match.span())
    return [
        Entity(full[key][0], key[1], tuple(full[key]), tuple(places))
        for key, places in spans.items()
    ]


def replace(caption: str, swaps: Mapping[Entity, str]) -> str:
    """Replace every mention of some entities by other names, with fitting capitals.

    What follows a mention stays, possessives included.

    >>> caption = "POLAND: five boats reach Poland's coast. Five sink."
    >>> poland, five = find(caption, [("Poland", "GPE"), ("five", "CARDINAL")])
    >>> replace(caption, {poland: "Estonia", five: "three"})
    "ESTONIA: three boats reach Estonia's coast. Three sink."
    """
    places = [(span, e, new) for e, new in swaps.items() for span in e.spans]
    out, end = [], 0
    for (left, right), entity, new in sorted(places, key=lambda place: place[0]):
        out += [caption[end:left], _fit(new, caption, left, right, entity)]
        end = right
    return "".join([*out, caption[end:]])


def same_entity(one: str, other: str) -> bool:
    """Whether two names may mean the same.

    They are equal but for case, accents, punctuation, spaces and "the", or one contains
    the words of the other: "Obama" may be "Barack Obama", and "May 2014" includes "12
    May 2014", so neither misleads in place of the other.

    >>> same_entity("the U.S.", "US"), same_entity("José Lux", "jose lux's")
    (True, True)
    >>> same_entity("2014", "May 2014"), same_entity("Niger", "Nigeria")
    (True, False)
    """
    if plain(one).replace(" ", "") == plain(other).replace(" ", ""):
        return True
    a, b = _words(one), _words(other)
    return bool(a and b) and (a <= b or b <= a)


@lru_cache(maxsize=1 << 16)
def plain(text: str) -> str:
    """Words of a text without case, accents, punctuation, possessive or first "the".

    Empty if nothing is left.

    >>> plain("The  Côte-d’Or's")
    'cote dor'
    """
    loose = unicodedata.normalize("NFKD", _POSSESSIVE.sub("", text.strip()).casefold())
    gaps = "".join(" " if c in "-–—/" or c.isspace() else c for c in loose)
    words = "".join(c for c in gaps if c == " " or c.isalnum()).split()
    return " ".join(words[1:] if len(words) > 1 and words[0] == "the" else words)


def _words(name: str) -> frozenset[str]:
    return frozenset(plain(name).split())


def _fit(new: str, caption: str, left: int, right: int, entity: Entity) -> str:
    """Capitals for a new name, as the mention that it replaces has them."""
    mention = caption[left:right]
    as_listed = mention in entity.names
    if len(mention) > 1 and mention.isupper() and (not as_listed or caption.isupper()):
        return new.upper()
    first = not as_listed or _SENTENCE_START.search(caption[:left])
    if mention[0].isupper() and first:
        return new[0].upper() + new[1:]
    number = entity.type in ("CARDINAL", "ORDINAL")
    if mention[0].islower() and number and not new.isupper():
        return new[0].lower() + new[1:]  # the donor's sentence began with it
    return new


def _listed(cell: object, pair_id: str) -> Sequence[tuple[str, str]]:
    try:
        entries: Any = json.loads(cell) if isinstance(cell, str) else cell
        named = [(name, kind) for name, kind in entries]
        if not all(isinstance(text, str) for entry in named for text in entry):
            raise ValueError("names and types must be text")
    except (ValueError, TypeError) as error:
        raise DataError(
            f"pair_id {pair_id}: expected entities as a JSON list of [name, type],"
            f" found {str(cell)[:80]!r} ({error})."
        ) from error
    if unknown := sorted({kind for _, kind in named} - set(ONTONOTES_TYPES)):
        raise DataError(
            f"pair_id {pair_id}: unknown type of entity: {name_some(unknown)}. Known:"
            f" {', '.join(ONTONOTES_TYPES)}."
        )
    return named
