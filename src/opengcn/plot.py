"""Pictures of operating curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from opengcn.curve import OperatingCurve

__all__ = ["plot_curve"]


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
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
    name = curve.source if label is None else label
    prefix = f"{name}: " if name else ""
    (line,) = ax.plot(curve.distances, curve.tpr, label=f"{prefix}TPR", **style)
    dashed = {"color": line.get_color()} | style | {"linestyle": "--"}
    ax.plot(curve.distances, curve.tnr, label=f"{prefix}TNR", **dashed)
    ax.set(xlabel="distance threshold d", ylabel="rate", xlim=(0, 2), ylim=(-0.01, 1.01))
    ax.grid(alpha=0.25)
    ax.legend(frameon=False)
    return ax
