"""One newsroom for all of its tests, and a reader of captions that knows nothing of how
they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from verite.dataset import Dataset
from verite.newsroom import make

TOPICS = {
    "protest": "protest placard",
    "flood": "rescue boat",
    "fire": "fire engine",
    "match": "leather football",
    "festival": "party balloon",
    "market": "market stall",
}
SETTINGS = {
    "large city": "city",
    "harbour town": "harbour",
    "mountain village": "mountain",
    "farming valley": "valley",
}
COUNTRIES = "France|Germany|Italy|Japan|Sweden|Poland|Switzerland|Estonia"
SEASONS = {
    "winter": "December January February",
    "spring": "March April May",
    "summer": "June July August",
    "autumn": "September October November",
}


@pytest.fixture(scope="session")
def newsroom() -> Dataset:
    return make(events=400, seed=0, encoder=None)


@pytest.fixture(scope="session")
def read_caption() -> Callable[[str], dict[str, object]]:
    return _read


def _read(caption: str) -> dict[str, object]:
    """Visible attributes as a caption tells them.

    Fails if it tells one twice or not at all.
    """

    def find(pattern: str) -> str:
        [found] = re.findall(rf"\b(?:{pattern})\b", caption, flags=re.IGNORECASE)
        return str(found)

    topic = find(r"an? (protest|flood|fire|match|festival|market)(?! stall)").lower()
    count = {"one": 1, "three": 3, "five": 5}[
        find(rf"(one|three|five) {TOPICS[topic]}s?").lower()
    ]
    month = find("(" + "|".join(" ".join(SEASONS.values()).split()) + ")")
    return {
        "topic": topic,
        "count": count,
        "people": find("police|nurses|soldiers|children|builders"),
        "person": find("Mayor (Amber|Indigo|Ivory|Olive|Ruby|Violet)").title(),
        "crowd": {"a few": "few", "dozens of": "dozens"}[
            find("a few|dozens of").lower()
        ],
        "setting": SETTINGS[find("|".join(SETTINGS))],
        "country": find(COUNTRIES),
        "weather": find("clear|rainy|snowy|foggy"),
        "time": find("morning|evening|night"),
        "season": next(
            season for season, months in SEASONS.items() if month in months.split()
        ),
    }
