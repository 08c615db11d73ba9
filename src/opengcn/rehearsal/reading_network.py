"""The network that reads a graph, its inputs, and how it is trained.

It predicts how far each quantile of the same-class distances lies from the reference's,
so that a network that has learned nothing returns the reference. The loss is the mean
absolute error over the quantiles, which is twice the TPR part of MAE_comb.
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
    "GUESS_FEATURES",
    "NO_GUESS",
    "ROUGH_GUESS",
    "SURE_GUESS",
    "WIDTHS",
    "Lessons",
    "ReadingNetwork",
    "guess_features",
    "standard",
    "teach",
]

BATCH, WIDTH, DECAY, DROPOUT, JITTER = 128, 96, 1e-2, 0.1, 0.05
PRIOR_WEIGHT = 0.02
WIDTHS = (-8.0, 1.0)  # limits of the logarithm of the spread
SURE, ROUGH = 0.1, 0.5  # standard deviation of log prior in the two kinds of guess
LIMIT = 5.0  # of standardised features, so that a stranger's data cannot run away
NO_GUESS, ROUGH_GUESS, SURE_GUESS = 0, 1, 2
GUESS_FEATURES = 2 * (2 + 5)  # for either kind a flag, the guess, its distance to the bounds

Floats = NDArray[np.float32]


class ReadingNetwork(nn.Module):
    """From features to moves of the quantiles, their spreads and the log prior."""

    def __init__(self, features: int) -> None:
        super().__init__()
        first, second = nn.Linear(features, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.body = nn.Sequential(first, nn.ReLU(), nn.Dropout(DROPOUT), second, nn.ReLU())
        self.move = nn.Linear(WIDTH, len(LEVELS))
        self.spread = nn.Linear(WIDTH, len(LEVELS))
        self.prior = nn.Linear(WIDTH, 1)
        for head, start in ((self.move, 0.0), (self.spread, -3.5), (self.prior, -4.0)):
            nn.init.zeros_(head.weight)
            nn.init.constant_(head.bias, start)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return moves (e, 24), log spreads (e, 24) and log priors (e,) for inputs (e, F)."""
        h = self.body(x)
        # The spread must not bend what the body learns for the quantiles.
        return self.move(h), self.spread(h.detach()), self.prior(h)[:, 0]


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
    def of(
        cls,
        examples: Examples,
        rows: NDArray[np.int64],
        middle: Floats,
        scale: Floats,
        device: torch.device,
    ) -> Self:
        """Make lessons of the examples in `rows`."""
        parts = (examples.bounds, examples.reference, examples.truth, examples.log_prior)
        x = standard(examples.features[rows], middle, scale)
        return cls(x.to(device), *(torch.from_numpy(p[rows]).to(device) for p in parts))

    def inputs(
        self,
        rows: Tensor,
        rng: np.random.Generator,
        *,
        jitter: float = 0.0,
        kind: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return network inputs of rows, with guesses drawn at random, and the guesses."""
        x = self.x[rows]
        if jitter:
            noise = rng.standard_normal(x.shape, np.float32)
            x = x + jitter * torch.from_numpy(noise).to(x.device)
        kinds = torch.from_numpy(rng.choice(3, len(x), p=[0.2, 0.55, 0.25])).to(x.device)
        if kind is not None:
            kinds = torch.full_like(kinds, kind)
        # Some guesses are worse than they should be.
        error = rng.standard_normal(len(x)) * np.where(rng.random(len(x)) < 0.15, 2, 1)
        size = torch.where(kinds == SURE_GUESS, SURE, ROUGH)
        guess = self.log_prior[rows] + size * torch.from_numpy(error.astype(np.float32)).to(
            x.device
        )
        return torch.cat([x, guess_features(guess, kinds, self.bounds[rows])], 1), guess


def standard(features: Floats, middle: Floats, scale: Floats) -> Tensor:
    """Return features at mean 0 and standard deviation 1, within limits."""
    return torch.from_numpy(((features - middle) / scale).clip(-LIMIT, LIMIT))


def guess_features(log_guess: Tensor, kind: Tensor, bounds: Tensor) -> Tensor:
    """Return what is believed of the prior (e, 14): nothing, a rough guess, or a sure one."""
    about = torch.cat([(log_guess[:, None] + 4), bounds - log_guess[:, None]], 1) / 1.5
    about = about.clamp(-LIMIT, LIMIT)
    parts = []
    for one in (ROUGH_GUESS, SURE_GUESS):
        given = (kind == one).float()[:, None]
        parts += [given, given * about]
    return torch.cat(parts, 1)


def teach(
    network: ReadingNetwork,
    lessons: Lessons,
    rng: np.random.Generator,
    *,
    steps: int,
    rate: float,
    more: tuple[Lessons, float] | None = None,
    advance: Callable[[float], None] = lambda _: None,
) -> None:
    """Train a network.

    Parameters
    ----------
    network : ReadingNetwork
        Trained in place.
    lessons : Lessons
        What to learn.
    rng : Generator
        Chooses batches and guesses.
    steps : int
        Steps of gradient descent.
    rate : float
        Learning rate at the start; it falls to 0.
    more : tuple of (Lessons, float), optional
        Further lessons, and their share of a batch.
    advance : callable
        Called with 1 after each step.
    """
    own = BATCH - (int(more[1] * BATCH) if more else 0)
    parts = [(lessons, own), *([(more[0], BATCH - own)] if more else [])]
    optimizer = torch.optim.AdamW(network.parameters(), rate, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    network.requires_grad_(True).train()
    for _ in range(steps):
        optimizer.zero_grad()
        for part, size in parts:
            rows = torch.from_numpy(rng.integers(len(part.x), size=size)).to(part.x.device)
            loss = size / BATCH * _loss(network, part, rows, rng)
            loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        advance(1)
    network.eval().requires_grad_(False)


def _loss(
    network: ReadingNetwork, lessons: Lessons, rows: Tensor, rng: np.random.Generator
) -> Tensor:
    move, spread, prior = network(lessons.inputs(rows, rng, jitter=JITTER)[0])
    error = (lessons.reference[rows] * move.exp() - lessons.truth[rows]).abs()
    width = spread.clamp(*WIDTHS)
    likelihood = (error.detach() * (-width).exp() + width).mean()  # of Laplace's law
    wrong = (prior - lessons.log_prior[rows]).abs().mean()
    loss: Tensor = error.mean() + PRIOR_WEIGHT * wrong + 1e-3 * likelihood
    return loss
