"""How far to trust the readout beside D_cal's own curve.

Both err, for different reasons: D_cal has few classes, and rehearsals are not life. When
nothing has shifted, D_cal's curve is right up to the choice of its classes, and that is
better the more of them there are; when the set has shifted, only the readout knows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["RELATIVE", "trust"]

# In distance, as means over the quantiles; chosen once for all data sets (docs/default.md).
READOUT_ERROR = 0.015  # typical error of the readout on real sets
RELATIVE = 0.2  # part of a shift by which the readout may be off as well
SHIFT = 0.12  # typical size of a shift, when there is one
CHANCE = 0.4  # of one


def trust(move: NDArray[np.float64], reference_error: float, apart: float = 0.0) -> float:
    """Return the weight of the readout; the rest is D_cal's.

    The true difference from D_cal's quantiles is a priori either as large as D_cal's own
    error, or as large as a shift; the readout has measured it, with an error. The weight
    is what the measurement must be multiplied by to give the expected difference.

    Parameters
    ----------
    move : ndarray of shape (24,)
        How far the readout puts the quantiles from D_cal's.
    reference_error : float
        Expected absolute error of D_cal's quantiles, from its classes.
    apart : float, default 0
        Further error of the readout: how far networks that know D_cal are from those that do
        not, and what follows from few pairs.

    Returns
    -------
    weight : float
        In [0, 1].
    """
    size = float(np.abs(move).mean())
    before = np.array([reference_error, SHIFT]) ** 2
    after = before + READOUT_ERROR**2 + apart**2
    log_odds = -(size**2) / (2 * after) - np.log(after) / 2 + np.log([1 - CHANCE, CHANCE])
    odds = np.exp(log_odds - log_odds.max())
    after[1] += (RELATIVE * size) ** 2
    return float(odds @ (before / after) / odds.sum())
