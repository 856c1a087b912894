"""Knobs set the biases of a newsroom; presets set the knobs as in known benchmarks.

Every knob but the last three adds a bias that the paper found in a benchmark; all of
these at zero leave none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from verite.errors import ParameterError
from verite.pairs import BINARY_LABELS, LABELS, MISCAPTIONED, OUT_OF_CONTEXT, TRUE

__all__ = ["PRESETS", "Knobs", "Preset", "parse_knobs", "preset_named"]


def _rate(default: float = 0.0) -> float:
    found: float = field(
        default=default, metadata={"kind": float, "least": 0, "most": 1}
    )
    return found


def _number(default: int, least: int, most: int) -> int:
    found: int = field(
        default=default, metadata={"kind": int, "least": least, "most": most}
    )
    return found


@dataclass(frozen=True)
class Knobs:
    """Knobs, each with its range.

    Turning one changes nothing but what it stands for: the rest of the world stays.

    *False captions* below are those of the misleading pairs; where ``balanced`` is on,
    an out-of-context pair has the caption of a true one, so only miscaptioned pairs
    have false captions. Likewise *false images* are those of misleading pairs, and
    where ``balanced`` is on only out-of-context pairs have them.

    Attributes
    ----------
    giveaway_rate
        Share of false captions that open with a word that gives them away, such as
        "Allegedly" (paper, section 3.2).
    length_gap
        Words by which captions of true pairs are longer than false captions, as they
        are in the released VERITE; below zero, shorter. -12 to 12.
    template_leak
        Share of false captions that are written in one source's house style, which true
        captions then avoid to the same degree. At zero all styles are equally frequent
        on both sides.
    manipulation_rate
        Share of false images that were visibly tampered with (VMU-Twitter; paper,
        section 3.1).
    posts_per_image
        In how many pairs of one label an image stands; 1 to 50 (VMU-Twitter). The first
        is a report, all others pass it on: their captions name the topic and nothing
        else, and they carry the label of what they pass on.
    asymmetric_rate
        Share of events told by one modality only (paper, section 1). The image of a
        true or miscaptioned pair is then no more than associative: the right topic on
        any occasion. Where ``balanced`` is off, an out-of-context pair of such an event
        becomes a tampered image with a caption that reinforces what it shows.
    duplicate_rate
        Share of events that another desk reported too: captions of an earlier event
        word for word, beside other pictures of it, in a group of their own (COSMOS).
    label_noise
        Share of pairs whose label is the other one of two, as weak labels are
        (Fakeddit); for presets of two classes.
    balanced
        Modality balancing (paper, section 3.2): every true image stands in a true and
        in a miscaptioned pair, every true caption in a true and in an out-of-context
        pair. Off, each pair has an image and a caption of its own.
    ooc_hardness
        How alike an out-of-context image is to the event: 0 shows another event in
        everything, 1 differs in one visible attribute.
    entity_visibility
        Chance that an image shows who the mayor is, and which country's flag it is.
        Dates can never be seen.

    Raises
    ------
    ParameterError
        A value is of the wrong kind or out of its range.

    >>> Knobs(giveaway_rate=0.5).giveaway_rate
    0.5
    >>> Knobs(giveaway_rate=2)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    verite.errors.ParameterError: newsroom: expected giveaway_rate to be a number ...
    """

    giveaway_rate: float = _rate()
    length_gap: int = _number(0, -12, 12)
    template_leak: float = _rate()
    manipulation_rate: float = _rate()
    posts_per_image: int = _number(1, 1, 50)
    asymmetric_rate: float = _rate()
    duplicate_rate: float = _rate()
    label_noise: float = _rate()
    balanced: bool = field(default=True, metadata={"kind": bool})
    ooc_hardness: float = _rate(0.5)
    entity_visibility: float = _rate(1.0)

    def __post_init__(self) -> None:
        for knob in fields(self):
            value, rule = getattr(self, knob.name), knob.metadata
            if rule["kind"] is bool:
                if not isinstance(value, bool):
                    raise ParameterError(
                        f"newsroom: expected {knob.name} to be True or False, found"
                        f" {value!r}."
                    )
                continue
            wanted = int if rule["kind"] is int else (int, float)
            if (
                isinstance(value, bool)
                or not isinstance(value, wanted)
                or not rule["least"] <= value <= rule["most"]
            ):
                kind = "whole number" if rule["kind"] is int else "number"
                raise ParameterError(
                    f"newsroom: expected {knob.name} to be a {kind} from"
                    f" {rule['least']} to {rule['most']}, found {value!r}."
                )


@dataclass(frozen=True)
class Preset:
    """Which pairs a newsroom makes of an event, and where its knobs stand.

    Attributes
    ----------
    title
        What the world is like, for its card.
    kinds
        What each event gives: a true pair, and pairs of which false kinds. Where
        ``binary`` is true the two false kinds take turns by chance, so that there are
        as many true pairs as misleading ones.
    binary
        Whether labels are ``true`` and ``misinformation``.
    split
        ``""`` for none, ``"event"`` if events are dealt into train, validation and
        test, ``"post"`` if single pairs are: images then stand on both sides, and the
        column ``leaks`` says where.
    knobs
        Where the knobs stand if they are not named.
    """

    title: str
    kinds: tuple[str, ...]
    knobs: Knobs
    binary: bool = False
    split: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that occur."""
        if self.binary:
            return BINARY_LABELS
        return tuple(label for label in LABELS if label in self.kinds)


