"""Pictures of the newsroom for pages: its posts, drawn, with captions below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from verite.newsroom import caption
from verite.newsroom.desk import Post, Shown
from verite.newsroom.desk import posts as posts_of_event
from verite.newsroom.knobs import preset_named
from veritebook.figures import Pictures

__all__ = ["list_posts", "show_posts", "show_scenes"]


def list_posts(preset: str, events: int, seed: int, **knobs: Any) -> list[Post]:
    """All posts of a newsroom, event by event, with what their images show.

    >>> [post.kind for post in list_posts("verite", 1, seed=0)]
    ['true', 'out-of-context', 'miscaptioned']
    """
    settings = preset_named(preset, knobs)
    return [
        post
        for number in range(events)
        for post in posts_of_event(number, seed, settings)
    ]


def show_scenes(
    scenes: Iterable[Shown], captions: Sequence[str], name: str = ""
) -> Pictures:
    """Draw what images of the newsroom show, each with a caption below it."""
    scenes = list(scenes)
    alts = [f"Drawn: {caption(scene.event)}" for scene in scenes]
    return Pictures(
        [scene.picture() for scene in scenes], alts, list(captions), name=name
    )


def show_posts(posts: Sequence[Post], notes: Sequence[str], name: str = "") -> Pictures:
    """Draw posts; a note precedes the caption of each."""
    lines = [f"{note}. {post.caption}" for note, post in zip(notes, posts, strict=True)]
    return show_scenes([post.shown for post in posts], lines, name)
