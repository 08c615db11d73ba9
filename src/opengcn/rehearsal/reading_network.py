"""The networks that read a graph, their inputs, and how they are trained.

Each predicts how far each quantile of the same-class distances lies from the reference's,
so that a network that has learned nothing returns the reference. The loss is the mean
absolute error over the quantiles, which is twice the TPR part of MAE_comb.

Networks are many and small, so they are computed together: every array has the network as
its first dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from opengcn.rehearsal.examples import Examples
from opengcn.rehearsal.reference import LEVELS

__all__ = [
    "BATCH",
    "GIVEN_FEATURES",
    "WIDTHS",
    "Lessons",
    "ReadingNetworks",
    "given_features",
    "standard",
    "teach",
]

BATCH, WIDTH, DECAY, DROPOUT, JITTER = 128, 96, 1e-2, 0.1, 0.05
PRIOR_WEIGHT = 0.02
WIDTHS = (-8.0, 1.0)  # limits of the logarithm of the spread
GIVEN, GIVEN_ERROR = 0.7, 0.1  # how often a prior is given, and its error in the logarithm
LIMIT = 5.0  # of standardised features, so that a stranger's data cannot run away
GIVEN_FEATURES = 2 + 5  # whether a prior is given, the prior, its distance to the bounds

Floats = NDArray[np.float32]


class Linear(nn.Module):
    """A linear layer of each network, (k, e, a) to (k, e, b)."""

    def __init__(self, count: int, inputs: int, outputs: int) -> None:
        super().__init__()
        limit = inputs**-0.5  # as in nn.Linear
        self.weight = nn.Parameter(torch.empty(count, inputs, outputs).uniform_(-limit, limit))
        self.bias = nn.Parameter(torch.empty(count, 1, outputs).uniform_(-limit, limit))

    def forward(self, x: Tensor) -> Tensor:
        """Return x W + b, for each network its own."""
        return torch.baddbmm(self.bias, x, self.weight)


class ReadingNetworks(nn.Module):
    """From features to moves of the quantiles, their spreads and the log prior.

    Parameters
    ----------
    count : int
        Number of networks k.
    features : int
        Number of features F of a view.
    """

    def __init__(self, count: int, features: int) -> None:
        super().__init__()
        self.features = features
        first, second = Linear(count, features + GIVEN_FEATURES, WIDTH), Linear(count, WIDTH, WIDTH)
        self.body = nn.Sequential(first, nn.ReLU(), nn.Dropout(DROPOUT), second, nn.ReLU())
        self.move = Linear(count, WIDTH, len(LEVELS))
        self.spread = Linear(count, WIDTH, len(LEVELS))
        self.prior = Linear(count, WIDTH, 1)
        for head, start in ((self.move, 0.0), (self.spread, -3.5), (self.prior, -4.0)):
            nn.init.zeros_(head.weight)
            nn.init.constant_(head.bias, start)

    def __len__(self) -> int:
        return len(self.prior.bias)

    @property
    def device(self) -> torch.device:
        """Where the networks are."""
        return self.prior.bias.device

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return moves (k, e, 24), log spreads (k, e, 24) and log priors (k, e).

        Parameters
        ----------
        x : Tensor of shape (k, e, F + 7)
            Inputs of each network.
        """
        h = self.body(x)
        # The spread must not bend what the body learns for the quantiles.
        return self.move(h), self.spread(h.detach()), self.prior(h)[..., 0]


