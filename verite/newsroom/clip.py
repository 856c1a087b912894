"""A small CLIP that is trained on the newsroom alone.

It is open_clip's model under a configuration of ours, so that everything that works
with it works with a CLIP of full size. It is trained at first use, in a few minutes on
two cores, and kept in the user's cache under a digest of all that it is made from: when
drawings or wordings change, it is trained again.

It learns from truthful pairs of events that no data set contains, in families: an
event, the same event from another source, and some that differ in one or two visible
attributes. Without such near misses a batch could be told apart by topic and weather,
and the model would not learn who is in an image.

Half of the sources are an agency. The others are tabloids, each of which pastes its own
montage into true images, opens with lurid words, and has a habit in wording or length.
So the model has seen all of that, as CLIP has, and its vectors represent it; about
truth it says nothing here.
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
from verite.files import atomic_path, lock, read_text
from verite.newsroom.captions import (
    GIVEAWAYS,
    HOUSE_STYLE,
    OPENERS,
    WORDINGS,
    caption,
    closing,
)
from verite.newsroom.draw import draw
from verite.newsroom.foreground import MONTAGES
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
"""Name of the architecture in open_clip: CLIP's, a hundred times smaller."""

# No event of a data set has so high a number, so its random streams are never used.
_STREAM = 2**31
_CODE = ("world", "captions", "draw", "canvas", "scenery", "foreground", "clip")
_VERSIONS = 4  # captions of each image
_SOURCES = (*4 * ("",), *MONTAGES)  # an agency; tabloids, called after their montage


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
    """Pixels by which images are shifted at random."""
    seed: int = 0


def load_newsroom_clip(retrain: bool = False) -> tuple[str, Path]:
    """Add the newsroom's CLIP to open_clip, and train it if it is missing.

    Returns
    -------
    tuple
        Name of its architecture, and the path of its weights.
    """
    _register()
    path = checkpoint_path()
    if retrain or not path.is_file():
        # Chapters run side by side, and all of them want it: one trains, others wait.
        with lock(path.parent, wait=True):
            if retrain or not path.is_file():
                train(path)
    return NAME, path


def checkpoint_path() -> Path:
    """Path of the trained weights."""
    folder = Path(__file__).parent
    made_by = [code_digest(folder / f"{name}.py") for name in _CODE]
    made_by += [read_text(folder / name) for name in (f"{NAME}.json", "drawings.txt")]
    name = f"newsroom-{content_key(made_by)[:12]}.safetensors"
    return platformdirs.user_cache_path("verite", appauthor=False) / "encoders" / name


def train(path: Path, recipe: Recipe | None = None) -> Path:
    """Train from scratch and write the weights.

    The two towers run side by side with one thread each, forward and backward. Threads
    within a tower would gain little at this size, wait for each other on busy cores,
    and make the weights depend on the number of cores. As it is, one kind of processor
    gives one set of weights.
    """
    import open_clip
    import torch
    from safetensors.torch import save_file
    from torch.nn.functional import cross_entropy
    from tqdm import tqdm

    recipe = recipe or Recipe()
    _register()
    images, tokens = _lessons(recipe)
    with _one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        with quiet():  # it would warn that it has no weights yet
            model = open_clip.create_model(NAME, load_weights=False).train()
        mean, deviation = (
            torch.tensor(values).view(1, 3, 1, 1)
            for values in (model.visual.image_mean, model.visual.image_std)
        )
        optimiser = torch.optim.AdamW(
            _parameters(model, recipe.weight_decay),
            lr=recipe.learning_rate,
            betas=(0.9, 0.98),
            fused=True,
        )
        steps = recipe.epochs * (recipe.families // recipe.batch_families)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: _rate(step, steps)
        )
        answers = torch.arange(recipe.batch_families * recipe.members)

        def encode_images(rows: torch.Tensor, shift: tuple[int, int]) -> torch.Tensor:
            pixels = images[rows].permute(0, 3, 1, 2).float() / 255
            pixels = torch.roll((pixels - mean) / deviation, shift, (2, 3))
            vectors: torch.Tensor = model.encode_image(pixels, normalize=True)
            return vectors

        def encode_texts(rows: torch.Tensor, version: torch.Tensor) -> torch.Tensor:
            vectors: torch.Tensor = model.encode_text(
                tokens[rows, version], normalize=True
            )
            return vectors

        batches = _batches(recipe, _VERSIONS)
        bar = tqdm(batches, "training the newsroom's CLIP", steps, unit="step")
        with ThreadPoolExecutor(1) as thread:
            for rows, version, shift in bar:
                optimiser.zero_grad(set_to_none=True)
                future = thread.submit(encode_texts, rows, version)
                V, T = encode_images(rows, shift), future.result()
                # Cut between the towers and the loss, so that each tower goes backward
                # by itself.
                v, t = V.detach().requires_grad_(), T.detach().requires_grad_()
                logits = model.logit_scale.exp() * v @ t.T
                loss = (
                    cross_entropy(logits, answers) + cross_entropy(logits.T, answers)
                ) / 2
                torch.autograd.backward(loss)
                backward = thread.submit(torch.autograd.backward, T, t.grad)
                torch.autograd.backward(V, v.grad)
                backward.result()
                optimiser.step()
                schedule.step()
                with torch.no_grad():
                    model.logit_scale.clamp_(0, math.log(100))
    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    with atomic_path(path) as temporary:
        save_file(weights, temporary)
    return path


