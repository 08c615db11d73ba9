"""Training with Smooth-AP on class-balanced batches, resumable at any step.

Step t draws its batch from a generator seeded by (seed, t) and sets its learning rate from t, so
nothing but weights, moments and t is needed to go on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from opengcn.errors import OpenGCNError
from opengcn.graph.checkpoint import Checkpoint
from opengcn.graph.training import Progress, put_moments, take_moments
from opengcn.progress import progress_bar
from opengcn.vision.devices import mixed_precision
from opengcn.vision.smooth_ap import smooth_ap_loss

__all__ = ["Recipe", "train"]

SAVE_EVERY = 30.0  # seconds between checkpoints
WEIGHT_DECAY = 4e-4
HEAD_EPOCHS, WHOLE_EPOCHS = 5, 100


@dataclass(frozen=True)
class Recipe:
    """How an embedder is trained.

    Attributes
    ----------
    dim : int, default 128
        Dimensions of the embedding.
    fine_tune : bool, default False
        Train the backbone too, as the paper does. Otherwise its features are computed once
        and a linear head is trained on them.
    epochs : int, optional
        How often the batches go through as many images as there are. Unless given 5 for a
        head, which soon fits the training classes at the cost of all others, and 100 for a
        whole network.
    batch : int, default 256
        Images of a batch.
    per_class : int, default 4
        Images of a class in it.
    rate : float, default 1e-3
        Learning rate of Adam, for the head and for networks without pretrained weights,
        annealed to zero along a cosine.
    backbone_rate : float, default 1e-5
        The same for a pretrained backbone.
    flip : bool, default True
        Whether fine-tuning mirrors images at random. Not for writing.
    seed : int, default 0
        Seed of first weights, batches and crops.
    """

    dim: int = 128
    fine_tune: bool = False
    epochs: int | None = None
    batch: int = 256
    per_class: int = 4
    rate: float = 1e-3
    backbone_rate: float = 1e-5
    flip: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("dim", "epochs"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise OpenGCNError(f"{name}: expected 1 or more, received {value}")
        for name in ("rate", "backbone_rate"):
            if not getattr(self, name) > 0:
                raise OpenGCNError(f"{name}: expected above 0, received {getattr(self, name)}")

    def steps(self, images: int, batch: int) -> int:
        """Return how many batches make up all epochs.

        Parameters
        ----------
        images : int
            Images there are.
        batch : int
            Images of a batch.

        Returns
        -------
        steps : int
            At least 1.
        """
        epochs = self.epochs or (WHOLE_EPOCHS if self.fine_tune else HEAD_EPOCHS)
        return max(1, epochs * images // batch)


def train(
    model: nn.Module,
    batches: Callable[[int], Iterator[Tensor]],
    rates: dict[str, float],
    steps: int,
    per_class: int,
    checkpoint: Checkpoint,
    *,
    device: str = "cpu",
    progress: bool = True,
) -> list[float]:
    """Train a model that maps batches to embeddings.

    Parameters
    ----------
    model : torch.nn.Module
        Changed in place. Its outputs are normalised here.
    batches : callable
        Takes a step and yields the batches from there on; the rows of a class follow each
        other.
    rates : dict of str to float
        Learning rate of the parameters whose name starts with the key.
    steps : int
        Steps of the optimiser.
    per_class : int
        Rows of each class in a batch.
    checkpoint : Checkpoint
        Where the state is kept every half minute, and gone on from if it is there.
    device : str, default "cpu"
        Where to train.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    losses : list of float
        Loss of each step.
    """
    # Convolutions run up to twice as fast in this layout.
    model.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    now = checkpoint.restore(model) or Progress()
    named = dict(model.named_parameters())
    groups = [
        {"params": [p for name, p in named.items() if name.startswith(prefix)], "lr": rate}
        for prefix, rate in rates.items()
    ]
    optimiser = torch.optim.Adam(groups, weight_decay=WEIGHT_DECAY)
    put_moments(optimiser, named, now)
    saved = time.monotonic()
    with progress_bar("Training", steps, show=progress) as advance:
        advance(now.step)
        for step, batch in zip(range(now.step, steps), batches(now.step), strict=False):
            for group, rate in zip(optimiser.param_groups, rates.values(), strict=True):
                group["lr"] = 0.5 * rate * (1 + math.cos(math.pi * step / steps))
            optimiser.zero_grad()
            with mixed_precision(device):
                found = model(_laid_out(batch).to(device))
            loss = smooth_ap_loss(functional.normalize(found.float()), per_class)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            now.losses.append(float(loss.detach()))
            now.step = step + 1
            if time.monotonic() - saved >= SAVE_EVERY:
                now.moments = take_moments(optimiser, named)
                checkpoint.save(model, now)
                saved = time.monotonic()
            advance(1)
    return now.losses


def _laid_out(batch: Tensor) -> Tensor:
    return batch.contiguous(memory_format=torch.channels_last) if batch.ndim == 4 else batch
