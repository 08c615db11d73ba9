"""The readout: from what a graph shows beside a reference to its same-class distances.

It predicts how far each quantile of the same-class distances lies from the reference's,
so that a readout that has learned nothing returns the reference. The loss is the mean
absolute error over the quantiles, which is twice the TPR part of MAE_comb.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from opengcn.progress import progress_bar
from opengcn.rehearsal.examples import Examples, View
from opengcn.rehearsal.reference import LEVELS
from opengcn.threads import one_torch_thread

__all__ = ["Guess", "Prediction", "Readout"]

FOLDS = 5  # networks, each trained without a fifth of the examples
STEPS, BATCH, WIDTH, RATE, DECAY, DROPOUT, JITTER = 1500, 128, 96, 2e-3, 1e-2, 0.1, 0.05
PRIOR_WEIGHT = 0.02
TRUST = 0.75  # in the readout; the rest in the reference, whose error has other causes
SHARED = (0.5, 0.15)  # trust in the readout's log prior beside a rough guess, and a sure one
WIDTHS = (-8.0, 1.0)  # limits of the logarithm of the spread
REHEARSED = 0.7  # coverage of the band on rehearsals, which are harsher than life: 90 % there
SURE, ROUGH = 0.1, 0.5  # standard deviation of log prior in the two kinds of guess
LIMIT = 5.0  # of standardised features, so that a stranger's data cannot run away

Floats = NDArray[np.float32]
Rate = NDArray[np.float64]


@dataclass(frozen=True)
class Guess:
    """What is believed of the prior beforehand.

    Attributes
    ----------
    prior : float
        Share of same-class pairs among all pairs.
    sure : bool
        True when a user has said so, False when it comes from the class sizes of D_cal.
    """

    prior: float
    sure: bool = False


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the readout predicts of a graph.

    Attributes
    ----------
    quantiles, low, high : ndarray of shape (24,)
        Same-class distances at the levels, and their band.
    prior, prior_low, prior_high : float
        Share of same-class pairs, and its band.
    """

    quantiles: Rate
    low: Rate
    high: Rate
    prior: float
    prior_low: float
    prior_high: float


class _Network(nn.Module):
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
        h = self.body(x)
        # The spread must not bend what the body learns for the quantiles.
        return self.move(h), self.spread(h.detach()), self.prior(h)[:, 0]


