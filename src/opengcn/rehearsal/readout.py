"""The readout: from what a graph shows beside a reference to its same-class distances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from opengcn.progress import progress_bar
from opengcn.rehearsal.examples import Examples
from opengcn.rehearsal.question import Asked
from opengcn.rehearsal.reading_network import (
    BATCH,
    NO_GUESS,
    ROUGH_GUESS,
    SURE_GUESS,
    WIDTHS,
    Lessons,
    ReadingNetworks,
    guess_features,
    standard,
    teach,
)
from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.trust import RELATIVE, trust
from opengcn.threads import one_torch_thread

__all__ = ["Prediction", "Readout"]

FOLDS = 5  # networks, each trained without a fifth of the examples
STEPS, RATE = 1500, 2e-3
OWN_STEPS, OWN_RATE, OWN_SHARE = 400, 1e-3, 0.3  # when D_cal's own rehearsals are added
TAUGHT = 0.7  # weight of the networks that know D_cal beside those that know D_train alone
FEW, ENOUGH = 3.0, 1000  # error of the readout where few pairs are seen, over their square root
FULL_BATCH = 64  # views that the networks read at once
STEPS_AN_EXAMPLE = 5  # at most: few examples are learned soon
SHARED = (0.5, 0.15)  # trust in the readout's log prior beside a rough guess, and a sure one
# The band, chosen once for all data sets (docs/default.md): of rehearsals, which are harsher than
# life, this share is covered; of D_cal's error, 90 % of a normal one; the prior is worse in life.
REHEARSED, KINDER, NORMAL, PRIOR_WORSE = 0.7, 0.9, 2.0, 1.5

Floats = NDArray[np.float32]
Rate = NDArray[np.float64]


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
    networks : ReadingNetworks
        One a fold, and, once it is taught on D_cal, another one a fold.
    middle, scale : ndarray of shape (F,)
        Mean and standard deviation of the features.
    stretch : float
        Factor on the spread that covers 70 % of examples that a network has not seen.
    prior_errors : ndarray of shape (2, 2)
        5 % and 95 % quantiles of the error of log prior there, beside a rough guess of the
        prior and beside a sure one.
    """

    networks: ReadingNetworks
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
        order = np.random.default_rng(seed).permutation(len(examples))
        folds = order[: len(order) // FOLDS * FOLDS].reshape(FOLDS, -1)
        rows = np.stack([np.delete(folds, k, 0).ravel() for k in range(FOLDS)])
        steps = min(STEPS, STEPS_AN_EXAMPLE * len(examples))
        lessons = Lessons.of(examples, middle, scale, device)
        with (
            _TRAINING,
            one_torch_thread(),
            progress_bar("Learning to read graphs", steps, show=progress) as advance,
            _own_randomness(seed, device),
        ):
            networks = ReadingNetworks(FOLDS, examples.features.shape[1]).to(device)
            rng = np.random.default_rng([seed, 0])
            lesson = [(lessons, rows, BATCH)]
            teach(networks, lesson, rng, steps=steps, rate=RATE, advance=advance)
            ratios, errors = _held_out(networks, lessons, folds, rng)
        stretch = float(np.quantile(ratios, REHEARSED))
        both = np.quantile(errors.reshape(2, -1), [0.05, 0.95], axis=1).T
        return cls(networks, middle, scale, stretch, np.asarray(both, np.float64))

    def taught(self, examples: Examples, own: Examples, seed: int) -> Self:
        """Return a readout with networks that have also rehearsed on D_cal.

        D_train shows many classes, all of them seen by the embedder; D_cal shows few, and
        what unseen ones look like. Neither is always right about the next set, so the
        networks that know D_train alone stay beside those that know both.

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
        device = self.networks.device
        networks = deepcopy(self.networks)
        sizes = (BATCH - int(OWN_SHARE * BATCH), int(OWN_SHARE * BATCH))
        lessons = [
            (Lessons.of(e, self.middle, self.scale, device), _all(e), size)
            for e, size in zip((examples, own), sizes, strict=True)
        ]
        steps = min(OWN_STEPS, STEPS_AN_EXAMPLE * len(own))
        with (
            _TRAINING,
            one_torch_thread(),
            progress_bar("Learning from D_cal", steps) as advance,
            _own_randomness(seed, device),
        ):
            rng = np.random.default_rng([seed, 1])
            teach(networks, lessons, rng, steps=steps, rate=OWN_RATE, advance=advance)
        return replace(self, networks=_joined(self.networks, networks))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything but `stretch` as arrays, for a model file.

        Returns
        -------
        arrays : dict of str to ndarray
            What `of_arrays` takes.
        """
        weights = {n: v.cpu().numpy() for n, v in self.networks.state_dict().items()}
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
        own = {n: arrays[n] for n in ("middle", "scale", "prior_errors")}
        weights = {n: torch.from_numpy(v) for n, v in arrays.items() if n not in own}
        networks = ReadingNetworks(len(weights["prior.bias"]), len(own["middle"]))
        networks.load_state_dict(weights)
        networks.to(device).eval().requires_grad_(False)
        return cls(networks, own["middle"], own["scale"], stretch, own["prior_errors"])

    def predict(self, sets: Sequence[Asked], reference: Reference) -> list[Prediction]:
        """Predict for several sets; the networks read their views in full batches.

        Parameters
        ----------
        sets : sequence of Asked
            The sets.
        reference : Reference
            D_cal.

        Returns
        -------
        predictions : list of Prediction
            One a set.
        """
        if not sets:
            return []
        said = self._said(torch.cat([self._inputs(one) for one in sets]))
        ends = np.cumsum([len(one.seen) for one in sets])
        return [
            self._prediction([part[:, end - len(one.seen) : end] for part in said], reference, one)
            for one, end in zip(sets, ends, strict=True)
        ]

    def _inputs(self, asked: Asked) -> torch.Tensor:
        seen, guess = asked.seen, asked.guess
        x = standard(np.stack([v.features for v in seen]), self.middle, self.scale)
        bounds = torch.from_numpy(np.stack([v.bounds for v in seen]))
        log_guess, kind = torch.zeros(len(seen)), torch.full((len(seen),), NO_GUESS)
        if guess is not None:
            log_guess += float(np.log(guess.prior))
            kind += SURE_GUESS if guess.sure else ROUGH_GUESS
        return torch.cat([x, guess_features(log_guess, kind, bounds)], 1)

    def _said(self, x: torch.Tensor) -> list[Rate]:
        """Return moves, widths and priors (k, e, ...) that the networks read from inputs (e, F).

        Every batch has the same shape, so what is said of a view does not depend, to the bit,
        on the views beside it: products of another shape round differently.
        """
        whole = torch.nn.functional.pad(x, (0, 0, 0, -len(x) % FULL_BATCH))
        with torch.no_grad(), one_torch_thread():
            said = [
                self.networks(part.to(self.networks.device).expand(len(self.networks), -1, -1))
                for part in torch.split(whole, FULL_BATCH)
            ]
        parts = (torch.cat(part, 1)[:, : len(x)] for part in zip(*said, strict=True))
        return [part.cpu().double().numpy() for part in parts]

    def _prediction(self, said: list[Rate], reference: Reference, asked: Asked) -> Prediction:
        """Average what the networks say of the graphs of one set."""
        moves, widths, priors = said
        guess, nodes = asked.guess, asked.nodes
        known = reference.quantiles
        log_prior = float(priors.mean())
        sure = guess is not None and guess.sure
        if guess is not None:
            own = SHARED[int(sure)]
            log_prior = own * log_prior + (1 - own) * float(np.log(guess.prior))
        reads = known * np.exp(moves)
        before, after = reads[:FOLDS].mean(axis=(0, 1)), reads[-FOLDS:].mean(axis=(0, 1))
        read = TAUGHT * after + (1 - TAUGHT) * before
        pairs = max(np.exp(min(log_prior, 0.0)) * nodes * (nodes - 1) / 2, 1.0)
        few = FEW * max(pairs**-0.5 - ENOUGH**-0.5, 0.0)
        apart = float(np.hypot(np.abs(after - before).mean(), few))
        move = read - known
        weight = trust(move, reference.error, apart)
        quantiles = np.sort(known + weight * move).clip(0, 2)
        own_error = KINDER * self.stretch * np.exp(widths.clip(*WIDTHS).mean(axis=(0, 1)))
        errors = [
            weight * own_error,
            (1 - weight) * NORMAL * reference.error,
            apart,
            RELATIVE * np.abs(move),
        ]
        spread = np.sqrt(sum(np.square(error) for error in errors))
        ends = PRIOR_WORSE * self.prior_errors[int(sure)]
        low, high = (np.exp(np.minimum(log_prior + end, 0)) for end in ends)
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


def _all(examples: Examples) -> NDArray[np.int64]:
    return np.tile(np.arange(len(examples)), (FOLDS, 1))


def _joined(one: ReadingNetworks, other: ReadingNetworks) -> ReadingNetworks:
    """Return the networks of both."""
    both = ReadingNetworks(len(one) + len(other), one.features).to(one.device)
    weights = one.state_dict(), other.state_dict()
    both.load_state_dict({name: torch.cat([w[name] for w in weights]) for name in weights[0]})
    return both.eval().requires_grad_(False)


def _held_out(
    networks: ReadingNetworks,
    lessons: Lessons,
    folds: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[Rate, Rate]:
    """Return what networks get wrong on the examples (k, m) that they have not seen.

    Errors of the quantiles over their spreads (k, m, 24), with a rough guess of the prior;
    and errors of log prior (2, k, m), with a rough guess and with a sure one.
    """
    rows = torch.from_numpy(folds).to(lessons.x.device)
    errors: list[torch.Tensor] = []
    with torch.no_grad():
        for kind in (SURE_GUESS, ROUGH_GUESS):
            x, guess = lessons.inputs(rows, rng, kind=kind)
            move, spread, prior = networks(x)
            own = SHARED[int(kind == SURE_GUESS)]
            errors.insert(0, lessons.log_prior[rows] - (own * prior + (1 - own) * guess))
        wrong = (lessons.reference[rows] * move.exp() - lessons.truth[rows]).abs()
        ratio = wrong / spread.clamp(*WIDTHS).exp()
    return ratio.cpu().double().numpy(), torch.stack(errors).cpu().double().numpy()
