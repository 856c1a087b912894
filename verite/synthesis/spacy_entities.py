"""Named entities as a model of spaCy finds them, for captions that come without a list
of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from verite.errors import VeriteError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

__all__ = ["SpacyEntities", "spacy_entities"]

_UNUSED = ("tagger", "parser", "senter", "attribute_ruler", "lemmatizer")
_BATCH = 256


class SpacyEntities:
    """A source of entities for :func:`verite.synthesis.entities.read`.

    Made by :func:`spacy_entities`.

    :meth:`many` reads captions about three times as fast as one call for each.
    """

    def __init__(self, pipeline: Language) -> None:
        self._pipeline = pipeline

    def __call__(self, caption: str) -> list[tuple[str, str]]:
        """Give the entities of one caption."""
        return _listed(self._pipeline(caption))

    def many(self, captions: Iterable[str]) -> Iterator[list[tuple[str, str]]]:
        """Give the entities of each caption, in order."""
        return map(_listed, self._pipeline.pipe(captions, batch_size=_BATCH))


def spacy_entities(model: str = "en_core_web_sm") -> SpacyEntities:
    """Load a model of spaCy as a source of entities.

    ``r_nest(pairs, rng=rng, entities=spacy_entities())``.

    Parameters
    ----------
    model
        Name of an installed model, or the folder of one. Its types must be those of
        OntoNotes, as the English models' are.

    Raises
    ------
    VeriteError
        spaCy is not installed, or has no such model; the message says what to install.
    """
    try:
        import spacy
    except ImportError as error:
        raise VeriteError(
            "entities: spaCy is not installed. Install it with: pip install"
            " 'verite[spacy]'"
        ) from error
    try:
        return SpacyEntities(spacy.load(model, exclude=_UNUSED))
    except (OSError, ValueError) as error:
        raise VeriteError(
            f"entities: spaCy cannot load a model {str(model)!r}: {error} Install one"
            " with: python -m spacy download en_core_web_sm, or give the folder of"
            " one."
        ) from error


def _listed(doc: Doc) -> list[tuple[str, str]]:
    return [(entity.text, entity.label_) for entity in doc.ents]