_BOTH = (TRUE, OUT_OF_CONTEXT, MISCAPTIONED)

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "verite": Preset("a balanced benchmark without bias", _BOTH, Knobs()),
        "plain": Preset(
            "true and misleading pairs in equal number, without bias",
            _BOTH,
            Knobs(),
            binary=True,
        ),
        "visualnews": Preset(
            "truthful news pairs with topics and entities, to make misleading ones"
            " from",
            (TRUE,),
            Knobs(),
            split="event",
        ),
        "fakeddit": Preset(
            "captions as people write them to mislead, weakly labelled",
            _BOTH,
            Knobs(
                giveaway_rate=0.4,
                length_gap=-2,
                manipulation_rate=0.2,
                label_noise=0.05,
                balanced=False,
            ),
            binary=True,
            split="event",
        ),
        "vmu-twitter": Preset(
            "few images, many of them tampered with, each in many posts",
            _BOTH,
            Knobs(
                giveaway_rate=0.2,
                manipulation_rate=0.6,
                posts_per_image=8,
                asymmetric_rate=0.5,
                balanced=False,
            ),
            binary=True,
            split="post",
        ),
        "cosmos": Preset(
            "misleading captions from one source, some of them twice, often beside mere"
            " illustrations",
            (TRUE, OUT_OF_CONTEXT),
            Knobs(
                giveaway_rate=0.3,
                template_leak=0.8,
                asymmetric_rate=0.3,
                duplicate_rate=0.15,
                balanced=False,
            ),
            binary=True,
        ),
    }
)
"""Presets, named after the benchmark whose kinds of bias they follow.

The size of a bias is not the measured one. ``plain`` follows none, and has two classes
of equal size.
"""


def preset_named(name: str, knobs: Mapping[str, Any]) -> Preset:
    """Return a preset, with some knobs turned.

    Raises
    ------
    ParameterError
        There is no such preset or knob, a value is out of range, or labels are noised
        where there are not two.

    >>> preset_named("cosmos", {"duplicate_rate": 0}).knobs.duplicate_rate
    0
    """
    if name not in PRESETS:
        raise ParameterError(
            f"newsroom: no preset is called {name!r}. There are: {', '.join(PRESETS)}."
        )
    known = [each.name for each in fields(Knobs)]
    unknown = [knob for knob in knobs if knob not in known]
    if unknown:
        raise ParameterError(
            f"newsroom has no knob {', '.join(map(repr, unknown))}. It has:"
            f" {', '.join(known)}."
        )
    preset = PRESETS[name]
    turned = replace(preset.knobs, **knobs)
    if turned.label_noise and not preset.binary:
        raise ParameterError(
            f"newsroom: label_noise needs a preset of two classes, and {name} has"
            f" {len(preset.labels)}. Set it to 0."
        )
    return replace(preset, knobs=turned)


def parse_knobs(given: Mapping[str, str]) -> dict[str, Any]:
    """Turn values as a command line gives them into what each knob takes.

    Ranges are left to :class:`Knobs`.

    Raises
    ------
    ParameterError
        There is no such knob, or a value does not parse.

    >>> parse_knobs({"giveaway_rate": "0.5", "balanced": "no"})
    {'giveaway_rate': 0.5, 'balanced': False}
    """
    kinds = {each.name: each.metadata["kind"] for each in fields(Knobs)}
    parsed: dict[str, Any] = {}
    for name, text in given.items():
        if name not in kinds:
            raise ParameterError(
                f"newsroom has no knob {name!r}. It has: {', '.join(kinds)}."
            )
        try:
            parse = _SWITCH.__getitem__ if kinds[name] is bool else kinds[name]
            parsed[name] = parse(text.strip().lower())
        except (KeyError, ValueError) as error:
            wanted = {bool: "yes or no", int: "a whole number", float: "a number"}[
                kinds[name]
            ]
            raise ParameterError(
                f"newsroom: expected {name} to be {wanted}, found {text!r}."
            ) from error
    return parsed


_SWITCH = {
    "true": True,
    "yes": True,
    "1": True,
    "false": False,
    "no": False,
    "0": False,
}
