"""The histogram of distances, split into estimated same-class and different-class pairs."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

import numpy as np
from numpy.typing import NDArray

from opengcn.curve import OperatingCurve
from opengcn.report.frame import Frame, area, line
from opengcn.report.wording import SPACE

__all__ = ["histogram"]

STEP = 2  # grid steps in a bar
DECADES = 2  # that the logarithmic scale goes down from the highest same-class bar
HEADROOM = 1.3  # over the highest bar, for its label
LABEL = 20  # width that a label needs, in per cent of the frame's

Shares = NDArray[np.float64]
Levels = list[tuple[float, str]]


@dataclass(frozen=True)
class _Bars:
    """Share of pairs in every bar of 0.02 within the frame, of shape (k,) each."""

    frame: Frame
    same: Shares
    other: Shares
    chosen: float  # where the chosen threshold lies, in per cent: labels keep clear of it

    @property
    def x(self) -> Shares:
        """Return both ends of every bar on the canvas, of shape (2 k,)."""
        return np.repeat(self.frame.across()[::STEP], 2)[1:-1]

    def label(self, bar: int, height: float, name: str) -> str:
        """Label a kind of pairs above a bar."""
        place = 100 * (bar + 0.5) * STEP / (self.frame.high - self.frame.low)
        crossed = place < self.chosen < place + LABEL
        side = "left" if place > LABEL and (crossed or place > 60) else "right"
        text = "same class" if name == "tpr" else "different classes"
        return (
            f'<span class="note above {side}" '
            f'style="left:{place:.2f}%;top:{100 * (1 - height):.2f}%">{text}</span>'
        )

    def box(self, svg: str, html: str, what: str, view: str) -> str:
        """Return the chart with its text alternative."""
        low = self.frame.ends[0]
        same, other = (
            low + (int(np.argmax(bars)) + 0.5) * STEP / 100 for bars in (self.same, self.other)
        )
        alternative = escape(
            f"{what}. Same-class pairs are most frequent around distance {same:.2f}, "
            f"different-class pairs around {other:.2f}."
        )
        return self.frame.box(svg, html, alternative, f"view-{view}")


def histogram(
    frame: Frame, curve: OperatingCurve, prior: float | None, chosen: float
) -> dict[str, str]:
    """Draw the histogram.

    Of all pairs, prior x TPR'(d) are same-class pairs at distance d, and (1 - prior) x -TNR'(d)
    are different-class pairs. The former are rare: next to the latter they would not be
    seen, hence one view that is cut off above the same-class pairs and a logarithmic one.
    Without a prior each kind is drawn as shares of itself.

    Parameters
    ----------
    frame : Frame
        The distances to show.
    curve : OperatingCurve
        The estimate.
    prior : float or None
        Share of same-class pairs among all pairs.
    chosen : float
        Where the chosen threshold lies, in per cent of the frame's width.

    Returns
    -------
    views : dict of str to str
        Charts as HTML by name: "zoom" and "log", or "own" alone without a prior; none at all
        when a rate is unknown.
    """
    if np.isnan(curve.tpr).any() or np.isnan(curve.tnr).any():
        return {}
    same = np.diff(curve.tpr[frame.steps][::STEP])
    other = -np.diff(curve.tnr[frame.steps][::STEP])
    if not (same.any() and other.any()):  # all pairs of a kind at distance 2, say
        return {}
    if prior is None:
        return {"own": _side_by_side(_Bars(frame, same, other, chosen))}
    bars = _Bars(frame, prior * same, (1 - prior) * other, chosen)
    return {"zoom": _zoomed(bars), "log": _logarithmic(bars)}


def _zoomed(bars: _Bars) -> str:
    """Draw different-class bars on top of same-class ones, cut off above the latter."""
    whole = bars.same + bars.other
    top = min(float(bars.same.max()), float(whole.max())) * HEADROOM
    svg, html = bars.frame.rows(_levels(top))
    same, all_ = (np.minimum(np.repeat(shares, 2) / top, 1.01) for shares in (bars.same, whole))
    svg += area(bars.x, same, all_, "fill tnr") + line(bars.x, all_, "line tnr")
    svg += area(bars.x, np.zeros_like(same), same, "fill tpr") + line(bars.x, same, "line tpr")
    peak, last = int(np.argmax(bars.same)), int(np.flatnonzero(whole >= min(top, whole.max()))[-1])
    html += bars.label(peak, bars.same[peak] / top, "tpr") + bars.label(last, 0.8, "tnr")
    what = "Histogram of the distances of all pairs, cut off above the estimated same-class pairs"
    return bars.box(svg, html, what, "zoom")


def _logarithmic(bars: _Bars) -> str:
    top = log10(max(float(bars.same.max()), float(bars.other.max())) * HEADROOM * 2)
    bottom = floor(log10(float(bars.same.max()))) + 1 - DECADES
    levels = [((k - bottom) / (top - bottom), _share(10.0**k)) for k in range(bottom, ceil(top))]
    same, other = (
        (np.log10(np.maximum(shares, 10.0**bottom)) - bottom) / (top - bottom)
        for shares in (bars.same, bars.other)
    )
    what = "Histogram of the distances of all pairs on a logarithmic scale"
    return _overlaid(bars, same, other, levels, what, "log")


def _side_by_side(bars: _Bars) -> str:
    top = max(float(bars.same.max()), float(bars.other.max())) * HEADROOM
    what = "Histograms of same-class and of different-class distances, each by itself"
    return _overlaid(bars, bars.same / top, bars.other / top, _levels(top), what, "own")


def _overlaid(
    bars: _Bars, same: Shares, other: Shares, levels: Levels, what: str, view: str
) -> str:
    """Draw the two kinds over one another, given the heights of their bars."""
    svg, html = bars.frame.rows(levels)
    for heights, name in ((other, "tnr"), (same, "tpr")):
        stairs = np.repeat(heights, 2)
        svg += area(bars.x, np.zeros_like(stairs), stairs, f"fill {name}")
        svg += line(bars.x, stairs, f"line {name}")
        peak = int(np.argmax(heights))
        html += bars.label(peak, heights[peak], name)
    return bars.box(svg, html, what, view)


def _levels(top: float) -> Levels:
    """Return some three round levels of a linear scale."""
    power = 10.0 ** floor(log10(top / 3))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= top / 3 * (1 - 1e-9))
    return [(k * step / top, _share(k * step)) for k in range(int(top / step) + 1)]


def _share(share: float) -> str:
    return f"{100 * share:.6g}{SPACE}%"
