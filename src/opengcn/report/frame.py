"""The frame that every chart shares: distances from left to right, a box that stretches.

Shapes are drawn on a canvas of 1000 x 1000 that the browser stretches to the width at hand;
text lies over it as HTML, placed in per cent, so that it keeps its size on any screen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from opengcn.curve import OperatingCurve
from opengcn.pairs import GRID

__all__ = ["Frame", "area", "line"]

SIZE = 1000  # of the canvas
EDGE = 0.001  # rates closer than this to 0 and 1 are of no interest to the eye
WIDE = 1.2  # span of distances above which a phone shows every second tick only

Points = NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """The stretch of distances that the charts show.

    Attributes
    ----------
    low, high : int
        Its ends, in grid steps of 0.01.
    """

    low: int
    high: int

    @classmethod
    def around(cls, curves: Iterable[OperatingCurve], distances: Iterable[float]) -> Frame:
        """Return the stretch in which something happens, out to tenths.

        Parameters
        ----------
        curves : iterable of OperatingCurve
            Their rates should be seen moving.
        distances : iterable of float
            These should be seen.

        Returns
        -------
        frame : Frame
            The frame; all distances when nothing happens anywhere.
        """
        rates = [rate for curve in curves for rate in (curve.tpr, curve.tnr)]
        # Of NaN no difference is above 0.
        moves = [np.abs(np.diff(rate.clip(EDGE, 1 - EDGE))) > 0 for rate in rates]
        moving = np.flatnonzero(np.any(moves, axis=0))
        if not len(moving):
            return cls(0, len(GRID) - 1)
        steps = [*moving, *(100 * d for d in distances)]
        low, high = floor((min(steps) - 5) / 10), ceil((max(steps) + 5) / 10)
        return cls(max(0, 10 * low), min(len(GRID) - 1, 10 * high))

    @property
    def steps(self) -> slice:
        """The part of an array on the grid that is shown."""
        return slice(self.low, self.high + 1)

    @property
    def ends(self) -> tuple[float, float]:
        """The distances at the left and at the right end."""
        return self.low / 100, self.high / 100

    def place(self, distance: float) -> float:
        """Return where a distance lies, in per cent of the width.

        Parameters
        ----------
        distance : float
            The distance.

        Returns
        -------
        place : float
            0 at the left end, 100 at the right end.
        """
        return 100 * (100 * distance - self.low) / (self.high - self.low)

    def across(self) -> Points:
        """Return where the grid points lie on the canvas.

        Returns
        -------
        x : ndarray of shape (k,)
            From 0 to 1000.
        """
        return np.linspace(0, SIZE, self.high - self.low + 1)

    def ticks(self) -> str:
        """Return the labels of the distance axis, as HTML: the distance, under it the cosine.

        Returns
        -------
        html : str
            A tick every 0.2, where the cosine has two decimals as well.
        """
        wide = self.high - self.low > 100 * WIDE
        html = ""
        for step in range(-(-self.low // 20) * 20, self.high + 1, 20):
            kind = "x minor" if wide and step % 40 else "x"
            d = step / 100
            html += (
                f'<span class="{kind}" style="left:{self.place(d):.2f}%">{d:.1f}'
                f"<small>{1 - d * d / 2:.2f}</small></span>"
            )
        return f'{html}<span class="axis"><small></small></span>'

    def rows(self, levels: Iterable[tuple[float, str]]) -> tuple[str, str]:
        """Return horizontal lines for the canvas and their labels.

        Parameters
        ----------
        levels : iterable of (float, str)
            Height from 0 (bottom) to 1 (top), and label.

        Returns
        -------
        svg, html : str
            The lines and the labels.
        """
        svg = html = ""
        for height, label in levels:
            y = 1 - height
            svg += f'<path class="row" d="M0 {SIZE * y:.1f}H{SIZE}"/>'
            html += f'<span class="y" style="top:{100 * y:.2f}%">{label}</span>'
        return svg, html

    def box(self, svg: str, html: str, alternative: str, kind: str = "") -> str:
        """Return a chart.

        Parameters
        ----------
        svg : str
            Shapes on the canvas.
        html : str
            Labels over it.
        alternative : str
            What the chart shows, for those who do not see it; escaped by the caller.
        kind : str, default ""
            Further classes of the element.

        Returns
        -------
        html : str
            The chart, with the distance axis and the line that follows the slider.
        """
        return (
            f'<div class="plot {kind}" role="img" aria-label="{alternative}">'
            f'<div class="frame" data-drag><svg viewBox="0 0 {SIZE} {SIZE}" '
            f'preserveAspectRatio="none" aria-hidden="true">{svg}</svg>'
            f'{self.ticks()}<i class="chosen"></i><i class="cursor"></i>{html}</div></div>'
        )


def line(x: Points, height: Points, kind: str) -> str:
    """Return a line on the canvas.

    Parameters
    ----------
    x : ndarray of shape (k,)
        On the canvas.
    height : ndarray of shape (k,)
        From 0 (bottom) to 1 (top).
    kind : str
        Classes of the element.

    Returns
    -------
    svg : str
        A path.
    """
    return f'<path class="{kind}" d="M{_path(x, height)}"/>'


def area(x: Points, low: Points, high: Points, kind: str) -> str:
    """Return the area between two lines on the canvas.

    Parameters
    ----------
    x : ndarray of shape (k,)
        On the canvas.
    low, high : ndarray of shape (k,)
        From 0 (bottom) to 1 (top).
    kind : str
        Classes of the element.

    Returns
    -------
    svg : str
        A closed path.
    """
    return f'<path class="{kind}" d="M{_path(x, low)}L{_path(x[::-1], high[::-1])}Z"/>'


def _path(x: Points, height: Points) -> str:
    return "L".join(
        f"{a:.1f} {SIZE * (1 - b):.1f}" for a, b in zip(x.tolist(), height.tolist(), strict=True)
    )
