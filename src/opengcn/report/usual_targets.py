"""Thresholds at usual targets, and when the data cannot support one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opengcn.curve import OperatingCurve
from opengcn.errors import OpenGCNError
from opengcn.report.target import Target
from opengcn.report.wording import percent
from opengcn.threshold import Threshold

__all__ = ["USUAL", "Row", "known_prior", "look_up"]


USUAL = tuple(
    Target(rate, value)
    for rate, values in (("tpr", (0.8, 0.9, 0.95, 0.99)), ("tnr", (0.9, 0.99, 0.999, 0.9999)))
    for value in values
)
# Pairs that a target may leave on its wrong side before it is called too strict for the data.
# Ten counted pairs are uncertain by a third if they are independent, and pairs are not.
FEWEST = 10


@dataclass(frozen=True)
class Row:
    """A target with its threshold, or with the reason why there is none.

    Attributes
    ----------
    target : Target
        The target.
    threshold : Threshold or None
        What meets it.
    reason : str
        Why nothing does; "" when something does.
    """

    target: Target
    threshold: Threshold | None = None
    reason: str = ""


def look_up(curve: OperatingCurve, target: Target) -> Row:
    """Find the threshold for a target, unless the data are too few for it.

    There is none when fewer than ten pairs would lie on the wrong side of it (as far as the
    curve says how many rows it saw and which share of pairs is same-class), when the curve
    never reaches the target, when it has no such rate, or when a TNR is lost within the first
    0.01: that step holds duplicates, and what lies between two grid points is interpolated.

    Parameters
    ----------
    curve : OperatingCurve
        The curve.
    target : Target
        The target; its confidence is not looked at.

    Returns
    -------
    row : Row
        The threshold or the reason.
    """
    rate = curve.tpr if target.rate == "tpr" else curve.tnr
    kind = "same-class" if target.rate == "tpr" else "different-class"
    if np.isnan(rate).any():
        return Row(target, reason=f"Unknown: no {kind} pair is behind the curve")
    pairs = _pairs(curve, target.rate)
    if pairs is not None and (beyond := pairs * (1 - target.value)) < FEWEST - 1e-6:
        text = f"Too little data: it would rest on {beyond:.1f} of about {pairs:,.0f} {kind} pairs"
        return Row(target, reason=text)
    try:
        found = target.on(curve)
    except OpenGCNError:
        return Row(target, reason=f"Out of reach: the curve ends at TPR {percent(rate[-1])}")
    if target.rate == "tnr" and found.distance < curve.distances[1]:
        return Row(target, reason=f"Out of reach: TNR is {percent(rate[1])} at distance 0.01")
    return Row(target, found)


def known_prior(curve: OperatingCurve) -> float | None:
    """Return the share of same-class pairs that a curve says it found.

    Parameters
    ----------
    curve : OperatingCurve
        The curve.

    Returns
    -------
    prior : float or None
        In (0, 1).
    """
    prior = curve.info.get("prior")
    return float(prior) if isinstance(prior, float) and 0 < prior < 1 else None


def _pairs(curve: OperatingCurve, rate: str) -> float | None:
    """Return how many pairs of a kind a graph of the curve has; None when it does not say."""
    nodes, prior = curve.info.get("nodes"), known_prior(curve)
    if not isinstance(nodes, int):
        return None
    everything = nodes * (nodes - 1) / 2
    if rate == "tnr":
        return everything * (1 - (prior or 0))
    return None if prior is None else everything * prior
