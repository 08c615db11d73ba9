"""The methods that the benchmark compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import opengcn as og

if TYPE_CHECKING:
    from opengcn.calibrators.base import Calibrator

__all__ = ["ABLATIONS", "BASELINES", "METHODS", "Method"]


@dataclass(frozen=True)
class Method:
    """A method by name.

    Attributes
    ----------
    name : str
        For ``--methods`` and the results file.
    title : str
        For tables and figures.
    make : callable
        Takes a seed, returns a calibrator that is not fitted.
    seeded : bool
        Whether the seed matters. Where it does not, one seed is enough.
    hint : bool
        Whether `estimate` takes ``n_classes=``; the gain of that hint is then measured.
    """

    name: str
    title: str
    make: Callable[[int], Calibrator]
    seeded: bool = False
    hint: bool = False


def _paper(average: float, neighbour: float) -> Callable[[int], Calibrator]:
    """Make the paper's method with other weights of its density losses."""

    def make(seed: int) -> Calibrator:
        from opengcn.graph.losses import LossWeights

        return og.OpenGCN("paper", seed=seed, loss=LossWeights(1, average, neighbour))

    return make


_BASELINES = (
    Method("platt", "Platt scaling", lambda seed: og.PlattScaling()),
    Method("beta", "Beta calibration", lambda seed: og.BetaCalibration()),
    Method("isotonic", "Isotonic regression", lambda seed: og.IsotonicCalibration()),
    Method("histogram", "Histogram calibration", lambda seed: og.HistogramCalibration()),
    Method("dbscan", "DBSCAN", lambda seed: og.DBSCANCalibration()),
    Method("hi-lander", "Hi-LANDER", lambda seed: og.HiLander(seed=seed), seeded=True),
)
_OWN = (
    Method("hard", "Hard baseline (SplitCurve)", lambda seed: og.SplitCurve()),
    Method(
        "paper-pt",
        "OpenGCN, paper (PT)",
        lambda seed: og.OpenGCN("paper", seed=seed, finetune=False),
        seeded=True,
    ),
    Method(
        "paper",
        "OpenGCN, paper (PT+FT)",
        lambda seed: og.OpenGCN("paper", seed=seed),
        seeded=True,
    ),
    Method("opengcn", "OpenGCN", lambda seed: og.OpenGCN(seed=seed), seeded=True, hint=True),
)
# The control trains on the same loss as paper-nbr, written in another way (docs/paper.md):
# what the two differ by is the noise of the ablation.
_ABLATIONS = (
    Method("paper-conn", "L_conn", _paper(0, 0), seeded=True),
    Method("paper-avg", "+ 10 L_avg", _paper(10, 0), seeded=True),
    Method("paper-nbr", "+ 10 L_nbr", _paper(0, 10), seeded=True),
    Method("paper-avg-40", "+ 40 L_avg (control)", _paper(40, 0), seeded=True),
)

METHODS = {method.name: method for method in (*_BASELINES, *_OWN, *_ABLATIONS)}
BASELINES = tuple(method.name for method in _BASELINES)  # the six of the paper
ABLATIONS = tuple(method.name for method in _ABLATIONS)
