"""The readout: from what a graph shows beside a reference to its same-class distances."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.after_shift import agree, centre, draw
from opengcn.rehearsal.candidates import candidates, plausible
from opengcn.rehearsal.episodes import Kind
from opengcn.rehearsal.examples import COMPARED, Examples, View
from opengcn.rehearsal.question import Asked
from opengcn.rehearsal.reader import Reader, given_inputs
from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.trust import Reading, alone, shifted, weigh
from opengcn.threads import one_blas_thread

__all__ = ["Prediction", "Readout"]

# What is read of D_cal's rows in the place of nodes should be nothing. This part of it is taken off
# readings of the nodes, if D_cal has many classes; of so few, half as much: they are a sample too.
LOPSIDED, MANY = 0.5, 10
FEW, ENOUGH = 2.0, 3000  # error of the readout where few pairs are seen, over their square root
# The band, the same for all data sets (docs/evidence.md): factors on how far candidates of the
# prior differ, and on what few classes in the set leave open.
BETWEEN, CLASSES = 1.2, 1.3
UNEQUAL = 0.2  # classes of a set count for so many of equal size
NORMAL, PRIOR_ERROR = 1.8, 0.3  # 90 % of an error of log prior, beside what candidates leave open

APART: tuple[Kind, ...] = ("mild", "hard")  # kinds of episodes with a school of their own
SCHOOLS = len(APART) + 1

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
    """Readers with what they need around them.

    Attributes
    ----------
    schools : tuple of Reader
        One for mild episodes, one for hard ones, and one for all of them, still ones too,
        which alone looks at D_cal's rows among the nodes.
    middle, scale : ndarray of shape (F + 34,)
        Mean and standard deviation of the features, and of what D_cal's rows see.
    """

    schools: tuple[Reader, ...]
    middle: Floats
    scale: Floats

    @classmethod
    @one_blas_thread()  # the number of cores must not change a bit
    def learn(cls, examples: Examples, own: Examples | None, seed: int) -> Self:
        """Learn from examples.

        D_train shows many classes, all of them seen by the embedder; D_cal shows few, and
        what unseen ones look like.

        Parameters
        ----------
        examples : Examples
            Of D_train.
        own : Examples or None
            Of D_cal, if it is large enough to rehearse on.
        seed : int
            Of the errors of priors that are given.

        Returns
        -------
        readout : Readout
            What it has learned.
        """
        rng = np.random.default_rng(seed)
        parts = [examples] if own is None else [examples, own]
        whole = [part.with_among() for part in parts]
        middle, scale = whole[0].features.mean(0), whole[0].features.std(0) + np.float32(1e-4)
        count = examples.features.shape[1]
        mild, hard = (
            Reader.learn([p.of_kind(kind) for p in parts], (middle[:count], scale[:count]), rng)
            for kind in APART
        )
        return cls((mild, hard, Reader.learn(whole, (middle, scale), rng)), middle, scale)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for a model file.

        Returns
        -------
        arrays : dict of str to ndarray
            What `of_arrays` takes.
        """
        found = {"middle": self.middle, "scale": self.scale}
        for s, reader in enumerate(self.schools):
            found |= {f"school{s}.{name}": array for name, array in reader.arrays().items()}
        return found

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Make a readout of what `arrays` returned.

        Parameters
        ----------
        arrays : dict of str to ndarray
            The arrays.

        Returns
        -------
        readout : Readout
            The same.
        """
        names = [field.name for field in fields(Reader)]
        schools = [Reader(*(arrays[f"school{s}.{n}"] for n in names)) for s in range(SCHOOLS)]
        return cls(tuple(schools), arrays["middle"], arrays["scale"])

    def predict(self, asked: Asked, reference: Reference) -> Prediction:
        """Predict for a set.

        Parameters
        ----------
        asked : Asked
            The set.
        reference : Reference
            D_cal.

        Returns
        -------
        prediction : Prediction
            The mean over candidates of the prior.
        """
        return self.judge(*self.read(asked, reference), reference, asked)

    @one_blas_thread()
    def read(self, asked: Asked, reference: Reference) -> tuple[Rate, Rate, Rate]:
        """Let each school read the graphs of a set.

        Parameters
        ----------
        asked : Asked
            The set.
        reference : Reference
            D_cal.

        Returns
        -------
        moves : ndarray of shape (s, c, 24)
            Of the quantiles, in logarithms, for each candidate of the prior.
        errors : ndarray of shape (s, c)
            Deviations that the schools give.
        log_priors : ndarray of shape (s,)
            What the graphs show each of the prior.
        """
        log_priors = candidates(asked.suggested, asked.hint)
        said = [self._said(school, asked.seen, log_priors) for school in self.schools]
        moves, errors, read = (np.stack(one) for one in zip(*said, strict=True))
        if asked.stand_ins:  # of which the last school should read that they are D_cal's
            lopsided = self._said(self.schools[-1], asked.stand_ins, log_priors[-1:])[0]
            part = LOPSIDED * reference.classes / (reference.classes + MANY)
            moves[-1] -= part * lopsided
        return moves, errors, np.minimum(read, 0.0)

    def _said(self, school: Reader, seen: list[View], log_priors: Rate) -> tuple[Rate, Rate, Rate]:
        """Return what a school says of views, on average, for each candidate of the prior."""
        features = np.stack([np.concatenate([v.features, v.among]) for v in seen])
        features = np.where(np.isnan(features), self.middle, features)
        bounds = np.stack([view.bounds for view in seen])[:, None]
        part = slice(school.features.shape[1])  # `among` is for the last one alone
        standard = self.middle[part], self.scale[part]
        said = school.read(features[:, part], given_inputs(log_priors, bounds), standard)
        moves, errors, read = (one.mean(0) for one in said)
        return moves, errors, read

    def judge(
        self, moves: Rate, errors: Rate, read: Rate, reference: Reference, asked: Asked
    ) -> Prediction:
        """Weigh what the schools say against each other, against D_cal, and over candidates.

        Parameters
        ----------
        moves, errors : ndarray of shape (s, c, 24), (s, c)
            What `read` returned.
        read : ndarray of shape (s,)
            Log priors that the graphs show: after a shift those of mild and hard rehearsals
            count, without one those of all.
        reference : Reference
            D_cal.
        asked : Asked
            The set.

        Returns
        -------
        prediction : Prediction
            The mean over candidates of the prior.
        """
        known, log_priors = reference.quantiles, candidates(asked.suggested, asked.hint)
        priors = np.exp(log_priors)
        moves = known * np.expm1(moves)
        errors = (known + moves).mean(2) * errors
        strangers = _strangers(moves, priors, reference, asked)
        farther = np.log(max(_mean(asked, "strange"), 1e-6) / strangers)
        chance, far = shifted(farther, _by_chance(priors, reference, asked))
        pairs = np.maximum(priors * asked.nodes * (asked.nodes - 1) / 2, 1)
        few = FEW * np.maximum(pairs**-0.5 - ENOUGH**-0.5, 0)
        about = centre(reference, strangers)
        after, level = agree(moves[:2], errors[:2], about), None
        if asked.level is not None:
            after, level = draw(after, known, asked.level), asked.level.still
        # Few pairs are no reason to rely on the level: that was no better (docs/tried.md).
        still, moved = (
            Reading(said.moves, np.hypot(said.errors, few))
            for said in (alone(moves[2], errors[2]), after)
        )
        believed = weigh(still, moved, asked.correction, reference.error, chance, level, about)
        shown = chance * read[:2].mean() + (1 - chance) * read[2]
        likely = plausible(log_priors, shown, asked, 1 - chance[-1]) + believed.evidence + far
        weights = np.exp(likely - np.logaddexp.reduce(likely))
        each = known + believed.moves
        part = _part(reference, asked)
        quantiles = np.sort(part * known + (1 - part) * (weights @ each)).clip(0, 2)
        suggested = asked.suggested if asked.hint is None else asked.hint
        middle = np.exp(weights @ log_priors)
        log_prior = float(np.log(part * suggested + (1 - part) * middle))
        equal = max(UNEQUAL * np.exp(-log_prior), 1)
        parts = [
            believed.deviations[:, None],
            BETWEEN * (each - quantiles),
            np.array(CLASSES * reference.error * np.sqrt(reference.classes / equal)),
        ]
        wide = (1 - 0.9 * part) * np.sqrt(weights @ sum(np.square(p) for p in parts))
        off = np.sqrt(weights @ (log_priors - log_prior) ** 2)
        open_prior = NORMAL * np.hypot(off, PRIOR_ERROR)
        prior, low, high = np.exp(np.minimum(log_prior + np.array([0, -open_prior, open_prior]), 0))
        return Prediction(
            quantiles,
            np.maximum.accumulate((quantiles - wide).clip(0, 2)),
            np.maximum.accumulate((quantiles + wide).clip(0, 2)),
            float(prior),
            float(low),
            float(high),
        )


def _strangers(moves: Rate, priors: Rate, reference: Reference, asked: Asked) -> Rate:
    """Return how far strangers in the set are from each other, for each candidate of the prior.

    What is not of one class is of strangers. So is every pair with D_cal, and these are as far
    from each other unless something has moved.
    """
    mean, odds = _mean(asked, "mean"), np.minimum(priors, 0.5) / (1 - np.minimum(priors, 0.5))
    within = (reference.quantiles + moves.mean(0)).mean(1)
    return np.asarray(np.maximum(mean + odds * (mean - within), 1e-6), np.float64)


def _by_chance(priors: Rate, reference: Reference, asked: Asked) -> Rate:
    """Return the variance of how much farther D_cal is than strangers are, if nothing has shifted.

    As in an analysis of variance: D_cal and the set have so many classes, large ones counting for
    more, and so many rows.
    """
    compared = min(len(reference.rows), COMPARED * len(asked.seen))
    share = reference.class_size / reference.size  # of any two rows that are of one class
    classes = max(share, 1 / compared) + np.maximum(priors, 1 / asked.nodes)
    rows = 1 / compared + 1 / asked.nodes
    return np.asarray(reference.scatter**2 * classes + reference.row_scatter**2 * rows, np.float64)


def _mean(asked: Asked, name: str) -> float:
    """Return what views of a set show, on average."""
    return float(np.mean([getattr(view, name) for view in asked.seen]))


def _part(reference: Reference, asked: Asked) -> float:
    """Return how much of the set is D_cal itself: of that, the labels are known."""
    found = _mean(asked, "found")
    return min(1.0, found * reference.size / asked.nodes)
