"""Rates, intervals and targets as people read them. `report.js` words numbers the same way."""

from __future__ import annotations

from math import isnan

from opengcn.threshold import Threshold

__all__ = ["SPACE", "describe", "interval", "percent", "strangers", "true_share"]

SPACE = "\N{NO-BREAK SPACE}"


def percent(rate: float, digits: int | None = None) -> str:
    """Write a rate in per cent.

    Parameters
    ----------
    rate : float
        In [0, 1], or NaN.
    digits : int, optional
        Decimals; by default one, and more near 0 and 1, where they matter.

    Returns
    -------
    text : str
        As in "96.8 %"; only a rate of 1 is 100 %. "unknown" for NaN.
    """
    if isnan(rate):
        return "unknown"
    return f"{_hundred(rate, _digits(rate) if digits is None else digits)}{SPACE}%"


def interval(low: float, high: float, digits: int | None = None) -> str:
    """Write an interval of a rate in per cent.

    Parameters
    ----------
    low, high : float
        In [0, 1], or NaN when there is no interval.
    digits : int, optional
        Decimals, as for `percent`.

    Returns
    -------
    text : str
        As in "70.4-99.0 %", with an en dash; "none" for NaN.
    """
    if isnan(low) or isnan(high):
        return "none"
    shown = max(_digits(low), _digits(high)) if digits is None else digits
    return f"{_hundred(low, shown)}\N{EN DASH}{_hundred(high, shown)}{SPACE}%"


def strangers(tnr: float) -> str:
    """Say how many different-class pairs match all the same.

    Parameters
    ----------
    tnr : float
        In [0, 1], or NaN.

    Returns
    -------
    text : str
        As in "about 1 in 33 strangers gets through".
    """
    if isnan(tnr):
        return "how many strangers get through is unknown"
    if tnr == 1:
        return "no stranger gets through"
    if tnr < 0.9:
        return f"{percent(1 - tnr)} of the strangers get through"
    return f"about 1 in {float(f'{1 / (1 - tnr):.1e}'):,.0f} strangers gets through"


def true_share(point: Threshold, prior: float | None) -> float:
    """Return the share of same-class pairs among the pairs that match.

    Parameters
    ----------
    point : Threshold
        With rates.
    prior : float or None
        Share of same-class pairs among all pairs.

    Returns
    -------
    share : float
        In [0, 1]; NaN when the prior or a rate is unknown, or nothing matches.
    """
    if prior is None:
        return float("nan")
    same = prior * point.tpr
    matching = same + (1 - prior) * (1 - point.tnr)
    return same / matching if matching != 0 else float("nan")


def describe(point: Threshold, prior: float | None) -> dict[str, str]:
    """Put a point of the curve in words: every text of the page that follows the slider.

    Parameters
    ----------
    point : Threshold
        A distance with its rates.
    prior : float or None
        Share of same-class pairs among all pairs.

    Returns
    -------
    texts : dict of str to str
        By the name that the template and `report.js` know them under.
    """
    return {
        "distance": f"{point.distance:.4f}",
        "cosine": f"{point.cosine:.4f}",
        "squared_l2": f"{point.squared_l2:.4f}",
        "tpr": percent(point.tpr),
        "tpr_interval": interval(point.tpr_low, point.tpr_high),
        "tnr": percent(point.tnr),
        "tnr_interval": interval(point.tnr_low, point.tnr_high),
        "strangers": strangers(point.tnr),
        "true_share": percent(true_share(point, prior)),
    }


def _digits(rate: float) -> int:
    margin = min(rate, 1 - rate)
    if margin == 0:
        return 1
    return 1 + (margin < 0.01) + (margin < 0.001) + (margin < 0.0001)


def _hundred(rate: float, digits: int) -> str:
    if rate == 1:
        return "100"
    # Rounding must not turn nearly all into all.
    return f"{min(100 * rate, 100 - 10.0**-digits):.{digits}f}"
