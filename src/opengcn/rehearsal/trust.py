"""How far to trust the readout beside D_cal's own curve.

Both err, for different reasons: D_cal has few classes, and rehearsals are not life. When
nothing has shifted, D_cal's curve is right up to the choice of its classes, and that is
better the more of them there are; when the set has shifted, only the readout knows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["weigh"]

# In distance, as means over the quantiles; chosen once for all data sets (docs/default.md).
READOUT_ERROR = 0.015  # typical error of the readout on real sets
RELATIVE = 0.2  # part of a shift by which the readout may be off as well
SHIFT = 0.12  # typical size of a shift, when there is one
CHANCE = 0.4  # of one

Rate = NDArray[np.float64]


def weigh(
    moves: Rate, reference_error: float, apart: Rate, few: Rate | float = 0.0
) -> tuple[Rate, Rate]:
    """Weigh readings against D_cal.

    The true difference from D_cal's quantiles is a priori either as large as D_cal's own
    error, or as large as a shift; a reading has measured it, with an error. The weight
    is what the measurement must be multiplied by to give the expected difference.

    Parameters
    ----------
    moves : ndarray of shape (c, 24)
        How far each of c readings puts the quantiles from D_cal's.
    reference_error : float
        Expected absolute error of D_cal's quantiles, from its classes.
    apart : ndarray of shape (c,)
        Further error of each: how far networks that know D_cal are from those that do not,
        and those that have learned from mild rehearsals from those of hard ones.
    few : ndarray of shape (c,) or float, default 0
        What follows from few pairs. It is no evidence: a reading that is next to impossible
        must not be likely for that.

    Returns
    -------
    weights : ndarray of shape (c,)
        Of the readings, in [0, 1]; the rest is D_cal's.
    evidence : ndarray of shape (c,)
        Logarithm of how likely such a move is at all, up to a constant.
    """
    size = np.abs(moves).mean(1)
    before = np.array([[reference_error], [SHIFT]]) ** 2

    def likely(after: Rate) -> Rate:
        chances = np.log([[1 - CHANCE], [CHANCE]])
        return np.asarray(chances - size**2 / (2 * after) - np.log(after) / 2, np.float64)

    after = before + READOUT_ERROR**2 + apart**2
    evidence = np.logaddexp(*likely(after))
    after = after + np.square(few)
    odds = likely(after)
    odds = np.exp(odds - np.logaddexp(*odds))
    after[1] += (RELATIVE * size) ** 2
    return (odds * before / after).sum(0), evidence
