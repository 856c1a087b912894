"""AVeriTeC: claims with questions and answers; :mod:`averimatec` reads its file."""

from verite.dataset import Card, DataFile

__all__ = ["CARD"]

CARD = Card(
    name="averitec",
    title="AVeriTeC: real-world claims with evidence from the web",
    source="https://arxiv.org/abs/2305.13117",
    licence="CC BY-NC 4.0",
    citation="schlichtkrull2023averitec",
    not_public="Nothing is hidden: take dev.json from the authors' repository.",
    files=(DataFile("averitec/dev.json"),),
)