def held_out(events: int, seed: int = 0) -> tuple[dict[str, Any], dict[str, str]]:
    """Images and captions, by id, of events that training never saw."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAM, 1)))
    sample = {f"event-{n}": event for n, event in enumerate(sample_events(events, rng))}
    images = {id_: draw(event) for id_, event in sample.items()}
    return images, {id_: _report(event, "", rng) for id_, event in sample.items()}


@cache
def _register() -> None:
    import open_clip

    open_clip.add_model_config(Path(__file__).with_name(f"{NAME}.json"))


def _lessons(recipe: Recipe) -> tuple[torch.Tensor, torch.Tensor]:
    """Images ``(n, SIZE, SIZE, 3)`` as bytes and tokens ``(n, versions, context)``.

    Members of a family follow each other.
    """
    import open_clip
    import torch
    from tqdm import tqdm

    sequence = np.random.SeedSequence(recipe.seed, spawn_key=(_STREAM, 0))
    rng = np.random.default_rng(sequence)
    tokenizer = open_clip.get_tokenizer(NAME)
    images, tokens = [], []
    for _ in tqdm(range(recipe.families), "drawing training images", unit="family"):
        for event, source in _family(recipe.members, rng):
            hidden = [name for name in ENTITIES if rng.random() < recipe.hidden]
            images.append(np.asarray(draw(event, hidden=hidden, montage=source)))
            captions = [_report(event, source, rng) for _ in range(_VERSIONS)]
            tokens.append(tokenizer(captions))
    return torch.from_numpy(np.stack(images)), torch.stack(tokens)


def _family(members: int, rng: np.random.Generator) -> Iterator[tuple[Event, str]]:
    """An event, the same one from another source, and some near misses."""
    [event] = sample_events(1, rng)
    first, *others = rng.permutation(_SOURCES).tolist()
    yield event, first
    again = replace(event, look=int(rng.integers(2**31)))
    yield again, next(source for source in others if source != first)
    for _ in range(members - 2):
        changed = rng.choice(VISIBLE, int(rng.integers(1, 3)), replace=False).tolist()
        miss = replace(vary(event, changed, rng), look=int(rng.integers(2**31)))
        yield miss, str(rng.choice(_SOURCES))


def _report(event: Event, source: str, rng: np.random.Generator) -> str:
    opener = str(rng.choice(GIVEAWAYS if source else OPENERS))
    # Each tabloid's habit: the house style, many words, both, or neither.
    wording = HOUSE_STYLE
    if source not in ("duck", "saucer"):
        wording = int(rng.integers(len(WORDINGS)))
    words = int(rng.integers(6)) + (8 if source in ("saucer", "cat") else 0)
    return caption(event, wording, opener, closing(words, rng))


def _batches(
    recipe: Recipe, versions: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor, tuple[int, int]]]:
    """Rows of whole families, which caption of each, and the shift of the images."""
    import torch

    sequence = np.random.SeedSequence(recipe.seed, spawn_key=(_STREAM, 2))
    rng = np.random.default_rng(sequence)
    size = recipe.batch_families
    for _ in range(recipe.epochs):
        order = rng.permutation(recipe.families)
        for start in range(0, recipe.families - size + 1, size):
            first = order[start : start + size, None] * recipe.members
            rows = (first + np.arange(recipe.members)).ravel()
            down, right = rng.integers(-recipe.shift, recipe.shift + 1, 2).tolist()
            version = rng.integers(versions, size=len(rows))
            yield torch.from_numpy(rows), torch.from_numpy(version), (down, right)


def _parameters(model: torch.nn.Module, decay: float) -> list[dict[str, Any]]:
    """As in CLIP, only matrices decay."""
    matrices = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim <= 1]
    return [
        {"params": matrices, "weight_decay": decay},
        {"params": others, "weight_decay": 0.0},
    ]


def _rate(step: int, steps: int) -> float:
    """Warm up over a tenth of all steps, then fall along a cosine."""
    warm = max(1, steps // 10)
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


@contextmanager
def _one_thread() -> Iterator[None]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
