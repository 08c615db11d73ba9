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
from opengcn.rehearsal.candidates import candidates, plausible
from opengcn.rehearsal.examples import SCHOOLS, Examples
from opengcn.rehearsal.question import Asked
from opengcn.rehearsal.reading_network import (
    BATCH,
    WIDTHS,
    Lessons,
    ReadingNetworks,
    given_features,
    standard,
    teach,
)
from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.trust import weigh
from opengcn.threads import one_torch_thread

__all__ = ["Prediction", "Readout"]

FOLDS = 5  # networks of a school, each trained without a fifth of its examples
DOUBT = 0.75  # error of the readout, over how far the schools differ
STEPS, RATE = 1500, 2e-3
OWN_STEPS, OWN_RATE, OWN_SHARE = 400, 1e-3, 0.3  # when D_cal's own rehearsals are added
FEW, ENOUGH = 0.6, 1000  # error of the readout where few pairs are seen, over their square root
EVIDENCE = 2.0  # a curve says about as much as so many independent distances
FULL_BATCH = 64  # questions that the networks answer at once
STEPS_AN_EXAMPLE = 5  # at most: few examples are learned soon
# The band, chosen once for all data sets (docs/default.md): of rehearsals, which are harsher than
# life, this share is covered; of other errors, 90 % of a normal one.
REHEARSED, KINDER, NORMAL = 0.7, 0.8, 2.0
BETWEEN = 1.5  # on how far candidates of the prior differ
OVERSHOT = 0.1  # of a move
UNEQUAL = 0.5  # classes of a set count for so many of equal size
PRIOR_ERROR = 0.3  # of log prior, beside what the candidates leave open

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
        One a fold of each school, and, once it is taught on D_cal, as many again.
    middle, scale : ndarray of shape (F,)
        Mean and standard deviation of the features.
    stretch : float
        Factor on the spread that covers 70 % of examples that a network has not seen.
    """

    networks: ReadingNetworks
    middle: Floats
    scale: Floats
    stretch: float

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
        order = np.random.default_rng(seed).permuted(_by_school(examples), axis=1)
        folds = order[:, : order.shape[1] // FOLDS * FOLDS].reshape(SCHOOLS, FOLDS, -1)
        others = [[np.delete(of, k, 0).ravel() for k in range(FOLDS)] for of in folds]
        rows, folds = np.concatenate(others), np.concatenate(folds)
        steps = min(STEPS, STEPS_AN_EXAMPLE * order.shape[1])
        lessons = Lessons.of(examples, middle, scale, device)
        with (
            _TRAINING,
            one_torch_thread(),
            progress_bar("Learning to read graphs", steps, show=progress) as advance,
            _own_randomness(seed, device),
        ):
            networks = ReadingNetworks(SCHOOLS * FOLDS, examples.features.shape[1]).to(device)
            rng = np.random.default_rng([seed, 0])
            lesson = [(lessons, rows, BATCH)]
            teach(networks, lesson, rng, steps=steps, rate=RATE, advance=advance)
            ratios = _held_out(networks, lessons, folds, rng)
        return cls(networks, middle, scale, float(np.quantile(ratios, REHEARSED)))

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
            (Lessons.of(e, self.middle, self.scale, device), _of_school(e), size)
            for e, size in zip((examples, own), sizes, strict=True)
        ]
        steps = min(OWN_STEPS, STEPS_AN_EXAMPLE * len(own) // SCHOOLS)
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
        return weights | {"middle": self.middle, "scale": self.scale}

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
        own = {n: arrays[n] for n in ("middle", "scale")}
        weights = {n: torch.from_numpy(v) for n, v in arrays.items() if n not in own}
        networks = ReadingNetworks(len(weights["prior.bias"]), len(own["middle"]))
        networks.load_state_dict(weights)
        networks.to(device).eval().requires_grad_(False)
        return cls(networks, own["middle"], own["scale"], stretch)

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
        inputs = [self._inputs(one) for one in sets]
        said = self._said(torch.cat(inputs))
        ends = np.cumsum([len(x) for x in inputs])
        return [
            self._prediction([part[:, end - len(x) : end] for part in said], reference, one)
            for one, x, end in zip(sets, inputs, ends, strict=True)
        ]

    def _inputs(self, asked: Asked) -> torch.Tensor:
        """Return inputs (v (1 + c), F + 7): each view without a prior, then with each candidate."""
        x = standard(np.stack([v.features for v in asked.seen]), self.middle, self.scale)
        bounds = torch.from_numpy(np.stack([v.bounds for v in asked.seen]))
        log_priors = torch.from_numpy(np.append(0, candidates(asked)).astype(np.float32))
        given = torch.ones(len(log_priors))
        given[0] = 0
        each = (len(x), len(given))
        about = given_features(
            log_priors.expand(each), given.expand(each), bounds[:, None].expand(*each, -1)
        )
        return torch.cat([x[:, None].expand(*each, -1), about], -1).flatten(0, 1)

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
        """Average what the networks say of the graphs of one set, over candidates of the prior."""
        moves, widths, priors = (
            part.reshape(len(part), len(asked.seen), -1, *part.shape[2:]).mean(1) for part in said
        )
        known, log_priors = reference.quantiles, candidates(asked)
        reads = known * np.exp(moves[:, 1:])
        mild, hard = reads[-SCHOOLS * FOLDS : -FOLDS].mean(0), reads[-FOLDS:].mean(0)
        plain, taught = reads[: SCHOOLS * FOLDS].mean(0), (mild + hard) / 2
        pairs = np.maximum(np.exp(log_priors) * asked.nodes * (asked.nodes - 1) / 2, 1)
        few = FEW * np.maximum(pairs**-0.5 - ENOUGH**-0.5, 0)
        apart = np.hypot(np.abs(taught - plain).mean(1), DOUBT * np.abs(hard - mild).mean(1))
        move = taught - known
        trusted, evidence = weigh(move, reference.error, apart, few)
        likely = plausible(log_priors, priors[:, 0].mean(), asked) + EVIDENCE * evidence
        weights = np.exp(likely - np.logaddexp.reduce(likely))
        trusted = trusted[:, None]
        each = known + trusted * move
        quantiles = np.sort(weights @ each).clip(0, 2)
        log_prior = float(np.log(weights @ np.exp(log_priors)))
        classes = max(UNEQUAL * np.exp(-log_prior), 1)
        errors = [
            trusted * KINDER * self.stretch * np.exp(widths[:, 1:].clip(*WIDTHS).mean(0)),
            (1 - trusted) * NORMAL * reference.error,
            np.hypot(apart, few)[:, None],
            OVERSHOT * move,
            BETWEEN * (each - quantiles),
            np.array(NORMAL * reference.error * np.sqrt(reference.classes / classes)),
        ]
        spread = np.sqrt(weights @ sum(np.square(error) for error in errors))
        open_ = NORMAL * np.hypot(np.sqrt(weights @ (log_priors - log_prior) ** 2), PRIOR_ERROR)
        prior, low, high = np.exp(np.minimum(log_prior + np.array([0, -open_, open_]), 0))
        return Prediction(
            quantiles,
            np.maximum.accumulate((quantiles - spread).clip(0, 2)),
            np.maximum.accumulate((quantiles + spread).clip(0, 2)),
            float(prior),
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


def _by_school(examples: Examples) -> NDArray[np.int64]:
    """Return the examples (s, m) of each school: they come in turn."""
    return np.arange(len(examples) // SCHOOLS * SCHOOLS).reshape(-1, SCHOOLS).T


def _of_school(examples: Examples) -> NDArray[np.int64]:
    """Return, for each network (k, m), the examples of its school."""
    return np.repeat(_by_school(examples), FOLDS, axis=0)


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
) -> Rate:
    """Return errors of the quantiles over their spreads (k, m, 24), with the prior given.

    Of the examples (k, m) that each network has not seen.
    """
    rows = torch.from_numpy(folds).to(lessons.x.device)
    with torch.no_grad():
        move, spread, _ = networks(lessons.inputs(rows, rng, chance=1.0))
        wrong = (lessons.reference[rows] * move.exp() - lessons.truth[rows]).abs()
        ratio = wrong / spread.clamp(*WIDTHS).exp()
    return np.asarray(ratio.cpu(), np.float64)
