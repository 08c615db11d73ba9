"""Results that belong to an embedding set, computed once while the set lives.

Eight splits of one data set share D_train, and four calibrators share its exact curve.
Sets do not change, so what depends on a set alone can be remembered with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet

__all__ = ["exact_curve", "remembered"]

T = TypeVar("T")

_RESULTS: WeakKeyDictionary[EmbeddingSet, dict[Hashable, Any]] = WeakKeyDictionary()


def remembered(data: EmbeddingSet, key: Hashable, make: Callable[[], T]) -> T:
    """Return what `make` returns, calling it once for each set and key.

    Parameters
    ----------
    data : EmbeddingSet
        The set that the result belongs to; the result is dropped with it.
    key : hashable
        What the result is, with everything else that it depends on.
    make : callable
        Computes it.

    Returns
    -------
    result
        The result. Do not change it.
    """
    results = _RESULTS.setdefault(data, {})
    if key not in results:
        results[key] = make()
    found: T = results[key]
    return found


def exact_curve(data: EmbeddingSet, *, progress: bool = True) -> OperatingCurve:
    """Return `OperatingCurve.from_labels(data)`, remembered.

    Parameters
    ----------
    data : EmbeddingSet
        A labelled set.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    curve : OperatingCurve
        The exact curve.
    """
    return remembered(
        data, "exact curve", lambda: OperatingCurve.from_labels(data, progress=progress)
    )
