"""A course from the book.

A student's and an instructor's edition of every notebook, and an exercise in
annotation.

:func:`build_course` writes both editions; :class:`Annotation` deals the pairs that
students label by hand, and :func:`agreement` says how far they agree. A course is made
of the notebooks' own sources, so it never falls behind them.
"""

from __future__ import annotations

from veritebook.course.annotation import Annotation, agreement, read_annotations
from veritebook.course.build import WEEKS, build_course
from veritebook.course.checking import Answer, Case, check
from veritebook.course.editions import (
    exercises,
    for_instructors,
    for_students,
    solutions,
)

__all__ = [
    "WEEKS",
    "Annotation",
    "Answer",
    "Case",
    "agreement",
    "build_course",
    "check",
    "exercises",
    "for_instructors",
    "for_students",
    "read_annotations",
    "solutions",
]
