"""AVerImaTeC: image-text claims with evidence; :mod:`averimatec` reads its files."""

from verite.dataset import Card, DataFile

__all__ = ["CARD"]

CARD = Card(
    name="averimatec",
    title="AVerImaTeC: image-text claims with evidence from the web",
    source="https://arxiv.org/abs/2505.17978",
    licence="as the authors state with the files",
    citation="cao2025averimatec",
    not_public="All files. Ask the authors of the paper for them.",
    files=(
        DataFile("averimatec/train.json"),
        DataFile("averimatec/val.json"),
        DataFile("averimatec/test.json"),
    ),
)