@dataclass(frozen=True, eq=False)
class Lessons:
    """Examples as tensors.

    Attributes
    ----------
    x, bounds, reference, truth, log_prior : Tensor
        As in `Examples`; the features are standardised.
    """

    x: Tensor
    bounds: Tensor
    reference: Tensor
    truth: Tensor
    log_prior: Tensor

    @classmethod
    def of(cls, examples: Examples, middle: Floats, scale: Floats, device: torch.device) -> Self:
        """Make lessons of examples."""
        parts = (examples.bounds, examples.reference, examples.truth, examples.log_prior)
        x = standard(examples.features, middle, scale)
        return cls(x.to(device), *(torch.from_numpy(p).to(device) for p in parts))

    def inputs(
        self,
        rows: Tensor,
        rng: np.random.Generator,
        *,
        jitter: float = 0.0,
        chance: float = GIVEN,
    ) -> Tensor:
        """Return inputs (k, b, F + 7) of rows (k, b), some with a prior that is about right."""
        x = self.x[rows]

        def drawn(values: NDArray[np.floating | np.bool_]) -> Tensor:
            return torch.from_numpy(values.astype(np.float32)).to(x.device)

        if jitter:
            x = x + jitter * drawn(rng.standard_normal(x.shape, np.float32))
        shape = tuple(rows.shape)
        given = drawn(rng.random(shape) < chance)
        # Some are worse than they should be.
        error = rng.standard_normal(shape) * np.where(rng.random(shape) < 0.15, 2, 1)
        log_prior = self.log_prior[rows] + GIVEN_ERROR * drawn(error)
        return torch.cat([x, given_features(log_prior, given, self.bounds[rows])], -1)


def standard(features: Floats, middle: Floats, scale: Floats) -> Tensor:
    """Return features at mean 0 and standard deviation 1, within limits."""
    return torch.from_numpy(((features - middle) / scale).clip(-LIMIT, LIMIT))


def given_features(log_prior: Tensor, given: Tensor, bounds: Tensor) -> Tensor:
    """Return what is said of the prior (..., 7): nothing where `given` is 0, else what it is."""
    about = torch.cat([log_prior[..., None] + 4, bounds - log_prior[..., None]], -1) / 1.5
    about = torch.cat([torch.ones_like(about[..., :1]), about.clamp(-LIMIT, LIMIT)], -1)
    return given[..., None] * about


def teach(
    networks: ReadingNetworks,
    lessons: list[tuple[Lessons, NDArray[np.int64], int]],
    rng: np.random.Generator,
    *,
    steps: int,
    rate: float,
    advance: Callable[[float], None] = lambda _: None,
) -> None:
    """Train networks, each on its own batches.

    Parameters
    ----------
    networks : ReadingNetworks
        Trained in place.
    lessons : list of (Lessons, ndarray of shape (k, m), int)
        What to learn: examples, rows of them that each network may see, and how many of
        these are in a batch.
    rng : Generator
        Chooses batches and priors to give.
    steps : int
        Steps of gradient descent.
    rate : float
        Learning rate at the start; it falls to 0.
    advance : callable
        Called with 1 after each step.
    """
    device = networks.device
    optimizer = torch.optim.AdamW(networks.parameters(), rate, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    batch = sum(size for *_, size in lessons)
    networks.requires_grad_(True).train()
    for _ in range(steps):
        optimizer.zero_grad()
        for part, allowed, size in lessons:
            at = rng.integers(allowed.shape[1], size=(len(networks), size))
            rows = torch.from_numpy(np.take_along_axis(allowed, at, 1)).to(device)
            loss = size / batch * _loss(networks, part, rows, rng)
            loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        advance(1)
    networks.eval().requires_grad_(False)


def _loss(
    networks: ReadingNetworks, lessons: Lessons, rows: Tensor, rng: np.random.Generator
) -> Tensor:
    """Return the sum of the networks' losses: each has parameters of its own."""
    move, spread, prior = networks(lessons.inputs(rows, rng, jitter=JITTER))
    error = (lessons.reference[rows] * move.exp() - lessons.truth[rows]).abs()
    width = spread.clamp(*WIDTHS)
    likelihood = (error.detach() * (-width).exp() + width).mean()  # of Laplace's law
    wrong = (prior - lessons.log_prior[rows]).abs().mean()
    loss: Tensor = error.mean() + PRIOR_WEIGHT * wrong + 1e-3 * likelihood
    return loss * len(networks)
