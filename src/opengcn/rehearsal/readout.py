"""The readout: from what a graph shows beside a reference to its same-class distances."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from opengcn.progress import progress_bar
from opengcn.rehearsal.examples import Examples, View
from opengcn.rehearsal.reading_network import (
    GUESS_FEATURES,
    NO_GUESS,
    ROUGH_GUESS,
    SURE_GUESS,
    WIDTHS,
    Lessons,
    ReadingNetwork,
    guess_features,
    standard,
    teach,
)
from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.trust import trust
from opengcn.threads import one_torch_thread

__all__ = ["Guess", "Prediction", "Readout"]

FOLDS = 5  # networks, each trained without a fifth of the examples
STEPS, RATE = 1500, 2e-3
OWN_STEPS, OWN_RATE, OWN_SHARE = 400, 1e-3, 0.3  # when D_cal's own rehearsals are added
STEPS_AN_EXAMPLE = 5  # at most: few examples are learned soon
SHARED = (0.5, 0.15)  # trust in the readout's log prior beside a rough guess, and a sure one
# The band, chosen once for all data sets (docs/default.md): of rehearsals, which are harsher than
# life, this share is covered; of D_cal's error, 90 % of a normal one; the prior is worse in life.
REHEARSED, KINDER, NORMAL, PRIOR_WORSE = 0.7, 0.9, 2.0, 1.5

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
        Factor on the spread that covers 70 % of examples that a network has not seen.
    prior_errors : ndarray of shape (2, 2)
        5 % and 95 % quantiles of the error of log prior there, beside a rough guess of the
        prior and beside a sure one.
    """

    networks: list[ReadingNetwork]
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
        steps = min(STEPS, STEPS_AN_EXAMPLE * len(examples))
        networks: list[ReadingNetwork] = []
        ratios, errors = [], []
        with (
            _TRAINING,
            one_torch_thread(),
            progress_bar("Learning to read graphs", FOLDS * steps, show=progress) as advance,
        ):
            for k in range(FOLDS):
                kept = np.flatnonzero(fold != k)
                lessons = Lessons.of(examples, kept, middle, scale, device)
                with _own_randomness(seed + k, device):
                    network = ReadingNetwork(examples.features.shape[1] + GUESS_FEATURES)
                    rng = np.random.default_rng([seed, k])
                    network.to(device)
                    teach(network, lessons, rng, steps=steps, rate=RATE, advance=advance)
                held = Lessons.of(examples, np.flatnonzero(fold == k), middle, scale, device)
                ratio, error = _held_out(network, held, np.random.default_rng([seed, k, 1]))
                ratios.append(ratio.ravel())
                errors.append(error)
                networks.append(network)
        stretch = float(np.quantile(np.concatenate(ratios), REHEARSED))
        both = np.quantile(np.concatenate(errors, 1), [0.05, 0.95], axis=1).T
        return cls(networks, middle, scale, stretch, np.asarray(both, np.float64))

    def taught(self, examples: Examples, own: Examples, seed: int) -> Self:
        """Return a readout that has also rehearsed on D_cal.

        D_train shows many classes, all of them seen by the embedder; D_cal shows few, and
        what unseen ones look like.

        Parameters
        ----------
        examples : Examples
            Of D_train, as in `train`.
        own : Examples
            Of D_cal.
        seed : int
            Of batches.

        Returns
        -------
        readout : Readout
            Another one; this one is left as it is.
        """
        device = next(self.networks[0].parameters()).device
        networks = deepcopy(self.networks)
        old, new = (
            Lessons.of(e, np.arange(len(e)), self.middle, self.scale, device)
            for e in (examples, own)
        )
        steps = min(OWN_STEPS, STEPS_AN_EXAMPLE * len(own))
        with (
            _TRAINING,
            one_torch_thread(),
            progress_bar("Learning from D_cal", FOLDS * steps) as advance,
        ):
            for k, network in enumerate(networks):
                with _own_randomness(seed + k, device):
                    teach(
                        network,
                        old,
                        np.random.default_rng([seed, k, 2]),
                        steps=steps,
                        rate=OWN_RATE,
                        more=(new, OWN_SHARE),
                        advance=advance,
                    )
        return replace(self, networks=networks)

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
            network = ReadingNetwork(len(arrays["middle"]) + GUESS_FEATURES)
            start = f"network{k}."
            own = {n.removeprefix(start): v for n, v in arrays.items() if n.startswith(start)}
            network.load_state_dict({n: torch.from_numpy(v) for n, v in own.items()})
            networks.append(network.to(device).eval().requires_grad_(False))
        return cls(networks, arrays["middle"], arrays["scale"], stretch, arrays["prior_errors"])

    def predict(self, seen: list[View], reference: Reference, guess: Guess | None) -> Prediction:
        """Predict from views of several graphs of one set.

        Parameters
        ----------
        seen : list of View
            The views.
        reference : Reference
            D_cal.
        guess : Guess, optional
            What is believed of the prior.

        Returns
        -------
        prediction : Prediction
            Averaged over graphs and networks.
        """
        device = next(self.networks[0].parameters()).device
        x = standard(np.stack([v.features for v in seen]), self.middle, self.scale)
        bounds = torch.from_numpy(np.stack([v.bounds for v in seen]))
        log_guess, kind = torch.zeros(len(seen)), torch.full((len(seen),), NO_GUESS)
        if guess is not None:
            log_guess += float(np.log(guess.prior))
            kind += SURE_GUESS if guess.sure else ROUGH_GUESS
        x = torch.cat([x, guess_features(log_guess, kind, bounds)], 1).to(device)
        with torch.no_grad(), one_torch_thread():
            out = [[part.cpu().double().numpy() for part in net(x)] for net in self.networks]
        known = reference.quantiles
        read = np.mean([known * np.exp(move) for move, _, _ in out], axis=(0, 1))
        weight = trust(read - known, reference.error)
        quantiles = np.sort(weight * read + (1 - weight) * known).clip(0, 2)
        widths = np.clip([s for _, s, _ in out], *WIDTHS)
        own_error = KINDER * self.stretch * np.exp(widths.mean(axis=(0, 1)))
        spread = np.hypot(weight * own_error, (1 - weight) * NORMAL * reference.error)
        log_prior = float(np.mean([p for _, _, p in out]))
        sure = guess is not None and guess.sure
        if guess is not None:
            own = SHARED[int(sure)]
            log_prior = own * log_prior + (1 - own) * float(np.log(guess.prior))
        errors = PRIOR_WORSE * self.prior_errors[int(sure)]
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


@contextmanager
def _own_randomness(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch, for weights and dropout, and give its generator back as it was."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def _held_out(
    network: ReadingNetwork, data: Lessons, rng: np.random.Generator
) -> tuple[Rate, Rate]:
    """Return what the network gets wrong on examples that it has not seen.

    Errors of the quantiles over their spreads (e, 24), with a rough guess of the prior; and
    errors of log prior (2, e), with a rough guess and with a sure one.
    """
    rows = torch.arange(len(data.x), device=data.x.device)
    errors: list[torch.Tensor] = []
    with torch.no_grad():
        for kind in (SURE_GUESS, ROUGH_GUESS):
            x, guess = data.inputs(rows, rng, kind=kind)
            move, spread, prior = network(x)
            own = SHARED[int(kind == SURE_GUESS)]
            errors.insert(0, data.log_prior - (own * prior + (1 - own) * guess))
        wrong = (data.reference * move.exp() - data.truth).abs()
        ratio = wrong / spread.clamp(*WIDTHS).exp()
    return ratio.cpu().double().numpy(), torch.stack(errors).cpu().double().numpy()
