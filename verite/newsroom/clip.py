"""A small CLIP that has seen the newsroom and nothing else.

It is open_clip's own model under a configuration of ours, so that everything that works
with it works with a CLIP of full size. It is trained at its first use, in a few minutes
on two cores, and kept in the user's cache under a digest of all that made it: a
newsroom that is drawn or told in another way gets another one.

It learns from truthful pairs alone, of events that no data set holds, in families: an
event, the same event by another desk, and some that differ from it in one or two
visible attributes. Without such near misses a batch could be told apart by topic and
weather, and nothing would be learned of who is there.

Half of the desks are an agency's. The others are tabloids, each of which pastes its own
thing into true pictures, opens with lurid words, and has a habit in wording or length.
So the model has seen all of that, as CLIP has, and vectors hold it; about truth it says
nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import platformdirs

from verite.blocks import content_key
from verite.encoders.weights import quiet
from verite.files import atomic_path, read_text
from verite.newsroom.captions import (
    GIVEAWAYS,
    HOUSE_STYLE,
    OPENERS,
    WORDINGS,
    caption,
    closing,
)
from verite.newsroom.draw import draw
from verite.newsroom.montage import MONTAGES
from verite.newsroom.world import ENTITIES, VISIBLE, Event, sample_events, vary
from verite.provenance import code_digest

if TYPE_CHECKING:
    import torch

__all__ = [
    "NAME",
    "Recipe",
    "checkpoint_path",
    "held_out",
    "load_newsroom_clip",
    "train",
]

NAME = "verite-newsroom"
"""What open_clip knows the architecture as.

A vision and a causal text transformer, as in CLIP, a hundred times smaller.
"""


@dataclass(frozen=True)
class Recipe:
    """How the newsroom's CLIP is trained."""

    families: int = 960
    members: int = 4
    batch_families: int = 16
    epochs: int = 20
    learning_rate: float = 1.5e-3
    weight_decay: float = 0.05
    hidden: float = 0.1
    """Chance that an image hides a name."""
    shift: int = 3
    """Pixels by which pictures are moved at random."""
    seed: int = 0


def load_newsroom_clip(retrain: bool = False) -> tuple[str, Path]:
    """Make the newsroom's CLIP known to open_clip, and train it if it is not there.

    Returns
    -------
    tuple
        Name of its architecture, and the path of its weights.
    """
    from filelock import FileLock

    _register()
    path = checkpoint_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Chapters run side by side, and all of them want it.
    with FileLock(path.with_suffix(".lock")):
        if retrain or not path.is_file():
            train(path)
    return NAME, path


def checkpoint_path() -> Path:
    """Where the weights lie once they are trained."""
    here = Path(__file__).parent
    made_by = [code_digest(here / name) for name in _SOURCES]
    made_by.append(read_text(here / f"{NAME}.json"))
    key = content_key(made_by)
    return (
        platformdirs.user_cache_path("verite", appauthor=False)
        / "encoders"
        / f"newsroom-{key[:12]}.safetensors"
    )


def train(path: Path, recipe: Recipe | None = None) -> Path:
    """Train from scratch and write the weights, all or nothing.

    The two towers run side by side with one thread each, forward and backward. Threads
    within a tower would gain little at this size, wait for each other on busy cores,
    and make the weights depend on how many cores there are. As it is, one kind of
    processor gives one set of weights.
    """
    import open_clip
    import torch
    from safetensors.torch import save_file
    from torch.nn.functional import cross_entropy
    from tqdm import tqdm

    chosen = recipe or Recipe()
    _register()
    pictures, tokens = _lessons(chosen)
    with _one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(chosen.seed)
        with quiet():  # it would warn that it has no weights yet
            model = open_clip.create_model(NAME, load_weights=False).train()
        mean, std = (
            torch.tensor(each).view(1, 3, 1, 1)
            for each in (model.visual.image_mean, model.visual.image_std)
        )
        optimiser = torch.optim.AdamW(
            _groups(model, chosen.weight_decay),
            lr=chosen.learning_rate,
            betas=(0.9, 0.98),
            fused=True,
        )
        steps = chosen.epochs * (chosen.families // chosen.batch_families)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: _rate(step, steps)
        )
        answers = torch.arange(chosen.batch_families * chosen.members)

        def see(rows: torch.Tensor, down: int, right: int) -> torch.Tensor:
            seen = pictures[rows].permute(0, 3, 1, 2).float() / 255
            images: torch.Tensor = model.encode_image(
                torch.roll((seen - mean) / std, (down, right), (2, 3)), normalize=True
            )
            return images

        def read(rows: torch.Tensor, version: torch.Tensor) -> torch.Tensor:
            texts: torch.Tensor = model.encode_text(
                tokens[rows, version], normalize=True
            )
            return texts

        with ThreadPoolExecutor(1) as beside:
            for rows, version, (down, right) in tqdm(
                _batches(chosen, tokens.shape[1]),
                "training the newsroom's CLIP",
                steps,
                unit="step",
            ):
                optimiser.zero_grad(set_to_none=True)
                reading = beside.submit(read, rows, version)
                images, texts = see(rows, down, right), reading.result()
                # Cut between the towers and the loss, so that each tower goes backward
                # by itself.
                V, T = images.detach().requires_grad_(), texts.detach().requires_grad_()
                logits = model.logit_scale.exp() * V @ T.T
                loss = (
                    cross_entropy(logits, answers) + cross_entropy(logits.T, answers)
                ) / 2
                torch.autograd.backward(loss)
                going_back = beside.submit(torch.autograd.backward, texts, T.grad)
                torch.autograd.backward(images, V.grad)
                going_back.result()
                optimiser.step()
                schedule.step()
                with torch.no_grad():
                    model.logit_scale.clamp_(0, math.log(100))
    with atomic_path(path) as temporary:
        save_file(
            {name: value.contiguous() for name, value in model.state_dict().items()},
            temporary,
        )
    return path


