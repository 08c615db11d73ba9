"""Where networks run, and in which precision."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from opengcn.errors import OpenGCNError

__all__ = ["choose_device", "mixed_precision"]


def choose_device(name: str = "auto") -> str:
    """Return the device that a name stands for.

    Parameters
    ----------
    name : {"auto", "cpu", "cuda"}
        ``auto`` is a graphics card where torch sees one.

    Returns
    -------
    device : str
        "cpu" or "cuda".
    """
    import torch

    if name not in ("auto", "cpu", "cuda"):
        raise OpenGCNError(f"device: expected auto, cpu or cuda, received {name!r}")
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise OpenGCNError(
            "device: expected a graphics card for cuda, received a torch without one"
        )
    return "cuda" if there and name != "cpu" else "cpu"


def mixed_precision(device: str) -> AbstractContextManager[Any]:
    """Return a context in which networks compute in bfloat16 where the card knows it.

    bfloat16 has the range of float32, so that no gradient needs to be scaled; cards without
    it (before Ampere) stay at float32, as emulating it is slower, and so does the processor.

    Parameters
    ----------
    device : str
        From `choose_device`.

    Returns
    -------
    context
        For a ``with`` statement.
    """
    import torch

    if device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.autocast("cuda", torch.bfloat16)
    return nullcontext()
