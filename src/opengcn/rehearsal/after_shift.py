"""What to believe of a set that has shifted.

Then D_cal's rows are an island among the nodes, and its curve says little. There are readings,
which go astray where nothing like it was rehearsed; the directions in which the set varies, which
know nothing of neighbours; and how much smaller the set is as a whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.level import Said
from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.trust import LEAST, Reading, alone, mean_size

__all__ = ["agree", "centre", "draw"]

# The same for all data sets (docs/evidence.md). Errors are distances, means over the quantiles.
OVERSHOOT = 0.15  # part by which readings of mild and hard rehearsals go too far
NEARER = 0.005  # by so much nearer to what is expected, a reading counts 2.7 times as much
DOUBT = 1.0  # error of a reading over how far mild and hard ones are from it
# So much of what is expected of a smaller set is never taken off as going too far: on fonts and
# drawings readings are right when they say so and more, on cars in elastic distortion they are not.
SMALLER = 0.3
# Of what tells classes apart, by distances and in logarithms, a set may have lost so much before
# its same-class distances are expected to be smaller than D_cal's.
DISSOLVED = 0.6

Rate = NDArray[np.float64]


def agree(moves: Rate, errors: Rate, about: Rate | float = 0.0) -> Reading:
    """Join what the schools of mild and of hard rehearsals read after a shift.

    The nearer to D_cal, or to what is expected, a reading, the more it counts: what has not been
    rehearsed makes readings go astray, seldom towards that. They go too far beyond it on nearly
    every shifted set at hand, and that is taken off.

    Parameters
    ----------
    moves : ndarray of shape (2, c, 24)
        How far each puts the quantiles from D_cal's, for each of c candidates.
    errors : ndarray of shape (2, c)
        Deviations that they give.
    about : ndarray of shape (c, 24) or float, default 0
        What is expected: see `centre`. Nothing, unless the set is much smaller than D_cal.

    Returns
    -------
    reading : Reading
        Their weighted mean, and what it may be off by in life, also for how far they differ.
    """
    about = SMALLER * about
    moves = about + (1 - OVERSHOOT) * (moves - about)
    size = mean_size(moves - about)
    weights = np.exp((size.min(0) - size) / NEARER)
    weights /= weights.sum(0)
    move = (weights[..., None] * moves).sum(0)
    apart = DOUBT * mean_size(moves - move).sum(0)
    own = alone(move, np.sqrt((weights * errors**2).sum(0))).errors
    return Reading(move, np.hypot(own, apart))


def draw(reading: Reading, known: Rate, said: Said) -> Reading:
    """Draw a reading to the level that directions tell, the more the less sure it is.

    It keeps its shape. Two measurements are surer than one where they agree. The farther apart
    they are, the less sure is their join: either may be wrong, and nobody knows which.

    Parameters
    ----------
    reading : Reading
        See `agree`.
    known : ndarray of shape (24,)
        D_cal's quantiles.
    said : Said
        What directions tell.

    Returns
    -------
    reading : Reading
        Nearer to the level.
    """
    error = known.mean() * said.error
    part = reading.errors**2 / (reading.errors**2 + error**2)
    quantiles = known + reading.moves
    level = known.mean() + said.moved
    mean = np.maximum(quantiles.mean(1), 1e-9)
    drawn = reading.moves + (part * (level / mean - 1))[:, None] * quantiles
    open_ = (1 - part) * (reading.errors**2 + part * (level - mean) ** 2)
    return Reading(drawn, np.maximum(np.sqrt(open_), LEAST))


def centre(reference: Reference, strangers: Rate) -> Rate:
    """Return what is expected of a set by its size as a whole, before anything is read.

    A set that is somewhat smaller than D_cal has lost what tells its classes apart: class mates
    are as far from each other as before, and strangers are nearer. But mates are no farther than
    strangers: the classes of a much smaller set are smaller too.

    Parameters
    ----------
    reference : Reference
        D_cal.
    strangers : ndarray of shape (c,)
        Mean distance of strangers in the set, for each of c candidates of the prior.

    Returns
    -------
    moves : ndarray of shape (c, 24)
        How far the quantiles are expected to lie from D_cal's: nothing, or below.
    """
    known, before = reference.quantiles, max(float(reference.negatives[0]), 1e-6)
    apart = max(before / max(float(known.mean()), 1e-6), 1.0)
    factor = np.minimum(strangers / before * apart**DISSOLVED, 1.0)
    return np.outer(factor - 1, known)