def held_out(events: int, seed: int = 0) -> tuple[dict[str, Any], dict[str, str]]:
    """Pictures and captions of events that training never saw, by one id each."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAM, 1)))
    found = sample_events(events, rng)
    pictures = {f"event-{number}": draw(event) for number, event in enumerate(found)}
    return pictures, {
        f"event-{number}": _told(event, "", rng) for number, event in enumerate(found)
    }


_STREAM = (
    2**31
)  # no event of a data set has so high a number, so no stream of random numbers is used twice
_SOURCES = (
    "world.py",
    "captions.py",
    "draw.py",
    "canvas.py",
    "scenery.py",
    "props.py",
    "people.py",
    "montage.py",
    "clip.py",
)
_VERSIONS = 4  # captions of each picture
_DESKS = (
    *4 * ("",),
    *MONTAGES,
)  # an agency, and four tabloids named after what they paste in


@cache
def _register() -> None:
    import open_clip

    open_clip.add_model_config(Path(__file__).with_name(f"{NAME}.json"))


def _lessons(recipe: Recipe) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures ``(n, SIZE, SIZE, 3)`` as bytes and tokens ``(n, versions, context)``.

    Families lie together.
    """
    import open_clip
    import torch
    from tqdm import tqdm

    rng = np.random.default_rng(
        np.random.SeedSequence(recipe.seed, spawn_key=(_STREAM, 0))
    )
    pictures, captions = [], []
    for _ in tqdm(
        range(recipe.families), "drawing pictures to learn from", unit="family"
    ):
        for event, desk in _family(recipe.members, rng):
            hidden = [name for name in ENTITIES if rng.random() < recipe.hidden]
            pictures.append(np.asarray(draw(event, hidden=hidden, montage=desk)))
            captions.append([_told(event, desk, rng) for _ in range(_VERSIONS)])
    tokeniser = open_clip.get_tokenizer(NAME)
    tokens = torch.stack([tokeniser(versions) for versions in captions])
    return torch.from_numpy(np.stack(pictures)), tokens


def _family(members: int, rng: np.random.Generator) -> Iterator[tuple[Event, str]]:
    """Yield an event, the same one from another desk, and some that differ from it in
    one or two attributes.
    """
    [event] = sample_events(1, rng)
    desks = rng.permutation(_DESKS).tolist()
    yield event, desks[0]
    yield (
        replace(event, look=int(rng.integers(2**31))),
        next(desk for desk in desks if desk != desks[0]),
    )
    for _ in range(members - 2):
        changed = rng.choice(VISIBLE, int(rng.integers(1, 3)), replace=False).tolist()
        yield (
            replace(vary(event, changed, rng), look=int(rng.integers(2**31))),
            str(rng.choice(_DESKS)),
        )


def _told(event: Event, desk: str, rng: np.random.Generator) -> str:
    opener = rng.choice(GIVEAWAYS if desk else OPENERS)
    # Each tabloid's habit: the house style, many words, both, or neither.
    wording = (
        HOUSE_STYLE if desk in ("duck", "saucer") else int(rng.integers(len(WORDINGS)))
    )
    words = int(rng.integers(6)) + (8 if desk in ("saucer", "cat") else 0)
    return caption(event, wording, str(opener), closing(words, rng))


def _batches(
    recipe: Recipe, versions: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor, tuple[int, int]]]:
    """Rows of whole families, which caption of each, and how far all pictures are
    moved.
    """
    import torch

    rng = np.random.default_rng(
        np.random.SeedSequence(recipe.seed, spawn_key=(_STREAM, 2))
    )
    for _ in range(recipe.epochs):
        order = rng.permutation(recipe.families)
        for start in range(
            0, recipe.families - recipe.batch_families + 1, recipe.batch_families
        ):
            families = order[start : start + recipe.batch_families]
            rows = (
                families[:, None] * recipe.members + np.arange(recipe.members)
            ).ravel()
            down, right = rng.integers(-recipe.shift, recipe.shift + 1, 2).tolist()
            yield (
                torch.from_numpy(rows),
                torch.from_numpy(rng.integers(versions, size=len(rows))),
                (down, right),
            )


def _groups(model: torch.nn.Module, decay: float) -> list[dict[str, Any]]:
    """As in CLIP, only matrices decay."""
    weights = [each for each in model.parameters() if each.ndim > 1]
    others = [each for each in model.parameters() if each.ndim <= 1]
    return [
        {"params": weights, "weight_decay": decay},
        {"params": others, "weight_decay": 0.0},
    ]


def _rate(step: int, steps: int) -> float:
    """Warm up over a tenth of all steps, then fall along a cosine."""
    warm = max(1, steps // 10)
    return (
        (step + 1) / warm
        if step < warm
        else 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))
    )


@contextmanager
def _one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
