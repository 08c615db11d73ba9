"""A reader: from what a graph shows to how far its same-class distances lie from a reference's.

Gaussian process regression on rehearsed examples, also known as kriging. Between examples it
interpolates; far from all of them it follows a linear trend, adds nothing of its own, and says
that it is not sure. Networks are as good where a set is like the rehearsals, and each goes its own
way where it is not (docs/evidence.md).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.examples import Examples

__all__ = ["Reader", "given_inputs"]

# Chosen for all data sets (docs/evidence.md): the noise with real sets in view, of which readings
# go less far astray when it is larger than rehearsals ask for; the rest on rehearsals.
LENGTH, ROUGH_LENGTH = 1.5, 2.0  # over which readings of the moves and of the prior change
LINEAR = 1.0  # variance of a linear trend beside that of the rest
NOISE = 0.05  # variance of what the inputs do not tell
GIVEN_SCALE = 2.0  # weight of what is said of the prior beside a feature
GIVEN_ERROR = 0.1  # of the logarithm of the priors that are given
JUDGES = 512  # examples, in even steps, that tell how sure a reading is
LIMIT = 5.0  # of standardised features, so that a stranger's data cannot run away
LEAST = 1e-3  # distance that still counts: logarithms of 0 do not exist

Floats = NDArray[np.float32]
Rate = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reader:
    """Examples with their weights.

    Attributes
    ----------
    features : ndarray of shape (m, F)
        Of the examples, standardised.
    given : ndarray of shape (m, 6)
        What is said of their priors.
    moves : ndarray of shape (m, 24)
        Weights in readings of log(q / reference), for each quantile q of the same-class
        distances.
    priors : ndarray of shape (m,)
        Weights in readings of the log prior.
    usual_prior : ndarray of shape (1,)
        Mean log prior of the examples.
    precision : ndarray of shape (j, j)
        Inverse of the covariance of the `JUDGES`.
    rate : ndarray of shape (1,)
        Errors of judges left out, over what the process expects of them.
    """

    features: Floats
    given: Floats
    moves: Floats
    priors: Floats
    usual_prior: Rate
    precision: Floats
    rate: Rate

    @classmethod
    def learn(
        cls,
        examples: list[Examples],
        standard: tuple[Floats, Floats],
        rng: np.random.Generator,
    ) -> Self:
        """Learn from examples.

        Parameters
        ----------
        examples : list of Examples
            Of D_train, and of D_cal.
        standard : (ndarray of shape (F,), ndarray of shape (F,))
            Mean and standard deviation of the features.
        rng : Generator
            Draws errors of the priors that are given.

        Returns
        -------
        reader : Reader
            One that remembers them all.
        """
        features = np.concatenate([_standardised(e.features, standard) for e in examples])
        log_prior = np.concatenate([e.log_prior for e in examples]).astype(np.float64)
        bounds = np.concatenate([e.bounds for e in examples])
        moved = np.concatenate([_log(e.truth) - _log(e.reference) for e in examples])
        about = log_prior + GIVEN_ERROR * rng.standard_normal(len(log_prior))
        given = given_inputs(about, bounds)
        squared, inner = _products(features, features)
        usual = log_prior.mean()
        rough = _rough(squared, inner, features.shape[1])
        rough.flat[:: len(rough) + 1] += NOISE
        priors = np.linalg.solve(rough, log_prior - usual)
        covariance = _smooth(*_with_given(squared, inner, given, given), _inputs(features, given))
        covariance.flat[:: len(covariance) + 1] += NOISE
        moves = np.linalg.solve(covariance, moved)
        judges = _judges(len(features))
        precision = np.linalg.inv(covariance[np.ix_(judges, judges)])
        # Errors of judges, each without itself, in standard deviations.
        left_out = precision @ moved[judges] / np.sqrt(np.diag(precision))[:, None]
        known = judges < len(examples[0])  # D_cal's few classes come again and again
        rate = np.sqrt(np.square(left_out[known]).mean())
        weights = (moves.astype(np.float32), priors.astype(np.float32))
        sure = (precision.astype(np.float32), np.array([rate]))
        return cls(features, given, *weights, np.array([usual]), *sure)

    def read(
        self, features: Floats, given: Floats, standard: tuple[Floats, Floats]
    ) -> tuple[Rate, Rate, Rate]:
        """Read graphs, each for several candidates of its prior.

        Parameters
        ----------
        features : ndarray of shape (v, F)
            Of the graphs.
        given : ndarray of shape (v, c, 6)
            What is said of the prior of each, by `given_inputs`.
        standard : (ndarray of shape (F,), ndarray of shape (F,))
            As in `learn`.

        Returns
        -------
        moves : ndarray of shape (v, c, 24)
            log(q / reference) for each quantile q of the same-class distances.
        errors : ndarray of shape (v, c)
            Their standard deviations, up to what the inputs do not tell: the less the
            examples are like the graph, the larger.
        log_priors : ndarray of shape (v,)
            What the graphs show of their priors.
        """
        standardised = _standardised(features, standard)
        squared, inner = _products(standardised, self.features)
        log_priors = _rough(squared, inner, features.shape[1]) @ self.priors + self.usual_prior
        inputs = _inputs(features, given)
        both = _with_given(squared[:, None], inner[:, None], given, self.given)
        like = _smooth(*both, inputs)
        to_judges = like[..., _judges(len(self.features))].astype(np.float32)
        length = np.square(standardised).sum(1)[:, None] + np.square(given).sum(2)
        variance = _smooth(np.zeros(1), length, inputs)
        variance = variance - np.einsum("vcj,vcj->vc", to_judges @ self.precision, to_judges)
        return like @ self.moves, self.rate * np.sqrt(np.maximum(variance, 0)), log_priors

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, by name, for a model file."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}


def given_inputs(log_prior: Rate, bounds: Floats) -> Floats:
    """Return what is said of priors, as inputs of a reader.

    Parameters
    ----------
    log_prior : ndarray of shape (...)
        Logarithms of the priors.
    bounds : ndarray of shape (..., 5)
        Of the views: see `opengcn.rehearsal.examples.View`. Both are broadcast.

    Returns
    -------
    given : ndarray of shape (..., 6)
        The prior, and how far it is from each bound.
    """
    below = bounds - np.asarray(log_prior)[..., None]
    prior = np.broadcast_to(np.asarray(log_prior)[..., None] + 4, (*below.shape[:-1], 1))
    about = np.concatenate([prior, below], -1) / 1.5
    return np.asarray(GIVEN_SCALE * about.clip(-LIMIT, LIMIT), np.float32)


def _log(distances: Floats) -> Rate:
    return np.log(np.maximum(distances, LEAST).astype(np.float64))


def _standardised(features: Floats, standard: tuple[Floats, Floats]) -> Floats:
    middle, scale = standard
    return np.asarray(((features - middle) / scale).clip(-LIMIT, LIMIT), np.float32)


def _judges(examples: int) -> NDArray[np.int64]:
    return np.linspace(0, examples - 1, min(examples, JUDGES)).astype(np.int64)


def _inputs(features: Floats, given: Floats) -> int:
    return int(features.shape[-1] + given.shape[-1])


def _products(a: Floats, b: Floats) -> tuple[Rate, Rate]:
    """Return squared distances and inner products of rows, (..., m)."""
    inner = (a @ b.T).astype(np.float64)
    lengths = (np.square(x, dtype=np.float64).sum(-1) for x in (a, b))
    squared = next(lengths)[..., None] + next(lengths) - 2 * inner
    return np.maximum(squared, 0), inner


def _with_given(squared: Rate, inner: Rate, a: Floats, b: Floats) -> tuple[Rate, Rate]:
    """Add what is said of priors to `_products` of features."""
    more = _products(a, b)
    return squared + more[0], inner + more[1]


def _smooth(squared: Rate, inner: Rate, inputs: int) -> Rate:
    """Return covariances of moves: rational quadratic, and a linear trend."""
    return 1 / (1 + squared / (2 * LENGTH**2 * inputs)) + LINEAR * (1 + inner / inputs)


def _rough(squared: Rate, inner: Rate, inputs: int) -> Rate:
    """Return covariances of priors: exponential, and a linear trend."""
    near = np.exp(-np.sqrt(squared / inputs) / ROUGH_LENGTH)
    return np.asarray(near + LINEAR * (1 + inner / inputs), np.float64)
