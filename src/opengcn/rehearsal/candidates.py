"""Which shares of same-class pairs a set may have, and how plausible each is beforehand.

Few wide classes and many narrow ones in families look alike: the prior is what a graph
shows least clearly, and what its same-class distances depend on most. So none is picked.
The graph is read once for each candidate, and the readings are averaged.
"""

from __future__ import annotations

from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.episodes import NODES
from opengcn.rehearsal.graph_profile import reach_of
from opengcn.rehearsal.question import Asked

__all__ = ["candidates", "plausible"]

# The same for all data sets (docs/evidence.md).
STEP = 0.5
GRID = np.arange(-12, -STEP / 2, STEP)  # of the logarithm of the prior
ERROR, LARGE = 1.5, 50_000  # error of it downwards: see `plausible`
ABOVE, MOST = 0.4, 4.0  # upwards: families pass for classes, seldom the other way round; at most
TWELVE = -2.5  # log prior of twelve classes: of fewer, hardly any can be families
SUGGESTED = 50.0  # weight of D_cal's class sizes, for a full graph, beside a unit of the logarithm

Rate = NDArray[np.float64]


def candidates(suggested: float, hint: float | None) -> Rate:
    """Return the logarithms of the priors to ask for.

    Parameters
    ----------
    suggested, hint : float, float or None
        See `opengcn.rehearsal.question.Asked`.

    Returns
    -------
    log_priors : ndarray of shape (c,)
        The user's hint alone, or a grid and, last, what D_cal's class sizes suggest.
    """
    if hint is not None:
        return np.log([hint])
    return np.append(GRID, np.log(suggested))


def plausible(log_priors: Rate, read: Rate | float, asked: Asked, alike: float) -> Rate:
    """Return how plausible each candidate is.

    The reading is the less certain, the smaller the graph and the less its neighbourhoods
    are separate: where neighbours have their neighbours in common, classes can be told. Of
    fewer than twelve classes it is not corrected downwards as far: readings lean to the
    middle of what was rehearsed, so few classes are read as more already.

    Parameters
    ----------
    log_priors : ndarray of shape (c,)
        See `candidates`.
    read : ndarray of shape (c,) or float
        Log prior that was read off the graph, if each candidate were true.
    asked : Asked
        The set.
    alike : float
        How likely it is that the set has not shifted: then its classes may well be as large
        as D_cal's, if the graph allows it. Of small sets that is less likely: many are
        samples of a larger one.

    Returns
    -------
    log_weights : ndarray of shape (c,)
        Up to a constant.
    """
    if asked.hint is not None:
        return np.zeros(1)
    chance = reach_of(asked.nodes) / (asked.nodes - 1)  # how many any two nodes share
    shared = fmean(view.shared for view in asked.seen)
    unclear = (1 - shared) / (1 - chance) if chance < 1 else 1.0
    error = ERROR * np.log(LARGE / asked.nodes) * unclear**2
    off = log_priors - read
    most = MOST * np.clip(read / TWELVE, 0, 1) ** 4
    errors = np.where(off < 0, np.maximum(np.minimum(error, most), ABOVE), ABOVE)
    log_weights = -0.5 * (off / errors) ** 2
    log_weights[:-1] += np.log(STEP)
    log_weights[-1] += np.log(SUGGESTED * alike * (asked.nodes / NODES) ** 2)
    return np.asarray(log_weights, np.float64)
