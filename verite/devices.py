"""Choice of the device that torch computes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verite.errors import ParameterError

if TYPE_CHECKING:
    import torch

__all__ = ["pick_device"]


def pick_device(name: str = "auto") -> torch.device:
    """Return the named device; ``"auto"`` gives CUDA, then MPS, then the CPU.

    Raises
    ------
    ParameterError
        There is no such device, or it cannot be used on this machine.
    """
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            name = "cuda"
        else:
            name = "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ParameterError(
            f"device {name!r} cannot be used here ({str(error).splitlines()[0]})."
            " Known: auto, cpu, cuda, cuda:0, mps."
        ) from error
    return device
