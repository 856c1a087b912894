"""Captions to tokens, and tokens to vectors without computing what nobody looks at.

A caption of twenty words fills a third of the 77 places of a CLIP's context; the rest
is padding. In a *causal* text model no place sees a later one, and the vector is read
at the end token, so padding behind the longest caption of a batch can be left out
without changing any vector. The trick is one of this kind of model alone: all others
are given their captions at full length.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["can_cut", "cut", "end_positions", "tokenize"]


def tokenize(
    tokenizer: Any, captions: Sequence[str]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens of captions, and which captions were truncated.

    Returns
    -------
    tokens : torch.Tensor
        Whole numbers of shape ``(captions, context length)``; a truncated caption keeps
        its begin and end token.
    truncated : torch.Tensor
        One truth value a caption.
    """
    room = tokenizer.context_length
    # With one place more a caption that fits gains padding; one that does not fit has a
    # word where its end token was.
    probe = ["a", *captions]
    tokens, roomier = (
        tokenizer(probe, context_length=room),
        tokenizer(probe, context_length=room + 1)[:, :room],
    )
    same = tokens == roomier
    return tokens[1:], ~same[1:, same[0]].all(dim=1)


def can_cut(model: Any) -> bool:
    """Whether padding can be left out.

    A plain CLIP whose text tower is causal and read at the end token.
    """
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


def end_positions(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    """Where the model reads each caption's vector.

    Only for models that :func:`can_cut` allows.
    """
    at_end = (
        tokens
        if model.text_pool_type == "argmax"
        else (tokens == model.text_eos_id).int()
    )
    return at_end.argmax(dim=-1)


@contextlib.contextmanager
def cut(model: Any, length: int) -> Iterator[None]:
    """Give a model a shorter context for a while, so that its own ``encode_text`` takes
    shorter rows of tokens.
    """
    import torch

    whole, mask = model.positional_embedding, model.attn_mask
    model.positional_embedding = torch.nn.Parameter(whole[:length], requires_grad=False)
    model.attn_mask = mask[:length, :length].contiguous()
    try:
        yield
    finally:
        model.positional_embedding, model.attn_mask = whole, mask
