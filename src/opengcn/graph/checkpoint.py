"""Checkpoints of a training stage: weights, moments and losses in one safetensors file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from opengcn.atomic import replacing
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError
from opengcn.graph.training import Progress

__all__ = ["Checkpoint", "fingerprint"]


def fingerprint(data: EmbeddingSet, *settings: Any) -> str:
    """Return a digest of a labelled set and everything else that a stage depends on.

    Parameters
    ----------
    data : EmbeddingSet
        The set.
    *settings
        Anything with a faithful `repr`.

    Returns
    -------
    digest : str
        Hexadecimal.
    """
    digest = hashlib.sha256(repr(settings).encode())
    digest.update(np.ascontiguousarray(data.embeddings).tobytes())
    digest.update(np.ascontiguousarray(data.codes).tobytes())
    return digest.hexdigest()


class Checkpoint:
    """The file of one stage.

    Parameters
    ----------
    path : Path
        Where it lies.
    identity : str
        Digest of what the stage depends on; a file of another stage is refused.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path = path
        self.identity = identity

    def save(self, network: torch.nn.Module, progress: Progress) -> None:
        """Write the state, whole or not at all.

        Parameters
        ----------
        network : torch.nn.Module
            Its weights.
        progress : Progress
            Moments, losses and the step.
        """
        from safetensors.torch import save_file

        tensors = {f"weight.{k}": v.contiguous() for k, v in network.state_dict().items()}
        tensors |= {f"moment.{k}": v.contiguous() for k, v in progress.moments.items()}
        tensors["losses"] = torch.tensor(progress.losses, dtype=torch.float64)
        header = {"identity": self.identity, "step": progress.step}
        with replacing(self.path) as temporary:
            save_file(tensors, temporary, {"checkpoint": json.dumps(header)})

    def restore(self, network: torch.nn.Module) -> Progress | None:
        """Load the state into a network, if there is a file.

        Parameters
        ----------
        network : torch.nn.Module
            Changed in place.

        Returns
        -------
        progress : Progress or None
            Where the stage stood; None when there is no file.
        """
        from safetensors import SafetensorError, safe_open

        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, "pt") as file:
                header = json.loads(file.metadata()["checkpoint"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{self.path}: expected a checkpoint, received {error!r}; remove it to start anew"
            ) from error
        if header["identity"] != self.identity:
            raise DataError(
                f"{self.path}: expected a checkpoint of this fit, received one of other data or "
                f"settings; remove it to start anew"
            )
        parts: dict[str, dict[str, torch.Tensor]] = {"weight": {}, "moment": {}}
        for name, tensor in tensors.items():
            kind, _, rest = name.partition(".")
            if kind in parts:
                parts[kind][rest] = tensor
        network.load_state_dict(parts["weight"])
        return Progress(header["step"], tensors["losses"].tolist(), parts["moment"])
