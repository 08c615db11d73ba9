"""The chart of TPR and TNR over the distance, with bands and the calibration set's curve."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from opengcn.curve import OperatingCurve
from opengcn.report.frame import Frame, area, line
from opengcn.report.wording import SPACE, percent
from opengcn.threshold import Threshold

__all__ = ["rates_chart"]

LABEL_LEVEL = 0.6  # rate at which the calibration set's curve is labelled
APART = 7  # per cent of the height that two labels need


def rates_chart(
    frame: Frame, curve: OperatingCurve, reference: OperatingCurve | None, chosen: Threshold
) -> str:
    """Draw the rates.

    Parameters
    ----------
    frame : Frame
        The distances to show.
    curve : OperatingCurve
        The estimate.
    reference : OperatingCurve or None
        The calibration set's curve.
    chosen : Threshold
        The chosen threshold, with its rates.

    Returns
    -------
    html : str
        The chart.
    """
    svg, html = frame.rows((k / 4, f"{25 * k}{SPACE}%") for k in range(5))
    x = frame.across()
    known = [name for name in ("tpr", "tnr") if not np.isnan(getattr(curve, name)).any()]
    for name in known:
        if curve.has_band:
            low, high = (getattr(curve, f"{name}_{end}")[frame.steps] for end in ("low", "high"))
            svg += area(x, low, high, f"band {name}")
    if reference is not None:
        for name in ("tpr", "tnr"):
            rate = getattr(reference, name)
            if not np.isnan(rate).any():
                svg += line(x, rate[frame.steps], f"line {name} reference")
        html += _reference_label(frame, curve, reference)
    for name in known:
        svg += line(x, getattr(curve, name)[frame.steps], f"line {name}")
        html += f'<i class="dot {name}"></i>'
    html += _end_labels({name: float(getattr(curve, name)[frame.high]) for name in known})
    html += f'<span class="flag" data-show="distance">{chosen.distance:.4f}</span>'
    return frame.box(svg, html, escape(_alternative(frame, curve, reference, chosen)), "rates")


def _end_labels(ends: dict[str, float]) -> str:
    tops = {name: 100 * (1 - rate) for name, rate in ends.items()}
    if len(tops) == 2 and abs(tops["tnr"] - tops["tpr"]) < APART:
        tops["tnr"] = tops["tpr"] + APART if tops["tpr"] < 50 else tops["tpr"] - APART
    return "".join(
        f'<span class="end {name}" style="top:{top:.2f}%">{name.upper()}</span>'
        for name, top in tops.items()
    )


def _reference_label(frame: Frame, curve: OperatingCurve, reference: OperatingCurve) -> str:
    """Label the reference where it is the outermost curve: right of TNR or left of TPR."""
    inner, at = _crossing(curve.tnr), _crossing(reference.tnr)
    side = "right"
    if not at >= inner and _crossing(reference.tpr) <= _crossing(curve.tpr):
        side, at = "left", _crossing(reference.tpr)
    if np.isnan(at):
        return ""
    return (
        f'<span class="note {side}" style="left:{frame.place(at):.2f}%;'
        f'top:{100 * (1 - LABEL_LEVEL):.0f}%">calibration<br>set</span>'
    )


def _crossing(rate: NDArray[np.float64]) -> float:
    """Return the distance at which a rate crosses the level of the label."""
    above = rate >= LABEL_LEVEL  # false for NaN
    crossings = np.flatnonzero(above[1:] != above[:-1])
    return float(crossings[0]) / 100 if len(crossings) else float("nan")


def _alternative(
    frame: Frame, curve: OperatingCurve, reference: OperatingCurve | None, chosen: Threshold
) -> str:
    low, high = frame.ends
    text = (
        f"Line chart of TPR and TNR over distances from {low:.1f} to {high:.1f}. At the chosen "
        f"distance {chosen.distance:.4f}, TPR is {percent(chosen.tpr)} and TNR "
        f"{percent(chosen.tnr)}."
    )
    for share in (0.1, 0.5, 0.9):
        if curve.tpr[-1] >= share and curve.tnr[0] >= share:  # false for NaN
            tpr, tnr = curve.threshold(tpr=share).distance, curve.threshold(tnr=share).distance
            text += f" TPR rises through {share:.0%} at {tpr:.2f}, TNR falls below it at {tnr:.2f}."
    if reference is not None:
        text += " Dashed lines show the calibration set's rates."
    return text + " The table of rates below holds the same numbers."
