"""Operating curves: TPR(d) and TNR(d) on the grid 0, 0.01, ..., 2."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError, OpenGCNError, OpenGCNWarning, require
from opengcn.metrics import mae_comb
from opengcn.pairs import GRID, PairHistogram, count_pairs, weigh_pairs
from opengcn.rates import ROUNDING, check_rate, first_at, last_at, reached, settled
from opengcn.threshold import Threshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["OperatingCurve"]

BAND = ("tpr_low", "tpr_high", "tnr_low", "tnr_high")


@dataclass(frozen=True, eq=False, repr=False)
class OperatingCurve:
    """TPR(d) and TNR(d) of a set: which share of pairs a threshold d gets right.

    A pair matches when its distance is strictly below d. TPR(d) is the share of
    same-class pairs with d_ij < d (Eq. 2), TNR(d) the share of different-class pairs
    with d_ij >= d (Eq. 3; printed there with >, which would count ties nowhere).

    Parameters
    ----------
    tpr, tnr : array_like of shape (201,)
        The rates at distances 0, 0.01, ..., 2; `tpr` never falls and `tnr` never rises.
        A rate without a pair behind it is NaN throughout.
    source : str, default ""
        Where the curve comes from, for people: "exact", or the method that estimated it.
    info : mapping of str to number or str, optional
        How it was made, as in {"subgraphs": 40}; kept in JSON.
    tpr_low, tpr_high, tnr_low, tnr_high : array_like of shape (201,), optional
        A band around each rate that covers the truth with a confidence of 90 %, for
        estimates that know how sure they are; all four or none. What the confidence rests on
        is the method's business: see docs/default.md for OpenGCN's.

    Attributes
    ----------
    distances : ndarray of shape (201,)
        The grid.
    tpr, tnr : ndarray of shape (201,)
        The rates.
    source, info
        As given.
    tpr_low, tpr_high, tnr_low, tnr_high : ndarray of shape (201,) or None
        The band.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=20, samples=10, seed=0)
    >>> curve = og.OperatingCurve.from_labels(data)
    >>> bool(curve.at(curve.threshold(tpr=0.9).distance).tpr >= 0.9)
    True
    """

    tpr: NDArray[np.float64]
    tnr: NDArray[np.float64]
    source: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    tpr_low: NDArray[np.float64] | None = field(default=None, kw_only=True)
    tpr_high: NDArray[np.float64] | None = field(default=None, kw_only=True)
    tnr_low: NDArray[np.float64] | None = field(default=None, kw_only=True)
    tnr_high: NDArray[np.float64] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        given = [getattr(self, name) is not None for name in BAND]
        if any(given) and not all(given):
            raise DataError(f"operating curve: expected all of {', '.join(BAND)} or none of them")
        rates = ("tpr", "tnr", *(BAND if all(given) else ()))
        for name in rates:
            sign = 1 if name.startswith("tpr") else -1
            rate = np.array(getattr(self, name), dtype=np.float64)
            if rate.shape != GRID.shape:
                raise DataError(
                    f"operating curve: expected {name} of shape {GRID.shape}, received {rate.shape}"
                )
            if not np.isnan(rate).all():
                check_rate(rate, name, sign)
                rate = rate.clip(0.0, 1.0)
            rate.flags.writeable = False
            object.__setattr__(self, name, rate)
        for name in rates[2::2]:
            high = name.replace("low", "high")
            inside = getattr(self, name) <= getattr(self, name[:3]) + ROUNDING
            inside &= getattr(self, name[:3]) <= getattr(self, high) + ROUNDING
            if not inside.all():
                raise DataError(
                    f"operating curve: expected {name} <= {name[:3]} <= {high}, received "
                    f"otherwise at distance {GRID[int(np.argmin(inside))]:.2f}"
                )
        object.__setattr__(self, "info", {k: _plain(v) for k, v in self.info.items()})

    @property
    def has_band(self) -> bool:
        """Whether the curve says how sure it is."""
        return self.tpr_low is not None

    @property
    def distances(self) -> NDArray[np.float64]:
        """The grid 0, 0.01, ..., 2, of shape (201,)."""
        return GRID

    @classmethod
    def from_labels(
        cls,
        X: ArrayLike | EmbeddingSet,
        y: ArrayLike | None = None,
        *,
        threads: int | None = None,
        progress: bool = True,
    ) -> OperatingCurve:
        """Return the exact curve: every pair i < j is counted (Eq. 2-3).

        Parameters
        ----------
        X : array_like of shape (n, D) or EmbeddingSet
            The embeddings.
        y : array_like of shape (n,), optional
            Their labels; not needed when X is a set with labels.
        threads : int, optional
            Workers; all cores by default. The curve does not depend on it.
        progress : bool, default True
            Show a bar when it takes more than two seconds.

        Returns
        -------
        curve : OperatingCurve
            The exact curve. A rate without any pair behind it is NaN, with a warning.
        """
        data = _as_set(X, y)
        counts = count_pairs(data, data.codes, threads=threads, progress=progress)
        return cls.from_histogram(counts, source="exact")

    @classmethod
    def from_weights(
        cls,
        X: ArrayLike | EmbeddingSet,
        weights: ArrayLike,
        *,
        source: str = "weighted pairs",
    ) -> OperatingCurve:
        """Return the curve of pairs that are same-class with a probability.

        TPR(d) = sum p_ij 1[d_ij < d] / sum p_ij, and TNR(d) likewise with 1 - p_ij and
        d_ij >= d, over i < j. With p in {0, 1} this is Eq. 4 of the paper.

        Parameters
        ----------
        X : array_like of shape (n, D) or EmbeddingSet
            The embeddings.
        weights : array_like of shape (n, n)
            p_ij in [0, 1]; only entries i < j are read.
        source : str, default "weighted pairs"
            Where the weights come from.

        Returns
        -------
        curve : OperatingCurve
            The weighted curve.
        """
        data = _as_set(X, None)
        p = np.asarray(weights)
        if p.shape != (len(data), len(data)):
            raise DataError(
                f"pair weights: expected shape ({len(data)}, {len(data)}), received {p.shape}"
            )
        sums = weigh_pairs(data, lambda rows, columns: p[rows, columns])
        return cls.from_histogram(sums, source=source)

    @classmethod
    def from_histogram(cls, pairs: PairHistogram, *, source: str = "") -> OperatingCurve:
        """Return the curve of a histogram of pairs.

        Parameters
        ----------
        pairs : PairHistogram
            Counts or weights by distance.
        source : str, default ""
            Where it comes from.

        Returns
        -------
        curve : OperatingCurve
            A rate without any pair behind it is NaN, with a warning.
        """
        return cls(
            _share_below(pairs.same, "same-class pair, so TPR"),
            1.0 - _share_below(pairs.different, "different-class pair, so TNR"),
            source,
        )

    def at(self, distance: float) -> Threshold:
        """Return the rates at any distance, interpolated linearly between grid points.

        Parameters
        ----------
        distance : float
            In [0, 2].

        Returns
        -------
        threshold : Threshold
            The distance with its TPR and TNR, and their intervals when the curve has a band.
        """
        names = ("tpr", "tnr", *(BAND if self.has_band else ()))
        rates: dict[str, Any] = {
            name: float(np.interp(distance, GRID, getattr(self, name))) for name in names
        }
        return Threshold(float(distance), **rates)

    def threshold(
        self,
        *,
        tpr: float | None = None,
        tnr: float | None = None,
        confidence: float | None = None,
        grid: bool = False,
    ) -> Threshold:
        """Return the distance that meets a target (Eq. 1).

        Parameters
        ----------
        tpr : float in (0, 1], optional
            Find the smallest distance with TPR >= tpr: "find at least 90 % of the matches".
        tnr : float in (0, 1], optional
            Find the largest distance with TNR >= tnr: "let at most 0.1 % of strangers
            through" is tnr=0.999. Exactly one of the two is given.
        confidence : float in [0.5, 1), optional
            Find the distance that reaches the target with this confidence, rather than the
            one that reaches it by the estimate. Needs a curve with a band. Between the
            estimate (0.5) and the edge of the band (0.95) errors are taken as normal.
        grid : bool, default False
            Search the grid of 0.01, as the paper does, instead of interpolating linearly
            between its points.

        Returns
        -------
        threshold : Threshold
            The distance, with TPR and TNR there; with intervals when the curve has a band.
        """
        if (tpr is None) == (tnr is None):
            given = "neither" if tpr is None else "both"
            raise OpenGCNError(f"threshold: expected one target, tpr= or tnr=, received {given}")
        name, target = ("tpr", tpr) if tpr is not None else ("tnr", tnr)
        assert target is not None
        if not 0 < target <= 1:
            raise OpenGCNError(f"threshold: expected {name} in (0, 1], received {target}")
        rate = self.tpr if tpr is not None else self.tnr
        if np.isnan(rate).any():
            raise OpenGCNError(
                f"threshold: expected a curve with {name.upper()}, received one without any pair "
                f"behind it"
            )
        if confidence is not None:
            rate = self._sure(name, confidence)
        reach = first_at if tpr is not None else last_at
        if confidence is None:
            distance = reach(rate, float(target), grid)
        else:  # whoever cannot be sure at any distance gets the safest one
            distance = reached(reach, rate, float(target), grid)
        distance = settled(distance, rate, target, rises=tpr is not None)
        found = self.at(distance)
        ends: dict[str, float] = {}
        if self.has_band:
            edges = sorted(
                reached(reach, getattr(self, f"{name}_{side}"), float(target), grid)
                for side in ("low", "high")
            )
            ends = {
                "distance_low": min(edges[0], distance),
                "distance_high": max(edges[1], distance),
            }
        asked = f"{name} >= {target:g}"
        if confidence is not None:
            asked += f" with confidence {confidence:g}"
        return replace(found, target=asked, **ends)

    def _sure(self, name: str, confidence: float) -> NDArray[np.float64]:
        """Return the rate that is reached with a confidence."""
        if not self.has_band:
            raise OpenGCNError(
                "threshold: expected a curve with a band for confidence=, received one that does "
                "not say how sure it is"
            )
        if not 0.5 <= confidence < 1:
            raise OpenGCNError(f"threshold: expected confidence in [0.5, 1), received {confidence}")
        rate, low = getattr(self, name), getattr(self, f"{name}_low")
        normal = NormalDist()
        steps = normal.inv_cdf(confidence) / normal.inv_cdf(0.95)
        sure = (rate - steps * (rate - low)).clip(0, 1)
        # Steps beyond the band can cost monotony where the band narrows.
        return np.maximum.accumulate(sure) if name == "tpr" else np.minimum.accumulate(sure)

    def mae(self, truth: OperatingCurve) -> float:
        """Return MAE_comb against the true curve; see `opengcn.metrics.mae_comb`.

        Parameters
        ----------
        truth : OperatingCurve
            The exact curve.

        Returns
        -------
        error : float
            0 when the curves are the same.
        """
        return mae_comb(self, truth)

    def __repr__(self) -> str:
        parts = [repr(self.source)]
        if self.tpr[-1] >= 0.9:  # false for NaN
            parts.append(f"TPR 90% at {self.threshold(tpr=0.9).distance:.3f}")
        if self.tnr[0] >= 0.99:
            parts.append(f"TNR 99% at {self.threshold(tnr=0.99).distance:.3f}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OperatingCurve):
            return NotImplemented
        return (
            (self.source, self.info) == (other.source, other.info)
            and all(
                np.array_equal(a, b, equal_nan=True)
                for a, b in ((self.tpr, other.tpr), (self.tnr, other.tnr))
            )
            and self._band() == other._band()
        )

    def _band(self) -> list[list[float]]:
        return [getattr(self, name).tolist() for name in BAND] if self.has_band else []

    def to_json(self) -> str:
        """Return the curve as JSON.

        Returns
        -------
        str
            An object with ``distances``, ``tpr``, ``tnr``, ``source`` and ``info``, and the
            four edges of the band when there is one; NaN is null.
        """
        rates = {
            name: [None if v != v else v for v in getattr(self, name).tolist()]
            for name in ("distances", "tpr", "tnr")
        }
        band = dict(zip(BAND, self._band(), strict=False))
        return json.dumps({"source": self.source, "info": dict(self.info), **rates, **band})

    @classmethod
    def from_json(cls, text: str) -> OperatingCurve:
        """Read what `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON.

        Returns
        -------
        curve : OperatingCurve
            Equal to the one written, to the bit.
        """
        try:
            read = json.loads(text)
            tpr, tnr = (np.array(read[name], dtype=np.float64) for name in ("tpr", "tnr"))
            source, info = str(read.get("source") or ""), dict(read.get("info") or {})
            band = {name: np.array(read[name], np.float64) for name in BAND if name in read}
            grid = np.array(read.get("distances", GRID), dtype=np.float64)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"operating curve: expected JSON of a curve, received {error!r}"
            ) from error
        if grid.shape != GRID.shape or not np.allclose(grid, GRID, atol=1e-12):
            raise DataError(
                "operating curve: expected distances 0, 0.01, ..., 2, received another grid"
            )
        return cls(tpr, tnr, source, info, **band)

    def to_frame(self) -> DataFrame:
        """Return the curve as a pandas data frame.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``distance``, ``cosine``, ``tpr`` and ``tnr``, and the band's when there
            is one; a row a grid point.
        """
        pandas = require("pandas", "pandas")
        columns = {"distance": GRID, "cosine": 1 - GRID**2 / 2, "tpr": self.tpr, "tnr": self.tnr}
        columns |= dict(zip(BAND, map(np.array, self._band()), strict=False))
        frame: DataFrame = pandas.DataFrame(columns)
        return frame

    def plot(self, ax: Axes | None = None, *, label: str | None = None, **style: Any) -> Axes:
        """Draw TPR (solid) and TNR (dashed) over the distance.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            Name in the legend; the curve's source by default.
        **style
            Passed to ``Axes.plot`` for both lines.

        Returns
        -------
        ax : matplotlib.axes.Axes
            The axes.
        """
        from opengcn.plot import plot_curve

        return plot_curve(self, ax, label, style)


def _plain(value: Any) -> Any:
    """Return numbers of numpy as Python's, and NaN as None: what JSON can hold."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if value != value else value


def _as_set(X: ArrayLike | EmbeddingSet, y: ArrayLike | None) -> EmbeddingSet:
    if not isinstance(X, EmbeddingSet):
        return EmbeddingSet(X, y)
    if y is not None:
        raise OpenGCNError("y: expected none beside an EmbeddingSet, received labels")
    return X


def _share_below(bins: NDArray[Any], what: str) -> NDArray[np.float64]:
    """Return the share of pairs with distance strictly below each grid point."""
    cumulative = np.cumsum(bins)
    total = cumulative[-1]  # not bins.sum(), which rounds differently: the share must end at 1
    if total <= 0:
        # 4: the caller of from_labels / from_weights, through from_histogram.
        warnings.warn(f"no {what} is unknown (NaN)", OpenGCNWarning, stacklevel=4)
        return np.full(GRID.shape, np.nan)
    below = np.concatenate([[0], cumulative[:-1]])
    return np.asarray(below / total, dtype=np.float64)
