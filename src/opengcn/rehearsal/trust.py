"""How far to trust readings beside each other, and beside D_cal's own curve.

All err, for different reasons: D_cal has few classes, and rehearsals are not life. When
nothing has shifted, D_cal's curve is right up to the choice of its classes, and that is
better the more of them there are; when the set has shifted, only a reading knows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["agree", "shifted", "weigh"]

# The same for all data sets (docs/default.md). Errors are distances, means over the quantiles.
LIFE = 0.8  # error of a reading on a real set, over the deviation that the reader gives
LEAST = 1e-3  # nobody is as sure as that
OVERSHOOT = 0.2  # part by which readings of mild and hard rehearsals go too far
SHIFT = 0.16  # typical size of a shift, when there is one
USUAL = 0.08  # difference that is no evidence, however alike D_cal's classes are
NEARER = 0.005  # by so much nearer to D_cal, a reading counts 2.7 times as much
DOUBT = 1.0  # error of a reading over how far mild and hard ones are from it, after a shift
# How much farther, in logarithms, rows of D_cal are from a set than its own strangers are from each
# other: if it has not shifted, up to the choice of classes; if it has.
STILL, SHIFTED = 0.03, 0.07

Rate = NDArray[np.float64]


def agree(moves: Rate, errors: Rate, chance: Rate) -> tuple[Rate, Rate]:
    """Join the readings of the schools.

    Where nothing has shifted, the school counts that compares nodes with D_cal's rows among
    them. Where something has, that comparison is void, and of the others the nearer to D_cal a
    reading, the more it counts: what has not been rehearsed makes readings go astray, seldom
    towards D_cal. They go too far on every shifted set at hand, and that is taken off.

    Parameters
    ----------
    moves : ndarray of shape (3, c, 24)
        How far the schools, mild, hard and the one of all rehearsals, put the quantiles from
        D_cal's, for each of c candidates.
    errors : ndarray of shape (3, c)
        Deviations that they give: see `opengcn.rehearsal.reader.Reader.read`.
    chance : ndarray of shape (c,)
        Of a shift: see `shifted`.

    Returns
    -------
    move : ndarray of shape (c, 24)
        Their weighted mean.
    error : ndarray of shape (c,)
        What it may be off by in life, also for how far mild and hard ones are from it.
    """
    moves = np.concatenate([(1 - OVERSHOOT) * moves[:2], moves[2:]])
    size = np.abs(moves[:2]).mean(2)
    nearer = np.exp((size.min(0) - size) / NEARER)
    weights = np.concatenate([chance * nearer / nearer.sum(0), (1 - chance)[None]])
    move = (weights[..., None] * moves).sum(0)
    apart = chance * DOUBT * np.abs(moves[:2] - move).mean(2).sum(0)
    own = np.maximum(LIFE * np.sqrt((weights * errors**2).sum(0)), LEAST)
    return move, np.hypot(own, apart)


def shifted(farther: Rate, classes: Rate | float) -> Rate:
    """Return how likely it is that a set has shifted.

    Parameters
    ----------
    farther : ndarray of shape (c,)
        Logarithm of the distance between rows of D_cal and the set over that between
        strangers in the set.
    classes : ndarray of shape (c,) or float
        How many classes D_cal and the set are worth together, as in an F-test.

    Returns
    -------
    chance : ndarray of shape (c,)
        In (0, 1).
    """
    still, moved = STILL**2 / classes, SHIFTED**2
    odds = 0.5 * (farther**2 * (1 / still - 1 / (still + moved)) + np.log(still / (still + moved)))
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))), np.float64)


def weigh(
    moves: Rate,
    reference_error: float,
    error: Rate,
    few: Rate | float = 0.0,
    chance: Rate | float = 0.5,
) -> tuple[Rate, Rate, Rate]:
    """Weigh readings against D_cal.

    The true difference from D_cal's quantiles is a priori either as large as D_cal's own
    error, or as large as a shift; a reading has measured it, with an error. The weight
    is what the measurement must be multiplied by to give the expected difference.

    Parameters
    ----------
    moves : ndarray of shape (c, 24)
        How far each of c readings puts the quantiles from D_cal's.
    reference_error : float
        Of D_cal's quantiles, from its classes: see `opengcn.rehearsal.reference.Reference`.
    error : ndarray of shape (c,)
        Of each: see `agree`.
    few : ndarray of shape (c,) or float, default 0
        What follows from few pairs.
    chance : ndarray of shape (c,) or float, default 0.5
        Of a shift: see `shifted`.

    Returns
    -------
    weights : ndarray of shape (c,)
        Of the readings, in [0, 1]; the rest is D_cal's.
    deviations : ndarray of shape (c,)
        Standard deviation of what remains open: that of a reading where it counts, that of
        what may be the case where it does not.
    evidence : ndarray of shape (c,)
        Logarithm of how likely such a move is at all, up to a constant. Errors have no part in
        it: a reading that is next to impossible must not be likely for that.
    """
    size = np.abs(moves).mean(1)
    before = np.array([[reference_error], [SHIFT]]) ** 2
    chances = np.log(np.stack(np.broadcast_arrays(1 - np.asarray(chance), chance, size)[:2]))

    def likely(after: Rate) -> Rate:
        return np.asarray(chances - size**2 / (2 * after) - np.log(after) / 2, np.float64)

    evidence = np.logaddexp(*likely(np.maximum(before, USUAL**2)))
    after = before + error**2 + np.square(few)
    odds = likely(after)
    odds = np.exp(odds - np.logaddexp(*odds))
    each = before / after
    weights = (odds * each).sum(0)
    open_ = before * (1 - each) + ((each - weights) * size) ** 2
    return weights, np.sqrt((odds * open_).sum(0)), evidence
