"""How far to trust readings beside each other, and beside D_cal's own curve.

All err, for different reasons: D_cal has few classes, and rehearsals are not life. When
nothing has shifted, D_cal's curve is right up to the choice of its classes, and what nodes see
corrects most of that; when the set has shifted, it counts for little (see
`opengcn.rehearsal.after_shift`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.mates import Correction

__all__ = ["Reading", "Weighed", "alone", "mean_size", "shifted", "weigh"]

# The same for all data sets (docs/evidence.md). Errors are distances, means over the quantiles.
LIFE = 0.8  # error of a reading on a real set, over the deviation that the reader gives
LEAST = 1e-3  # nobody is as sure as that
SHIFT = 0.16  # typical size of a shift, when there is one
# Error of D_cal's corrected curve: over what classes leave open, and over the correction.
CORRECTED, BENT = 2.0, 0.4
# Error of what the directions say in which a set varies: of distances, and over D_cal's own.
VARIED, VARIED_CLASSES = 0.006, 1.0
EVIDENCE = 0.35  # weight of how far D_cal's rows are, for a prior
# How much farther, in logarithms, rows of D_cal are from a set that has shifted than its own
# strangers are from each other.
SHIFTED = 0.07

Rate = NDArray[np.float64]


class Reading(NamedTuple):
    """How far quantiles lie from D_cal's, for each of c candidates of the prior.

    Attributes
    ----------
    moves : ndarray of shape (c, 24)
        In distances.
    errors : ndarray of shape (c,)
        What they may be off by.
    """

    moves: Rate
    errors: Rate


class Weighed(NamedTuple):
    """What is to be believed, for each of c candidates of the prior.

    Attributes
    ----------
    moves : ndarray of shape (c, 24)
        Expected differences from D_cal's quantiles.
    deviations : ndarray of shape (c,)
        Standard deviations of what remains open.
    evidence : ndarray of shape (c,)
        Logarithms of how likely a candidate is, up to a constant. A reading's error tells how far
        it counts beside the corrected curve, but does not excuse what the two say together: a
        reading that is next to impossible must not be likely for that.
    """

    moves: Rate
    deviations: Rate
    evidence: Rate


def alone(moves: Rate, errors: Rate) -> Reading:
    """Return what one school reads, with the error that it has in life.

    Parameters
    ----------
    moves : ndarray of shape (c, 24)
        How far it puts the quantiles from D_cal's, for each of c candidates.
    errors : ndarray of shape (c,)
        Deviations that it gives: see `opengcn.rehearsal.reader.Reader.read`.

    Returns
    -------
    reading : Reading
        The reading.
    """
    return Reading(moves, np.maximum(LIFE * errors, LEAST))


def shifted(farther: Rate, variance: Rate) -> tuple[Rate, Rate]:
    """Return how likely it is that a set has shifted.

    Parameters
    ----------
    farther : ndarray of shape (c,)
        Logarithm of the distance between rows of D_cal and the set over that between
        strangers in the set.
    variance : ndarray of shape (c,)
        Of that logarithm, by the choice of classes and rows alone.

    Returns
    -------
    chance : ndarray of shape (c,)
        In (0, 1).
    evidence : ndarray of shape (c,)
        Logarithm of how likely it is to be so far at all, shifted or not, weighted.
    """
    still, moved = (_log_normal(farther, variance + more) for more in (0.0, SHIFTED**2))
    chance = 1 / (1 + np.exp(-np.clip(moved - still, -30, 30)))
    return np.asarray(chance, np.float64), EVIDENCE * np.logaddexp(still, moved)


def weigh(
    still: Reading,
    moved: Reading,
    correction: Correction,
    reference_error: float,
    chance: Rate,
    level: float | None = None,
    centre: Rate | float = 0.0,
) -> Weighed:
    """Weigh readings against D_cal.

    If nothing has shifted, the truth is near D_cal's corrected curve; if something has, anywhere
    about a centre. A reading has measured it, with an error. What is expected lies in between, for
    either case, and the cases count as they are likely.

    Parameters
    ----------
    still, moved : Reading
        Where nothing has shifted, by the school of all rehearsals; where something has, see
        `opengcn.rehearsal.after_shift`.
    correction : Correction
        Of D_cal's curve, if nothing has shifted.
    reference_error : float
        Of D_cal's quantiles, from its classes: see `opengcn.rehearsal.reference.Reference`.
    chance : ndarray of shape (c,)
        Of a shift: see `shifted`.
    level : float or None, default None
        Mean of the differences from D_cal's quantiles, if nothing has shifted, by the directions
        in which the set varies: see `opengcn.rehearsal.level`. The same for all candidates.
    centre : ndarray of shape (c, 24) or float, default 0
        About which differences from D_cal's quantiles are to be expected if something has: see
        `opengcn.rehearsal.after_shift.centre`.

    Returns
    -------
    weighed : Weighed
        What is to be believed.
    """
    own = max(reference_error, LEAST)
    bent = BENT * mean_size(correction.moves)
    near = np.minimum(np.hypot(CORRECTED * correction.open_ * own, bent), own)
    corrected, joined, alike = correction.moves, near, np.zeros_like(near)
    if level is not None:
        error = np.hypot(VARIED, VARIED_CLASSES * own)
        # Neighbours cannot tell many mates from near ones; the level knows nothing of either.
        seen = _between(corrected, near, still)[0].mean(1)
        alike = -(((seen - level) / error) ** 2) / 2
        part = near**2 / (near**2 + error**2)
        corrected = corrected + (part * (level - corrected.mean(1)))[:, None]
        joined = near * np.sqrt(1 - part)
    means, variances = zip(
        _between(corrected, joined, still),
        _between(np.zeros_like(moved.moves) + centre, np.full_like(near, SHIFT), moved),
        strict=True,
    )
    far = mean_size(moved.moves - centre)
    chances = np.log([1 - chance, chance])
    # Without a shift the reading is near the corrected curve, and that is near D_cal's: a large
    # correction speaks for a shift, in so far as there was anything to go by.
    usual = _log_normal(mean_size(still.moves - corrected), joined**2 + still.errors**2)
    size, either = mean_size(correction.moves), own**2 + near**2
    strange = either + (SHIFT * (1 - correction.open_)) ** 2
    usual += _log_normal(size, either) - _log_normal(size, strange)
    odds = chances + np.stack([usual, _log_normal(far, SHIFT**2 + moved.errors**2)])
    odds = np.exp(odds - np.logaddexp(*odds))
    expected = (odds[..., None] * means).sum(0)
    open_ = (odds * (np.stack(variances) + mean_size(means - expected) ** 2)).sum(0)
    likely = chances + np.stack([alike, -(far**2) / (2 * SHIFT**2)])
    return Weighed(expected, np.sqrt(open_), np.logaddexp(*likely))


def _between(centre: Rate, error: Rate, reading: Reading) -> tuple[Rate, Rate]:
    """Return the mean and the variance of what lies about a centre and has been read."""
    weight = error**2 / (error**2 + reading.errors**2)
    return centre + weight[:, None] * (reading.moves - centre), weight * reading.errors**2


def mean_size(moves: Rate) -> Rate:
    """Return the mean absolute difference over the last axis: the error of a curve."""
    return np.asarray(np.abs(moves).mean(-1), np.float64)


def _log_normal(size: Rate, variance: Rate) -> Rate:
    """Return the logarithm of a normal density, up to a constant."""
    return np.asarray(-(size**2) / (2 * variance) - np.log(variance) / 2, np.float64)
