"""Named entities of captions.

Where they stand, which are the same, and how one takes another's place.

Entities come from a column of the pair table or from any callable, so that spaCy is
needed by nobody here. Their types are the eighteen of OntoNotes.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

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
    "PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE",
    "DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL",
)  # fmt: skip
"""Types of entities; an entity is only ever swapped for one of its own type."""

Source = str | Callable[[str], Iterable[tuple[str, str]]]
"""Where entities come from.

A column with JSON lists of [name, type], or a function of the caption that returns such
pairs.

A function that also has a method ``many``, from captions to their lists in order, is
asked for all captions at once.
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
    """An entity of a caption, with all places that mention it.

    Attributes
    ----------
    name
        The fullest name the caption's list has for it.
    type
        One of :data:`ONTONOTES_TYPES`.
    names
        All names the list has for it.
    spans
        Begin and end of each mention, in order.
    """

    name: str
    type: str
    names: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()


def read(pairs: pd.DataFrame, source: Source = "entities") -> list[list[Entity]]:
    """Entities that each row's caption mentions, in the order of the rows.

    Raises
    ------
    DataError
        The column is missing, or a cell is no JSON list of [name, type] with a known
        type.
    """
    if isinstance(source, str) and source not in pairs.columns:
        raise DataError(
            f"expected a column {source!r} with entities, found none. Name another"
            " column, or give a function of the caption."
        )
    given = (
        pairs[source]
        if isinstance(source, str)
        else getattr(source, "many", partial(map, source))(pairs["caption"])
    )
    return [
        find(caption, _listed(cell, pair_id))
        for caption, cell, pair_id in zip(
            pairs["caption"], given, pairs["pair_id"], strict=True
        )
    ]


def find(caption: str, listed: Iterable[tuple[str, str]]) -> list[Entity]:
    """Find the listed entities in a caption; those it does not mention are left out.

    Names that are the same but for spelling are one entity, and so is a person's
    shorter name where one longer name holds it. A mention may be capitalised or in
    capitals where the list has small letters. Where names overlap, the longer one
    stands.

    >>> [found] = find("Ada Lux spoke; later Lux's dog spoke.", [("Ada Lux", "PERSON"), ("Lux", "PERSON")])
    >>> found.name, found.spans
    ('Ada Lux', ((0, 7), (21, 24)))
    """
    cleaned = dict.fromkeys(
        (_POSSESSIVE.sub("", name.strip()).strip(), kind) for name, kind in listed
    )
    kept = sorted(
        (entry for entry in cleaned if plain(entry[0])),
        key=lambda entry: (-len(entry[0]), entry),
    )
    full: dict[tuple[str, str], list[str]] = {}
    owner: dict[str, tuple[str, str]] = {}
    for (
        name,
        kind,
    ) in (
        kept
    ):  # longer names come first, so a person's full name is known before the short one
        key = (plain(name), kind)
        longer = [
            other
            for other, other_kind in full
            if other_kind == kind and _words(name) < set(other.split())
        ]
        if kind == "PERSON" and key not in full and len(longer) == 1:
            key = (longer[0], kind)
        full.setdefault(key, []).append(name)
        for form in (name, name[0].upper() + name[1:], name.upper()):
            owner.setdefault(form, key)
    spans: dict[tuple[str, str], list[tuple[int, int]]] = {}
    if owner:
        forms = "|".join(
            re.escape(form)
            for form in sorted(owner, key=lambda form: (-len(form), form))
        )
        for match in re.finditer(f"{_BEFORE}(?:{forms}){_AFTER}", caption):
            spans.setdefault(owner[match.group()], []).append(match.span())
    return [
        Entity(full[key][0], key[1], tuple(full[key]), tuple(places))
        for key, places in spans.items()
    ]


def replace(caption: str, swaps: Mapping[Entity, str]) -> str:
    """Put another name at every mention of some entities, with the capitals that the
    place asks for.

    What follows a mention stays, so possessives do.

    >>> caption = "POLAND: five boats reach Poland's coast. Five sink."
    >>> poland, five = find(caption, [("Poland", "GPE"), ("five", "CARDINAL")])
    >>> replace(caption, {poland: "Estonia", five: "three"})
    "ESTONIA: three boats reach Estonia's coast. Three sink."
    """
    places = (
        sorted(
            (span, entity, new)
            for entity, new in swaps.items()
            for span in entity.spans
        )
        if swaps
        else []
    )
    out, end = [], 0
    for (left, right), entity, new in places:
        out += [caption[end:left], _fitted(new, caption, left, right, entity)]
        end = right
    return "".join([*out, caption[end:]])


def same_entity(one: str, other: str) -> bool:
    """Whether two names may mean the same.

    Equal but for case, accents, punctuation, spaces and "the", or one within the other.

    "Obama" may be "Barack Obama", and "May 2014" includes "12 May 2014", so neither is
    misleading in place of the other.

    >>> same_entity("the U.S.", "US"), same_entity("José Lux", "jose lux's"), same_entity("2014", "May 2014")
    (True, True, True)
    >>> same_entity("Niger", "Nigeria")
    False
    """
    a, b = _words(one), _words(other)
    return plain(one).replace(" ", "") == plain(other).replace(" ", "") or (
        bool(a and b) and (a <= b or b <= a)
    )


@lru_cache(maxsize=1 << 16)
def plain(text: str) -> str:
    """Words of a text without case, accents, punctuation, a possessive at the end and a
    first "the"; empty if nothing is left.

    >>> plain("The  Côte-d’Or's")
    'cote dor'
    """
    loose = unicodedata.normalize("NFKD", _POSSESSIVE.sub("", text.strip()).casefold())
    bare = "".join(
        " " if one in "-–—/" or one.isspace() else one
        for one in loose
        if one in "-–—/" or one.isspace() or one.isalnum()
    )
    words = bare.split()
    return " ".join(words[1:] if len(words) > 1 and words[0] == "the" else words)


def _words(name: str) -> frozenset[str]:
    return frozenset(plain(name).split())


def _fitted(new: str, caption: str, left: int, right: int, entity: Entity) -> str:
    mention = caption[left:right]
    as_listed = mention in entity.names
    if len(mention) > 1 and mention.isupper() and (not as_listed or caption.isupper()):
        return new.upper()
    if mention[0].isupper() and (
        not as_listed or _SENTENCE_START.search(caption[:left])
    ):
        return new[0].upper() + new[1:]
    if (
        mention[0].islower()
        and entity.type in ("CARDINAL", "ORDINAL")
        and not new.isupper()
    ):
        return new[0].lower() + new[1:]  # the donor's sentence began with it
    return new


def _listed(cell: object, pair_id: str) -> Sequence[tuple[str, str]]:
    try:
        entries = json.loads(cell) if isinstance(cell, str) else list(cell)  # type: ignore[call-overload]
        named = [(name, kind) for name, kind in entries]
        if not all(
            isinstance(name, str) and isinstance(kind, str) for name, kind in named
        ):
            raise ValueError("names and types must be text")
    except (ValueError, TypeError) as error:
        raise DataError(
            f"pair_id {pair_id}: expected entities as a JSON list of [name, type],"
            f" found {str(cell)[:80]!r} ({error})."
        ) from error
    unknown = sorted({kind for _, kind in named} - set(ONTONOTES_TYPES))
    if unknown:
        raise DataError(
            f"pair_id {pair_id}: unknown type of entity: {name_some(unknown)}. Known:"
            f" {', '.join(ONTONOTES_TYPES)}."
        )
    return named