@dataclass(frozen=True, eq=False)
class Readout:
    """Networks with what they need around them.

    Attributes
    ----------
    networks : list of Module
        One a fold.
    middle, scale : ndarray of shape (F,)
        Mean and standard deviation of the features.
    stretch : float
        Factor on the spread with which the band covers 70 % of examples that a network has
        not seen; on real sets that is 90 % and more (docs/default.md).
    prior_errors : ndarray of shape (2, 2)
        5 % and 95 % quantiles of the error of log prior there, beside a rough guess of the
        prior and beside a sure one.
    """

    networks: list[_Network]
    middle: Floats
    scale: Floats
    stretch: float
    prior_errors: Rate

    @classmethod
    def train(
        cls, examples: Examples, seed: int, device: torch.device, *, progress: bool = True
    ) -> Self:
        """Train on examples.

        Parameters
        ----------
        examples : Examples
            At least ten.
        seed : int
            Of weights and batches.
        device : torch.device
            Where to train.
        progress : bool, default True
            Show a bar when it takes more than two seconds.

        Returns
        -------
        readout : Readout
            Trained.
        """
        middle = examples.features.mean(0)
        scale = examples.features.std(0) + 1e-4
        fold = np.random.default_rng(seed).permutation(len(examples)) % FOLDS
        networks: list[_Network] = []
        ratios, errors = [], []
        devices = [device] if device.type == "cuda" else []
        with (
            _TRAINING,
            one_torch_thread(),
            progress_bar("Learning to read graphs", FOLDS * STEPS, show=progress) as advance,
        ):
            for k in range(FOLDS):
                kept = np.flatnonzero(fold != k)
                data = _Tensors.of(examples, kept, middle, scale, device)
                with torch.random.fork_rng(
                    devices
                ):  # of weights and dropout: give it back as it was
                    torch.manual_seed(seed + k)
                    network = _Network(examples.features.shape[1] + _EXTRA).to(device)
                    _fit(network, data, np.random.default_rng([seed, k]), advance)
                held = _Tensors.of(examples, np.flatnonzero(fold == k), middle, scale, device)
                ratio, error = _held_out(network, held, np.random.default_rng([seed, k, 1]))
                ratios.append(ratio.ravel())
                errors.append(error)
                networks.append(network)
        stretch = float(np.quantile(np.concatenate(ratios), REHEARSED))
        both = np.quantile(np.concatenate(errors, 1), [0.05, 0.95], axis=1).T
        return cls(networks, middle, scale, stretch, np.asarray(both, np.float64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything but `stretch` as arrays, for a model file.

        Returns
        -------
        arrays : dict of str to ndarray
            What `of_arrays` takes.
        """
        weights = {
            f"network{k}.{name}": value.cpu().numpy()
            for k, network in enumerate(self.networks)
            for name, value in network.state_dict().items()
        }
        own = {"middle": self.middle, "scale": self.scale, "prior_errors": self.prior_errors}
        return weights | own

    @classmethod
    def of_arrays(
        cls, arrays: dict[str, NDArray[Any]], stretch: float, device: torch.device
    ) -> Self:
        """Make a readout of what `arrays` returned.

        Parameters
        ----------
        arrays : dict of str to ndarray
            The arrays.
        stretch : float
            As it was.
        device : torch.device
            Where the networks run.

        Returns
        -------
        readout : Readout
            The same.
        """
        networks = []
        for k in range(FOLDS):
            network = _Network(len(arrays["middle"]) + _EXTRA)
            start = f"network{k}."
            own = {n.removeprefix(start): v for n, v in arrays.items() if n.startswith(start)}
            network.load_state_dict({n: torch.from_numpy(v) for n, v in own.items()})
            networks.append(network.to(device).eval().requires_grad_(False))
        return cls(networks, arrays["middle"], arrays["scale"], stretch, arrays["prior_errors"])

    def predict(self, seen: list[View], reference: Rate, guess: Guess | None) -> Prediction:
        """Predict from views of several graphs of one set.

        Parameters
        ----------
        seen : list of View
            The views.
        reference : ndarray of shape (24,)
            Quantiles of the reference.
        guess : Guess, optional
            What is believed of the prior.

        Returns
        -------
        prediction : Prediction
            Averaged over graphs and networks.
        """
        device = next(self.networks[0].parameters()).device
        features = np.stack([v.features for v in seen])
        x = _standard(features, self.middle, self.scale)
        bounds = torch.from_numpy(np.stack([v.bounds for v in seen]))
        if guess is None:
            log_guess, kind = torch.zeros(len(seen)), torch.full((len(seen),), _NO_GUESS)
        else:
            log_guess = torch.full((len(seen),), float(np.log(guess.prior)))
            kind = torch.full((len(seen),), _SURE if guess.sure else _ROUGH)
        x = torch.cat([x, _guess_features(log_guess, kind, bounds)], 1).to(device)
        with torch.no_grad(), one_torch_thread():
            out = [[part.cpu().double().numpy() for part in net(x)] for net in self.networks]
        quantiles = np.mean([reference * np.exp(move) for move, _, _ in out], axis=(0, 1))
        quantiles = np.sort(TRUST * quantiles + (1 - TRUST) * reference).clip(0, 2)
        widths = np.clip([s for _, s, _ in out], *WIDTHS)
        spread = self.stretch * np.exp(widths.mean(axis=(0, 1)))
        log_prior = float(np.mean([p for _, _, p in out]))
        sure = guess is not None and guess.sure
        if guess is not None:
            own = SHARED[int(sure)]
            log_prior = own * log_prior + (1 - own) * float(np.log(guess.prior))
        errors = self.prior_errors[int(sure)]
        low, high = (np.exp(np.minimum(log_prior + e, 0)) for e in errors)
        return Prediction(
            quantiles,
            np.maximum.accumulate((quantiles - spread).clip(0, 2)),
            np.maximum.accumulate((quantiles + spread).clip(0, 2)),
            float(np.exp(min(log_prior, 0.0))),
            float(low),
            float(high),
        )


_TRAINING = Lock()  # dropout draws from torch's global generator: one training at a time
_NO_GUESS, _ROUGH, _SURE = 0, 1, 2
_EXTRA = 2 * (2 + 5)  # guess features: for either kind a flag, the guess, its distance to bounds


@dataclass(frozen=True, eq=False)
class _Tensors:
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
        parts = (examples.bounds, examples.reference, examples.truth, examples.log_prior)
        x = _standard(examples.features[rows], middle, scale)
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
        size = torch.where(kinds == _SURE, SURE, ROUGH)
        guess = self.log_prior[rows] + size * torch.from_numpy(error.astype(np.float32)).to(
            x.device
        )
        return torch.cat([x, _guess_features(guess, kinds, self.bounds[rows])], 1), guess


def _standard(features: Floats, middle: Floats, scale: Floats) -> Tensor:
    return torch.from_numpy(((features - middle) / scale).clip(-LIMIT, LIMIT))


def _guess_features(log_guess: Tensor, kind: Tensor, bounds: Tensor) -> Tensor:
    about = torch.cat([(log_guess[:, None] + 4), bounds - log_guess[:, None]], 1) / 1.5
    about = about.clamp(-LIMIT, LIMIT)
    parts = []
    for one in (_ROUGH, _SURE):
        given = (kind == one).float()[:, None]
        parts += [given, given * about]
    return torch.cat(parts, 1)


def _fit(
    network: _Network,
    data: _Tensors,
    rng: np.random.Generator,
    advance: Callable[[float], None],
) -> None:
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    network.train()
    for _ in range(STEPS):
        rows = torch.from_numpy(rng.integers(len(data.x), size=BATCH)).to(data.x.device)
        move, spread, prior = network(data.inputs(rows, rng, jitter=JITTER)[0])
        error = (data.reference[rows] * move.exp() - data.truth[rows]).abs()
        width = spread.clamp(*WIDTHS)
        likelihood = (error.detach() * (-width).exp() + width).mean()  # of Laplace's law
        wrong = (prior - data.log_prior[rows]).abs().mean()
        loss = error.mean() + PRIOR_WEIGHT * wrong + 1e-3 * likelihood
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        advance(1)
    network.eval().requires_grad_(False)


def _held_out(network: _Network, data: _Tensors, rng: np.random.Generator) -> tuple[Rate, Rate]:
    """Return what the network gets wrong on examples that it has not seen.

    Errors of the quantiles over their spreads (e, 24), with a rough guess of the prior; and
    errors of log prior (2, e), with a rough guess and with a sure one.
    """
    rows = torch.arange(len(data.x), device=data.x.device)
    errors: list[Tensor] = []
    with torch.no_grad():
        for kind in (_SURE, _ROUGH):
            x, guess = data.inputs(rows, rng, kind=kind)
            move, spread, prior = network(x)
            own = SHARED[int(kind == _SURE)]
            errors.insert(0, data.log_prior - (own * prior + (1 - own) * guess))
        found = TRUST * data.reference * move.exp() + (1 - TRUST) * data.reference
        ratio = (found - data.truth).abs() / spread.clamp(*WIDTHS).exp()
    return ratio.cpu().double().numpy(), torch.stack(errors).cpu().double().numpy()
