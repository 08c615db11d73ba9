"""How near class mates are, from what a node sees: D_cal corrected for the choice of its classes.

D_cal's curve is off because it has few classes. But how near a node's class mates are shows in
how near its neighbours are, and that needs no labels. D_train tells how the one goes with the
other. So where nothing has shifted, D_cal's rows are put among the nodes, with as many class mates
as nodes have, and as much as nodes then look as if their mates were nearer than those of D_cal's
rows, as much are they: a regression estimator, with a control variate that is known for both. What
D_train has taught may make the correction too small or too large, but not lopsided, as long as
nodes have as many mates as is said.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from opengcn.rehearsal.among import NEVER, to_mates
from opengcn.rehearsal.crowds import draw_crowd
from opengcn.rehearsal.examples import SAME
from opengcn.rehearsal.graph_profile import ANCHORS, distances
from opengcn.rehearsal.reference import LEVELS, Reference
from opengcn.rehearsal.regression import (
    linear,
    number_of,
    regress_numbers,
    regress_shares,
    share_of,
)
from opengcn.rehearsal.sight import RANKS, nearest_few, see, thin
from opengcn.rehearsal.worlds import World
from opengcn.threads import one_blas_thread

__all__ = ["LOOKING", "Correction", "Mates"]

CROWDS = 60  # that are made of D_train
CLASS_ROWS = 64  # of each class of D_train, for the quantiles of its same-class distances
LOOKING = 1024  # nodes that look at the others
STEP = 1.0  # between logarithms of priors for which D_cal's rows are put among the nodes
# Of classes, where D_cal has few: the usual slope of its mates' nearness over the expected one,
# how much slopes differ, and the part of the spread of classes that is not expected.
SLOPE, SLOPES, OPEN = 1.15, 0.3, 0.35
KNOWN = 5  # classes that this counts for
FEWEST_MATES = 3  # that D_cal's rows have on average: fewer do not tell how near they are
SIZES = 0.25  # variance of D_cal's log class sizes at which half of what is seen of sizes counts

Floats = NDArray[np.float32]
Rate = NDArray[np.float64]


class Correction(NamedTuple):
    """D_cal's curve, corrected: for each of c candidates of the prior.

    Attributes
    ----------
    moves : ndarray of shape (c, 24)
        Of the quantiles of same-class distances.
    open_ : ndarray of shape (c,)
        What is still open of D_cal's own error, as a part of it: 1 where there is no correction.
    """

    moves: Rate
    open_: Rate


@dataclass(frozen=True, eq=False)
class Mates:
    """What D_train tells of the nearness of class mates.

    Attributes
    ----------
    middle, scale : ndarray of shape (13,)
        Mean and standard deviation of what nodes see.
    shares : ndarray of shape (14, 24)
        Weights of that, and a constant, in the log-odds of a mate being within each quantile.
    sizes : ndarray of shape (14,)
        In the logarithm of how many mates a node has, over their mean.
    """

    middle: Rate
    scale: Rate
    shares: Rate
    sizes: Rate

    @classmethod
    @one_blas_thread()  # the number of cores must not change a bit
    def learn(cls, world: World, seed: int) -> Self:
        """Learn from crowds of D_train's classes, of many sizes.

        Parameters
        ----------
        world : World
            D_train.
        seed : int
            Of the crowds.

        Returns
        -------
        mates : Mates
            What they tell.
        """
        rng = np.random.default_rng(seed)
        rows = world.images + world.centre
        some = [rng.permutation(m)[:CLASS_ROWS] for m in world.members]
        within = [distances(rows[m], rows[m]) for m in some]
        known = np.quantile(np.concatenate([d[np.triu_indices(len(d), 1)] for d in within]), LEVELS)
        seen, true, counts = [], [], []
        for _ in range(CROWDS):
            crowd, labels = draw_crowd(world, rng)
            anchors = min(len(crowd), ANCHORS)
            d = distances(rows[crowd[:anchors]], rows[crowd])
            mine = labels[:anchors, None] == labels
            np.fill_diagonal(mine, False)
            np.fill_diagonal(d, NEVER)
            size = np.bincount(labels)
            count = max(float((size * (size - 1)).sum() / len(labels)), 1.0)
            last = len(crowd) - 2
            x = see(nearest_few(d, count, last), count, last, known)
            social = mine.any(1)
            within_known = [((d < q) & mine).sum(1)[social] for q in known]
            seen.append(x[social])
            true.append(np.stack(within_known, 1) / mine.sum(1, keepdims=True)[social])
            counts.append(mine.sum(1)[social] / count)
        x, y = np.concatenate(seen), np.concatenate(true)
        middle, scale = x.mean(0), x.std(0) + 1e-4
        z = (x - middle) / scale
        return cls(middle, scale, regress_shares(z, y), regress_numbers(z, np.concatenate(counts)))

    def expect(self, seen: Rate) -> tuple[Rate, Rate]:
        """Return what nodes seem to be, by what they see.

        A share is not linear in what is seen, and should not be: of nodes that differ much, more
        have hardly any mate within a distance, or nearly all, than of nodes that are alike. So the
        curve of many classes is wider than that of few, and means over nodes tell it.

        Parameters
        ----------
        seen : ndarray of shape (r, 13)
            What they see.

        Returns
        -------
        odds : ndarray of shape (r, 24)
            Log-odds of a class mate being within each quantile.
        sizes : ndarray of shape (r,)
            Logarithm of how many class mates there are, over their mean.
        """
        z = ((seen - self.middle) / self.scale).clip(-5, 5)
        return linear(z, self.shares), linear(z, self.sizes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, by name, for a model file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @one_blas_thread()
    def correct(
        self,
        nodes: Floats,
        reference: Reference,
        log_priors: Rate,
        rng: np.random.Generator,
    ) -> Correction:
        """Correct D_cal's curve by what nodes of a graph see.

        Parameters
        ----------
        nodes : ndarray of shape (n, D)
            Unit vectors, in random order: the first `LOOKING` look at all.
        reference : Reference
            D_cal, all of whose rows look.
        log_priors : ndarray of shape (c,)
            Candidates: each says how many class mates a node has.
        rng : Generator
            Chooses class mates that are out of sight.

        Returns
        -------
        correction : Correction
            For each candidate; in between those that are a step apart, it is interpolated.
        """
        labels = reference.labels
        chosen = np.flatnonzero(np.bincount(labels)[labels] > 1)
        mates = np.bincount(labels)[labels[chosen]] - 1
        if len(np.unique(labels[chosen])) < 2 or mates.mean() < FEWEST_MATES:
            return Correction(np.zeros((len(log_priors), len(LEVELS))), np.ones(len(log_priors)))
        crossing = distances(reference.rows[chosen], nodes)
        crossing[crossing < SAME] = NEVER  # rows of D_cal that are nodes
        crossing.sort(axis=1)
        looking = distances(nodes[:LOOKING], nodes)
        np.fill_diagonal(looking, NEVER)  # from a node to itself
        own = to_mates(reference.rows, labels, chosen)
        code = np.unique(labels[chosen], return_inverse=True)[1]
        known = reference.quantiles
        true = _by_class(np.stack([(own < q).sum(1) for q in known], 1) / mates[:, None], code)
        lots = (rng.random(d.shape, np.float32) for d in (own, crossing))
        ordered = np.sort(looking, axis=1)
        believed = _believed(mates, 1 - len(labels) / reference.size)
        beside = _Beside(looking, ordered, own, mates, crossing, code, known, true, believed, *lots)
        at = _steps(log_priors, len(nodes))
        found = zip(*(self._correct_for(p, beside) for p in at), strict=True)
        moves, parts = (np.array(part) for part in found)
        return Correction(
            np.stack([np.interp(log_priors, at, m) for m in moves.T], 1),
            np.interp(log_priors, at, parts),
        )

    def _correct_for(self, log_prior: float, beside: _Beside) -> tuple[Rate, float]:
        """Return what `correct` does, for one candidate."""
        known, n = beside.known, beside.crossing.shape[1]
        count = max(np.exp(log_prior) * (n - 1), 0.3)
        part = count / beside.mates.mean()
        crowd = n if part <= 1 else max(int(n / part), 8)  # fewer nodes have fewer mates
        count, part = count * crowd / n, min(part, 1.0)
        strangers = max(crowd - 1 - round(count), 1)
        count, last = max(count, 1.0), max(int(0.9 * strangers), 1)
        enough = int((32 + 1.2 * min(RANKS[-1] * count, last)) * n / strangers)
        mates = thin(beside.own, part, beside.lots)
        others = thin(beside.crossing[:, :enough], strangers / n, beside.other_lots)
        theirs = nearest_few(np.concatenate([mates, others], 1), count, last)
        whole = crowd == n
        near = beside.ordered if whole else nearest_few(beside.looking[:, :crowd], count, last)
        seen, by_row = (see(d, count, last, known) for d in (near, theirs))
        (odds, sizes), (row_odds, row_sizes) = self.expect(seen), self.expect(by_row)
        expected = _by_class(share_of(row_odds), beside.code)
        slope, open_ = _slope(expected, beside.true, np.bincount(beside.code))
        heavy, heavy_rows = (_weights(x, beside.believed) for x in (sizes, row_sizes))
        level = _level(slope * row_odds, heavy_rows)
        change = heavy @ share_of(slope * odds + level)
        change -= heavy_rows @ share_of(slope * row_odds + level)
        return _moved(known, LEVELS + change) - known, open_


class _Beside(NamedTuple):
    """Rows of D_cal beside nodes.

    Attributes
    ----------
    looking, ordered : ndarray of shape (a, n)
        Distances from nodes to nodes, by column and ascending.
    own : ndarray of shape (r, k)
        Distances of rows to their class mates, ascending.
    mates : ndarray of shape (r,)
        How many there are.
    crossing : ndarray of shape (r, n)
        Distances of rows to nodes, ascending.
    code : ndarray of shape (r,)
        Classes of the rows, 0, 1, ...
    known : ndarray of shape (24,)
        D_cal's quantiles.
    true : ndarray of shape (K, 24)
        Shares of class mates within them, by class.
    believed : float
        How far to believe what is seen of sizes: see `_believed`.
    lots, other_lots : ndarray of shape (r, k), (r, n)
        In [0, 1), which decide who is out of sight when there are fewer; the same for all
        candidates, so that these differ by nothing else.
    """

    looking: Floats
    ordered: Floats
    own: Floats
    mates: NDArray[np.int64]
    crossing: Floats
    code: NDArray[np.int64]
    known: Rate
    true: Rate
    believed: float
    lots: Floats
    other_lots: Floats


def _believed(mates: NDArray[Any], left_out: float) -> float:
    """Return how far to believe what is seen of sizes, in [0, 1).

    Where D_cal's classes differ in size, those of the set are likely to. If a part of D_cal's
    rows is left out, its classes differ by chance as well, by about as much as is taken off.
    """
    differ = max(float(np.log(mates).var() - (left_out / mates).mean()), 0.0)
    return differ / (differ + SIZES)


def _weights(sizes: Rate, part: float) -> Rate:
    """Return what rows count for, as a curve counts pairs: adds up to 1.

    Dense neighbourhoods pass for large classes, so sizes are believed in part.
    """
    weights = number_of(part * sizes)
    return np.asarray(weights / weights.sum(), np.float64)


def _level(odds: Rate, weights: Rate) -> Rate:
    """Return what to add to log-odds (r, 24) for their shares to have `LEVELS` as means, nearly."""
    level = np.zeros(odds.shape[1])
    for _ in range(3):
        found = share_of(odds + level)
        slope = weights @ (found * (1 - found)) + 1e-3
        level += ((LEVELS - weights @ found) / slope).clip(-1, 1)
    return level


def _by_class(values: Rate, code: NDArray[Any]) -> Rate:
    """Return the mean (K, 24) of each class."""
    member = code == np.arange(code.max() + 1)[:, None]
    return np.asarray(member @ values / member.sum(1, keepdims=True), np.float64)


def _slope(expected: Rate, true: Rate, weight: NDArray[Any]) -> tuple[float, float]:
    """Return the slope of what is true of classes over what is expected, and what is left open.

    Both are guesses from few classes, beside what is usual.
    """
    share = weight / weight.sum()
    x, y = (v.mean(1) - share @ v.mean(1) for v in (expected, true))
    spread = max(float(share @ y**2), 1e-9)
    penalty = OPEN**2 * spread / (SLOPES**2 * len(x))
    slope = float((share @ (x * y) + penalty * SLOPE) / (share @ x**2 + penalty))
    slope = min(max(slope, 0.3), 2.0)
    rest = float(share @ (y - slope * x) ** 2) / spread
    part = (len(x) * rest + KNOWN * OPEN**2) / (len(x) + KNOWN)
    return slope, float(np.sqrt(min(part, 1.0)))


def _moved(known: Rate, rates: Rate) -> Rate:
    """Return the quantiles of a curve that has these rates at the known ones."""
    rates = np.maximum.accumulate(rates.clip(1e-4, 1 - 1e-4)) + 1e-9 * np.arange(len(rates))
    found = np.interp(LEVELS, rates, known)
    low, high = rates[0] > LEVELS, rates[-1] < LEVELS
    # Beyond the ends it goes on beside the known curve.
    found[low] = known[low] + known[0] - np.interp(rates[0], LEVELS, known)
    found[high] = known[high] + known[-1] - np.interp(rates[-1], LEVELS, known)
    return np.sort(found)


def _steps(log_priors: Rate, n: int) -> Rate:
    """Return log priors a step apart that hold all, and the last one, which D_cal suggests.

    Where a node has no class mate to speak of, fewer make no difference.
    """
    if len(log_priors) == 1:
        return log_priors
    low = min(max(log_priors.min(), np.log(0.5 / n)), log_priors[-1])
    high = log_priors.max()
    return np.unique(np.append(np.arange(high, low - STEP, -STEP), log_priors[-1]))
