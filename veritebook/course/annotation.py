"""An exercise in annotation.

Students label pairs of a newsroom by hand, and measure how far they agree.

The pairs are labelled twice. By looking alone, a false pair can be told from a true
one, but the two false classes can hardly be told from each other: both show a picture
and a caption that disagree. With evidence (what the picture was first published with,
and what an archive says of the event) the class follows from its definition (paper,
section 3.1).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from averimatec.agreement import fleiss_kappa, randolph_kappa, rating_counts
from verite.errors import DataError, ParameterError, name_some
from verite.evaluation import grouped_bootstrap
from verite.files import write_csv
from verite.newsroom.captions import caption
from verite.newsroom.desk import Post, posts
from verite.newsroom.knobs import preset_named
from verite.pairs import BINARY_LABELS, LABELS, MISCAPTIONED, MISINFORMATION, TRUE
from verite.tables import read_table

if TYPE_CHECKING:
    from veritebook.figures import Pictures

__all__ = ["ROUNDS", "Annotation", "agreement", "read_annotations"]

ROUNDS = ("looking", "evidence")
"""How the pairs were labelled: by looking at them alone, or with evidence."""

_HARDNESS = 0.9
"""Out-of-context images differ in two attributes, as false captions do in one or two.

Looking cannot tell the classes apart.
"""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,30}")


class Annotation:
    """Pairs to label, one an event, as many of each class.

    Parameters
    ----------
    pairs
        How many: a multiple of three.
    seed
        Decides the world, and which pair is which. A class that compares its labels
        takes the same.

    Raises
    ------
    ParameterError
        ``pairs`` is no multiple of three, or below three.

    >>> exercise = Annotation(pairs=3)
    >>> exercise.numbers
    ['P01', 'P02', 'P03']
    >>> exercise.check(dict.fromkeys(exercise.numbers, ""))
    'Not labelled yet: P01, P02, P03.'
    """

    def __init__(self, pairs: int = 18, seed: int = 0) -> None:
        if pairs < len(LABELS) or pairs % len(LABELS):
            raise ParameterError(
                f"pairs: expected a multiple of {len(LABELS)}, from {len(LABELS)} on,"
                f" found {pairs}."
            )
        self.world = f"{pairs}-{seed}"
        self.numbers = [f"P{number:02d}" for number in range(1, pairs + 1)]
        kinds = (
            np.random.default_rng(seed)
            .permutation(np.repeat(LABELS, pairs // len(LABELS)))
            .tolist()
        )
        preset = preset_named("verite", {"ooc_hardness": _HARDNESS})
        dealt = (
            next(post for post in posts(event, seed, preset) if post.kind == kind)
            for event, kind in enumerate(kinds)
        )
        self._posts: dict[str, Post] = dict(zip(self.numbers, dealt, strict=True))

    def show(self) -> Pictures:
        """Show the pairs: each picture with its number and its caption."""
        from veritebook.figures import Pictures

        shown = self._posts.values()
        alts = [f"Drawn: {caption(post.shown.event)}" for post in shown]
        return Pictures(
            [post.shown.picture() for post in shown],
            alts,
            [f"{number}. {post.caption}" for number, post in self._posts.items()],
        )

    def evidence(self) -> pd.DataFrame:
        """Give what fact-checkers would look up.

        Returns
        -------
        pandas.DataFrame
            A row a pair: its ``caption``, what its ``picture`` was first published
            with, and what the ``archive`` says of the event that the caption is about.
        """
        rows = {
            number: {
                "caption": post.caption,
                "picture": caption(post.shown.event),
                "archive": caption(
                    post.shown.event if post.kind == MISCAPTIONED else post.told
                ),
            }
            for number, post in self._posts.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("pair")

    def key(self) -> dict[str, str]:
        """Give the right labels: for who corrects."""
        return {number: post.kind for number, post in self._posts.items()}

    def check(self, answers: Mapping[str, str]) -> str:
        """Say which labels are right and which are not, but not what would be right.

        Raises
        ------
        DataError
            A pair does not exist, or a label is none of the three.
        """
        if missing := self._missing(answers):
            return f"Not labelled yet: {name_some(missing)}."
        wrong = [
            number for number, kind in self.key().items() if answers[number] != kind
        ]
        if not wrong:
            return f"All {len(self.numbers)} are right."
        return (
            f"{len(self.numbers) - len(wrong)} of {len(self.numbers)} are right. Look"
            f" again at {', '.join(wrong)}."
        )

    def save(
        self,
        answers: Mapping[str, str],
        name: str,
        how: str,
        folder: str | os.PathLike[str] = ".",
    ) -> Path:
        """Write the labels to ``annotations-NAME-HOW.csv``.

        It is meant to be compared with the files of other people.

        Parameters
        ----------
        answers
            A label for every pair.
        name
            Of who labelled: up to 31 letters, digits and hyphens. A nickname does.
        how
            One of :data:`ROUNDS`.

        Raises
        ------
        ParameterError
            The name or the round is none; or the file is there: labels are not changed
            after they were given.
        DataError
            A pair has no label or one that is none of the three.
        """
        if not _NAME.fullmatch(name):
            raise ParameterError(
                f"name: expected up to 31 letters, digits and hyphens, found {name!r}."
                " Initials do."
            )
        if how not in ROUNDS:
            raise ParameterError(
                f"how: expected one of {', '.join(ROUNDS)}, found {how!r}."
            )
        if missing := self._missing(answers):
            raise DataError(
                f"expected a label for every pair, found none for {name_some(missing)}."
                " Label them, then save."
            )
        path = Path(folder) / f"annotations-{name}-{how}.csv"
        if path.exists():
            raise ParameterError(
                f"{path} is there, and labels are not changed afterwards. Remove it"
                " first if it was a mistake."
            )
        rows = {
            "pair": self.numbers,
            "label": [answers[number] for number in self.numbers],
        }
        write_csv(path, pd.DataFrame(rows).assign(name=name, how=how, world=self.world))
        return path

    def _missing(self, answers: Mapping[str, str]) -> list[str]:
        unknown = [number for number in answers if number not in self._posts]
        wrong = [
            f"{number}: {label!r}"
            for number, label in answers.items()
            if label and label not in LABELS
        ]
        if unknown:
            raise DataError(
                f"expected pairs from {self.numbers[0]} to {self.numbers[-1]}, found"
                f" {name_some(unknown)}."
            )
        if wrong:
            raise DataError(
                f"expected the labels {', '.join(LABELS)}, found {name_some(wrong)}."
                " Spell them so."
            )
        return [number for number in self.numbers if not answers.get(number)]


def read_annotations(paths: Iterable[str | os.PathLike[str]]) -> pd.DataFrame:
    """Read what several people labelled.

    Returns
    -------
    pandas.DataFrame
        A row a pair, a column a person, in the order given.

    Raises
    ------
    DataError
        Fewer than two files; columns are missing; they are of different worlds or
        rounds, or one person's twice; or one has a pair that another has not.
    """
    files = [Path(path) for path in paths]
    if len(files) < 2:
        raise DataError(
            f"expected the labels of two people or more, found {len(files)} file. Put"
            " their files beside each other."
        )
    columns: dict[str, pd.Series] = {}
    kinds = set()
    for path in files:
        frame = read_table(path)
        if missing := [
            name
            for name in ("pair", "label", "name", "how", "world")
            if name not in frame
        ]:
            raise DataError(
                f"{path}: expected the columns {name_some(missing)}. Is it a file that"
                " Annotation.save() wrote?"
            )
        if frame["pair"].duplicated().any():
            raise DataError(
                f"{path}: expected every pair once, found"
                f" {name_some(frame.loc[frame['pair'].duplicated(), 'pair'])} again."
            )
        whose = frame["name"].unique()
        if len(whose) != 1 or whose[0] in columns:
            raise DataError(
                f"{path}: expected the labels of one more person, found"
                f" {name_some(whose) or 'none'}. Leave it out or rename."
            )
        kinds |= set(zip(frame["world"], frame["how"], strict=True))
        columns[whose[0]] = frame.set_index("pair")["label"]
    if len(kinds) > 1:
        raise DataError(
            "expected labels of one world, given in one way, found"
            f" {name_some(sorted(' '.join(kind) for kind in kinds))}."
        )
    first = next(iter(columns.values())).index
    if bad := [
        name for name, labels in columns.items() if set(labels.index) != set(first)
    ]:
        raise DataError(
            f"expected everybody to label the same pairs; {name_some(bad)} labelled"
            " others. Compare files of one exercise."
        )
    return pd.DataFrame(columns).loc[first]


def agreement(ratings: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """How far people agree, with three classes and with the two false ones merged.

    Parameters
    ----------
    ratings
        As :func:`read_annotations` gives them.
    seed
        Of the bootstrap over pairs.

    Returns
    -------
    pandas.DataFrame
        Rows ``three classes`` and ``two classes`` by ``measure``: the share of pairs of
        people that agree (0 to 1), Fleiss' and Randolph's kappa (see
        :mod:`averimatec.agreement`); ``value``, ``low``, ``high`` of the 95 % interval,
        ``n`` pairs.

    >>> labels = {"one": ["true", "miscaptioned"], "two": ["true", "out-of-context"]}
    >>> ratings = pd.DataFrame(labels, index=["P01", "P02"])
    >>> found = agreement(ratings)["value"]
    >>> float(found["three classes", "share"]), float(found["two classes", "share"])
    (0.5, 1.0)
    """
    rows = {}
    for classes, categories in (
        ("three classes", LABELS),
        ("two classes", BINARY_LABELS),
    ):
        given = (
            ratings
            if categories == LABELS
            else ratings.where(ratings == TRUE, MISINFORMATION)
        )
        counts = rating_counts(given, categories)
        shares = _shares(counts)
        rows[classes, "share"] = grouped_bootstrap(
            shares, range(len(shares)), seed=seed
        )
        rows[classes, "Fleiss' kappa"] = fleiss_kappa(counts, seed=seed)
        rows[classes, "Randolph's kappa"] = randolph_kappa(counts, seed=seed)
    kept = {key: found._asdict() for key, found in rows.items()}
    table = pd.DataFrame.from_dict(kept, orient="index")[["value", "low", "high", "n"]]
    return table.set_axis(pd.MultiIndex.from_tuples(kept, names=["classes", "measure"]))


def _shares(counts: pd.DataFrame) -> np.ndarray:
    """Share of pairs of people that agree on each pair, shape (n,)."""
    table = counts.to_numpy(dtype=float)
    people = table.sum(axis=1)
    return np.asarray((table * (table - 1)).sum(axis=1) / (people * (people - 1)))
