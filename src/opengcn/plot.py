"""Pictures of operating curves and of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from opengcn.curve import OperatingCurve

__all__ = ["plot_curve", "plot_history"]


def plot_curve(
    curve: OperatingCurve, ax: Axes | None, label: str | None, style: dict[str, Any]
) -> Axes:
    """Draw TPR (solid) and TNR (dashed) over the distance; see `OperatingCurve.plot`.

    Parameters
    ----------
    curve : OperatingCurve
        The curve.
    ax : matplotlib.axes.Axes or None
        Where to draw.
    label : str or None
        Name in the legend.
    style : dict
        Arguments of ``Axes.plot``.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.
    """
    ax = _new_axes() if ax is None else ax
    name = curve.source if label is None else label
    prefix = f"{name}: " if name else ""
    (line,) = ax.plot(curve.distances, curve.tpr, label=f"{prefix}TPR", **style)
    dashed = {"color": line.get_color()} | style | {"linestyle": "--"}
    ax.plot(curve.distances, curve.tnr, label=f"{prefix}TNR", **dashed)
    if curve.has_band:
        shade: dict[str, Any] = {"color": line.get_color(), "alpha": 0.15, "linewidth": 0}
        for rate in ("tpr", "tnr"):
            low, high = getattr(curve, f"{rate}_low"), getattr(curve, f"{rate}_high")
            ax.fill_between(curve.distances, low, high, **shade)
    ax.set(xlabel="distance threshold d", ylabel="rate", xlim=(0, 2), ylim=(-0.01, 1.01))
    ax.grid(alpha=0.25)
    ax.legend(frameon=False)
    return ax


def plot_history(history: Mapping[str, Sequence[float]], ax: Axes | None) -> Axes:
    """Draw the loss of each stage of a training over its steps.

    Parameters
    ----------
    history : mapping of str to sequence of float
        Losses by stage.
    ax : matplotlib.axes.Axes or None
        Where to draw.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes.
    """
    ax = _new_axes() if ax is None else ax
    for stage, losses in history.items():
        (line,) = ax.plot(losses, linewidth=0.5, alpha=0.4)
        window = max(1, len(losses) // 40)  # single steps are noisy: draw a running mean too
        smooth = np.convolve(losses, np.ones(window) / window, "valid")
        steps = np.arange(len(smooth)) + window / 2
        ax.plot(steps, smooth, label=stage, color=line.get_color())
    ax.set(xlabel="step", ylabel="loss")
    ax.grid(alpha=0.25)
    ax.legend(frameon=False)
    return ax


def _new_axes() -> Axes:
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
    return ax
