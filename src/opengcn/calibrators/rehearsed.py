"""The default OpenGCN: learns on D_train, by rehearsal, to read the graph of a test set."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.calibrators.copies import (
    alike_share,
    copies_apart,
    doubles_share,
    with_copies,
    without_copies,
)
from opengcn.calibrators.opengcn import OpenGCN
from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError, OpenGCNError, OpenGCNWarning
from opengcn.memo import remembered
from opengcn.pairs import count_pairs
from opengcn.rehearsal.candidates import candidates
from opengcn.rehearsal.episodes import NODES
from opengcn.rehearsal.examples import Examples, View, rehearse, view
from opengcn.rehearsal.graph_profile import ANCHORS, profile_graph
from opengcn.rehearsal.level import Level
from opengcn.rehearsal.mates import LOOKING, Correction, Mates
from opengcn.rehearsal.question import Asked
from opengcn.rehearsal.readout import Prediction, Readout
from opengcn.rehearsal.reference import Reference, quantiles_to_rate, reference_curve
from opengcn.rehearsal.stand_ins import see_stand_ins
from opengcn.rehearsal.worlds import World
from opengcn.threads import one_blas_thread

__all__ = ["RehearsedOpenGCN"]

GRAPHS, MORE, LARGE = 4, 8, 2048  # of a test set that are read, of a large one; their mean counts
SMALL = 1024  # nodes of a graph in which D_cal does not stand in: it would take long, and not pay
COUNTED = 16_384  # rows of the test set whose pairs are counted for TNR
FEWEST = 8  # rows that a graph needs
OWN = 4  # rehearsals on D_train for each on D_cal
FEW_PAIRS = 30  # same-class pairs below which the estimate comes with a warning


@dataclass(frozen=True, eq=False)
class Look:
    """What a test set shows; its rows are needed no more.

    Attributes
    ----------
    source : str
        What messages call the set.
    asked : Asked
        What is read.
    below : ndarray of shape (201,)
        Share of all pairs below each distance, without copies.
    copies : ndarray of shape (n,)
        How often each row is there.
    alike : float
        How many of the pairs of copies are of one class.
    """

    source: str
    asked: Asked
    below: NDArray[np.float64]
    copies: NDArray[np.int64]
    alike: float


class RehearsedOpenGCN(OpenGCN):
    """Reads how a set's same-class distances differ from D_cal's off the set's own graph.

    What ``OpenGCN()`` makes. From D_train it makes three thousand rehearsals of the task:
    some classes stand for D_cal, others for D_test, with more or fewer classes, long tails,
    and shifts in embedding space, mild, hard or none. Of each rehearsed test set it takes what a
    graph shows without labels (distances to neighbours and to theirs, shared neighbours, how
    near D_cal's rows come, and what these see among the nodes with their class mates), and
    Gaussian processes learn from that how far each quantile of the same-class distances lies
    from D_cal's. Where nothing has shifted, D_cal's curve is corrected for the choice of its
    classes, and readings by what is read of D_cal's rows in the place of nodes. TNR is that of all
    pairs, less the estimated same-class pairs among them. See docs/default.md for the reasons and
    the figures.

    Parameters
    ----------
    preset : {"default"}
        This method; see `OpenGCN`.
    seed : int, default 0
        Seed of episodes and graphs.
    device : str, default "auto"
        Of no account here: there is nothing that a graphics card would make faster.
    episodes : int, default 3000
        Rehearsals on D_train, a third each mild, hard and still, and a quarter as many on
        D_cal. Their cost is most of `fit`; the former is paid once for each D_train.

    Attributes
    ----------
    readout_ : Readout
        What the rehearsals have taught.
    mates_ : Mates
        How the nearness of class mates shows, by D_train.
    level_ : Level
        Which directions tell classes apart, by D_train.
    reference_ : Reference
        D_cal in short, with up to 1,024 of its rows.
    alike_ : float
        How many copies of rows are of one class, by D_train and D_cal.
    cal_curve_ : OperatingCurve
        Of D_cal, exact: to see at a glance how far a test set is from it.
    summary_ : dict
        Rows and classes of the sets that it was fitted on.
    """

    def __init__(
        self,
        preset: str = "default",
        *,
        seed: int = 0,
        device: str = "auto",
        episodes: int = 3000,
    ) -> None:
        self.preset = preset
        self.seed = seed
        self.device = device
        self.episodes = episodes

    def _fit(self, train: EmbeddingSet, cal: EmbeddingSet) -> None:
        self._check_settings()
        if self.episodes < 10:
            raise OpenGCNError(f"episodes: expected 10 or more, received {self.episodes}")
        rng = np.random.default_rng(self.seed)
        self.cal_curve_ = reference_curve(cal, rng)
        self.reference_ = Reference.of(cal, self.cal_curve_, rng)
        self.alike_ = alike_share(train, cal)
        key = (self.seed, self.episodes)
        learned = remembered(train, ("rehearsed", *key), lambda: self._learn(train))
        examples, self.mates_, self.level_ = learned
        own = remembered(cal, ("rehearsed as D_cal", *key), lambda: self._rehearse_own(cal))
        if own is None:
            warnings.warn(
                f"{cal.source}: expected a D_cal large enough to rehearse on, received "
                f"{len(cal)} rows of {self.reference_.classes} classes; D_train alone must do",
                OpenGCNWarning,
                stacklevel=4,
            )
        self.readout_ = remembered(
            cal, ("readout", examples), lambda: Readout.learn(examples, own, self.seed)
        )

    def _learn(self, train: EmbeddingSet) -> tuple[Examples, Mates, Level]:
        """Return what depends on D_train alone."""
        world = World.of(train, np.random.default_rng(self.seed))
        examples = rehearse(world, self.episodes, self.seed)
        return examples, Mates.learn(world, self.seed), Level.learn(world)

    def _rehearse_own(self, cal: EmbeddingSet) -> Examples | None:
        """Return rehearsals on D_cal, if it is large enough for them."""
        world = World.of(cal, np.random.default_rng(self.seed))
        try:
            return rehearse(world, max(10, self.episodes // OWN), self.seed, gap=False)
        except OpenGCNError:
            return None

    def _estimate(self, test: EmbeddingSet) -> OperatingCurve:
        return self._tell(self._look(test))

    def _estimate_knowing(self, test: EmbeddingSet, prior: float) -> OperatingCurve:
        return self._tell(self._look(test, prior))

    def _tell(self, look: Look) -> OperatingCurve:
        """Return the curve of a set that has been looked at."""
        found = self.readout_.predict(look.asked, self.reference_)
        nodes = look.asked.nodes
        curve = _curve(found, look.below, {"graphs": len(look.asked.seen), "nodes": nodes})
        pairs = curve.info["prior"] * nodes * (nodes - 1) / 2
        if pairs < FEW_PAIRS:
            warnings.warn(
                f"{look.source}: about {pairs:.0f} same-class pairs are to be expected among the "
                f"{nodes} rows of a graph; the estimate then rests on D_cal",
                OpenGCNWarning,
                stacklevel=4,
            )
        if look.copies.max() == 1:
            return curve
        # Not the prior that the curve needs to be possible: that is for TNR.
        priors = found.prior, found.prior_low, found.prior_high
        return with_copies(curve, look.copies, look.alike, priors)

    def _suggested(self, n: float) -> float:
        """Return the prior of n rows whose classes are as large as D_cal's."""
        return min(max(self.reference_.class_size - 1, 0.5) / max(n - 1, 1), 0.5)

    def _look(self, test: EmbeddingSet, prior: float | None = None) -> Look:
        if len(test) < FEWEST:
            raise DataError(f"{test.source}: expected {FEWEST} rows or more, received {len(test)}")
        n = len(test)
        rng = np.random.default_rng(self.seed)
        if len(test) > COUNTED:  # read once, however large the set
            test = test.subset(np.sort(rng.choice(len(test), COUNTED, replace=False)))
        rows = np.asarray(test.take(np.arange(len(test))), np.float32)
        read = len(rows)
        rows, copies = without_copies(rows, FEWEST, test.source)
        suggested = self._suggested(n * len(rows) / read)
        alike = self.alike_
        if prior is not None:
            alike, prior = copies_apart(prior, doubles_share(copies), alike)
        nodes = min(len(rows), NODES)
        graphs = MORE if nodes > LARGE else GRAPHS
        if nodes <= ANCHORS:  # then every node is an anchor already
            graphs = 1
        log_priors = candidates(suggested, prior)
        seen: list[View] = []
        stand_ins: list[View] = []
        corrections: list[Correction] = []
        with one_blas_thread():
            # In random order: that of a set may have to do with its classes.
            order = rng.permutation(len(rows))
            level = self.level_.of(rows[order[:nodes]], self.reference_, prior or 0.0)
            for graph in range(graphs):
                chosen = rows[_turn(order, graph, rng)[:nodes]]
                profile = profile_graph(chosen, rng)
                seen.append(view(chosen, profile, self.reference_, rng))
                if graph * LOOKING < len(rows):  # or else every row has looked
                    corrections.append(
                        self.mates_.correct(chosen, self.reference_, log_priors, rng)
                    )
                    # Rows of D_cal that are in the set would be their own neighbours.
                    if nodes > SMALL and not seen[-1].found:
                        found = see_stand_ins(chosen, self.reference_, log_priors[-1], rng)
                        stand_ins += [] if found is None else [found]
        correction = Correction(*(np.mean(part, 0) for part in zip(*corrections, strict=True)))
        below = _share_below(EmbeddingSet(rows))
        asked = Asked(seen, nodes, correction, suggested, prior, level, stand_ins)
        return Look(test.source, asked, below, copies, alike)

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        reference, readout = self.reference_, self.readout_
        header = {
            "episodes": int(self.episodes),
            "alike": self.alike_,
            "classes": reference.classes,
            "class_size": reference.class_size,
            "size": reference.size,
            "error": reference.error,
            "scatter": [reference.scatter, reference.row_scatter],
        }
        mates = {f"mates.{name}": array for name, array in self.mates_.arrays().items()}
        level = {f"level.{name}": array for name, array in self.level_.arrays().items()}
        return header, readout.arrays() | mates | level | {
            "reference.quantiles": reference.quantiles,
            "reference.negatives": reference.negatives,
            "reference.rows": reference.rows,
            "reference.labels": reference.labels,
            "cal_curve": np.stack([self.cal_curve_.tpr, self.cal_curve_.tnr]),
        }

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.episodes = int(header["episodes"])
        self.alike_ = float(header["alike"])
        self.reference_ = Reference(
            arrays.pop("reference.quantiles"),
            arrays.pop("reference.negatives"),
            int(header["classes"]),
            float(header["class_size"]),
            arrays.pop("reference.rows"),
            arrays.pop("reference.labels"),
            int(header["size"]),
            float(header["error"]),
            *map(float, header["scatter"]),
        )
        tpr, tnr = arrays.pop("cal_curve")
        self.cal_curve_ = OperatingCurve(tpr, tnr, "exact")
        self.mates_ = Mates(*(arrays.pop(f"mates.{field.name}") for field in fields(Mates)))
        self.level_ = Level(*(arrays.pop(f"level.{field.name}") for field in fields(Level)))
        self.readout_ = Readout.of_arrays(arrays)


def _turn(order: NDArray[Any], graph: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return an order in which others come first in each graph, as long as there are any."""
    first = slice(graph * LOOKING, (graph + 1) * LOOKING)
    return np.concatenate([order[first], rng.permutation(np.delete(order, first))])


def _share_below(data: EmbeddingSet) -> NDArray[np.float64]:
    """Return the share of all pairs below each grid point."""
    bins = count_pairs(data).different
    below = np.concatenate([[0], np.cumsum(bins)[:-1]])
    return np.asarray(below / bins.sum(), np.float64)


def _curve(found: Prediction, below: NDArray[np.float64], info: dict[str, Any]) -> OperatingCurve:
    """Return the curve of a prediction, given the share of all pairs below each distance."""
    tpr = quantiles_to_rate(found.quantiles)
    low, high = quantiles_to_rate(found.high), quantiles_to_rate(found.low)
    prior = _possible(found.prior, below, tpr)
    tnr = _tnr(below, tpr, prior)
    tnr_low = _tnr(below, low, _possible(found.prior_low, below, tpr))
    # With TPR at its lowest, more same-class pairs are possible.
    tnr_high = _tnr(below, high, _possible(found.prior_high, below, low))
    return OperatingCurve(
        tpr,
        tnr,
        "OpenGCN",
        info | {"prior": prior, "confidence": 0.9},
        tpr_low=np.minimum(low, tpr),
        tpr_high=np.maximum(high, tpr),
        tnr_low=np.minimum(tnr_low, tnr),
        tnr_high=np.maximum(tnr_high, tnr),
    )


def _possible(prior: float, below: NDArray[np.float64], tpr: NDArray[np.float64]) -> float:
    """Bound the prior: no distance can have more same-class pairs below it than pairs."""
    inner = (tpr > 0.05) & (tpr < 0.95)
    bound = float((below[inner] / tpr[inner]).min()) if inner.any() else 1.0
    return min(prior, bound, 1 - 1e-6)


def _tnr(below: NDArray[np.float64], tpr: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    """Return 1 - F0, F0 = (F - prior TPR) / (1 - prior): all pairs less the same-class ones.

    Where F0 would fall, TPR rises too late: what was too much before is taken back.
    """
    strangers = ((below - prior * tpr) / (1 - prior)).clip(0, 1)
    return 1 - np.minimum.accumulate(strangers[::-1])[::-1]
