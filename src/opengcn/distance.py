"""The one place that knows metrics and their directions.

For unit vectors the L2 distance d, its square, the cosine similarity 1 - d^2 / 2 and the
cosine distance d^2 / 2 say the same thing; two of them are thresholded from above and one
from below, which is where most mistakes with thresholds come from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Literal, get_args

from opengcn.errors import OpenGCNError

__all__ = ["Metric", "convert", "rule"]

Metric = Literal["l2", "squared_l2", "cosine", "cosine_distance"]


@dataclass(frozen=True)
class _Kind:
    name: str
    sign: str
    low: float
    high: float
    from_l2: Callable[[float], float]
    to_l2: Callable[[float], float]


_KINDS: dict[str, _Kind] = {
    "l2": _Kind("distance", "<", 0, 2, lambda d: d, lambda v: v),
    "squared_l2": _Kind("squared L2 distance", "<", 0, 4, lambda d: d * d, sqrt),
    "cosine": _Kind(
        "cosine similarity", ">", -1, 1, lambda d: 1 - d * d / 2, lambda v: sqrt(2 - 2 * v)
    ),
    "cosine_distance": _Kind(
        "cosine distance", "<", 0, 2, lambda d: d * d / 2, lambda v: sqrt(2 * v)
    ),
}


def convert(value: float, source: Metric, target: Metric) -> float:
    """Turn a threshold in one metric into the same threshold in another.

    Parameters
    ----------
    value : float
        The threshold.
    source, target : {"l2", "squared_l2", "cosine", "cosine_distance"}
        The metrics. ``cosine`` is the similarity (larger is closer); for unit vectors
        the inner product is the same number.

    Returns
    -------
    value : float
        The threshold in the target metric.

    Examples
    --------
    >>> import opengcn as og
    >>> og.convert(1.0, "l2", "cosine")
    0.5
    >>> og.convert(0.5, "cosine", "squared_l2")
    1.0
    """
    kind = _kind(source)
    if not kind.low <= value <= kind.high:
        raise OpenGCNError(
            f"threshold: expected a {kind.name} in [{kind.low}, {kind.high}], received {value}"
        )
    return _kind(target).from_l2(kind.to_l2(float(value)))


def rule(value: float, metric: Metric) -> str:
    """Spell out a threshold with its direction.

    Parameters
    ----------
    value : float
        The threshold.
    metric : {"l2", "squared_l2", "cosine", "cosine_distance"}
        Its metric.

    Returns
    -------
    text : str
        The rule in words.

    Examples
    --------
    >>> rule(0.5, "cosine")
    'match if cosine similarity > 0.5000'
    """
    kind = _kind(metric)
    return f"match if {kind.name} {kind.sign} {value:.4f}"


def _kind(metric: str) -> _Kind:
    try:
        return _KINDS[metric]
    except KeyError:
        raise OpenGCNError(
            f"metric: expected one of {', '.join(get_args(Metric))}, received {metric!r}"
        ) from None
