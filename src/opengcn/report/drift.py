"""How far the calibration set's curve is from the estimate, in a sentence."""

from __future__ import annotations

import numpy as np

from opengcn.curve import OperatingCurve
from opengcn.errors import OpenGCNError
from opengcn.report.target import Target
from opengcn.report.wording import SPACE, interval, percent

__all__ = ["drift"]

USUAL = Target("tpr", 0.9)  # compared when nothing was asked for


def drift(curve: OperatingCurve, reference: OperatingCurve, target: Target | None) -> str:
    """Say what the calibration set's threshold for a target would do with these data.

    Parameters
    ----------
    curve : OperatingCurve
        The estimate.
    reference : OperatingCurve
        The calibration set's curve.
    target : Target or None
        The target; its confidence is not looked at. TPR 90 % when None.

    Returns
    -------
    text : str
        A sentence, and where the estimate has a band another that says whether the difference
        is beyond chance.
    """
    asked = target or USUAL
    name, rate = asked.rate, asked.rate.upper()
    if np.isnan(getattr(curve, name)).any():
        return f"The estimate has no {rate}, so the two cannot be compared at {asked}."
    try:
        theirs = asked.on(reference)
    except OpenGCNError:
        return f"The calibration set has no threshold for {asked}."
    here = curve.at(theirs.distance)
    low, high = getattr(here, f"{name}_low"), getattr(here, f"{name}_high")
    band = f" (90{SPACE}% interval {interval(low, high)})" if curve.has_band else ""
    find = f"find about {percent(here.tpr)} of the true matches"
    reject = f"reject about {percent(here.tnr)} of the strangers"
    first, second, other = (find, reject, here.tnr) if name == "tpr" else (reject, find, here.tpr)
    deeds = f"{first}{band} and {second}" if other == other else f"{first}{band}"
    text = (
        f"The calibration set\N{RIGHT SINGLE QUOTATION MARK}s threshold for {asked}, "
        f"distance < {theirs.distance:.4f}, would here {deeds}."
    )
    if not curve.has_band:
        return text
    share = f"{100 * asked.value:g}{SPACE}%"
    if low <= asked.value <= high:
        return f"{text} {share} lies within the interval: the difference may be chance."
    return f"{text} {share} lies outside the interval: these data differ from the calibration set."
