"""Captions to tokens, without computing the padding behind them.

A caption of twenty words fills a third of the 77 positions of a CLIP's context; the
rest is padding. In a *causal* text model no position attends to a later one, and the
vector is read at the end token. So the padding behind the longest caption of a batch
can be left out, and no vector changes. Other models get captions at full length.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.encoders.items import Advance, Run, stack

if TYPE_CHECKING:
    import torch

__all__ = ["can_cut", "encode_tokens", "tokenize", "unusable"]


def unusable(text: object) -> str:
    """Why a caption cannot be encoded; empty if it can."""
    if not isinstance(text, str):
        return f"expected a caption, found {type(text).__name__}"
    if not text.strip():
        return "an empty caption"
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        return "holds half a character (a lone surrogate)"
    return ""


def tokenize(
    tokenizer: Any, captions: Sequence[str]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens of captions, ``(captions, context length)``, and which were truncated."""
    room = tokenizer.context_length
    # With one position more, a caption that fits gains padding; one that does not fit
    # has a word where its end token was. "a" shows what padding does to one that fits.
    probe = ["a", *captions]
    tokens = tokenizer(probe, context_length=room)
    roomier = tokenizer(probe, context_length=room + 1)[:, :room]
    same = tokens == roomier
    return tokens[1:], ~same[1:, same[0]].all(dim=1)


def can_cut(model: Any) -> bool:
    """Whether a model is a plain CLIP, causal and read at the end token."""
    import torch
    from open_clip import CLIP

    if (
        type(model) is not CLIP
        or model.text_pool_type not in ("argmax", "eos")
        or model.attn_mask is None
    ):
        return False
    mask = model.attn_mask
    later = torch.ones_like(mask, dtype=torch.bool).triu(1)
    return bool((mask[later] == float("-inf")).all() and (mask[~later] == 0).all())


def encode_tokens(
    model: Any, tokens: torch.Tensor, run: Run, batch_size: int, advance: Advance
) -> np.ndarray:
    """Vectors of tokenized captions, in their order."""
    import torch

    short = can_cut(model)
    ends = torch.full((len(tokens),), tokens.shape[1] - 1)
    if short:  # where the model reads each caption's vector
        argmax = model.text_pool_type == "argmax"
        marks = tokens if argmax else (tokens == model.text_eos_id).int()
        ends = marks.argmax(dim=-1).cpu()
    # Captions of like length go together, so that little padding is computed.
    order = torch.argsort(ends, stable=True)

    def forward(batch: torch.Tensor, length: int) -> np.ndarray:
        def encode(model: Any, _: torch.dtype) -> torch.Tensor:
            with _cut(model, length) if short else contextlib.nullcontext():
                features: torch.Tensor = model.encode_text(batch)
            return features

        return run(encode)

    batches = []
    with torch.inference_mode():
        for rows in torch.split(order, batch_size):
            length = int(ends[rows].max()) + 1
            batches.append(forward(tokens[rows, :length], length))
            advance(len(rows))
    vectors: np.ndarray = stack(batches)[torch.argsort(order).numpy()]
    return vectors


@contextlib.contextmanager
def _cut(model: Any, length: int) -> Iterator[None]:
    """Shorten a model's context, so that ``encode_text`` takes shorter rows."""
    import torch

    positions, mask = model.positional_embedding, model.attn_mask
    model.positional_embedding = torch.nn.Parameter(
        positions[:length], requires_grad=False
    )
    model.attn_mask = mask[:length, :length].contiguous()
    try:
        yield
    finally:
        model.positional_embedding, model.attn_mask = positions, mask
