"""A distance threshold and what it is expected to do."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from opengcn.distance import Metric, convert, rule
from opengcn.errors import DataError, OpenGCNError

__all__ = ["Threshold"]


@dataclass(frozen=True)
class Threshold:
    """Two samples match when their distance is strictly below `distance`.

    Attributes
    ----------
    distance : float
        L2 distance of unit vectors, in [0, 2].
    tpr : float
        Share of same-class pairs that match (true positive rate). NaN when unknown.
    tnr : float
        Share of different-class pairs that do not (true negative rate). NaN when unknown.
    target : str
        What was asked for, as in "tpr >= 0.9"; "" when nothing was.
    tpr_low, tpr_high, tnr_low, tnr_high : float
        90 % interval of the rates at this distance; NaN when the curve had no band.
    distance_low, distance_high : float
        90 % interval of the distance that meets the target; NaN likewise.

    Examples
    --------
    >>> from opengcn import Threshold
    >>> t = Threshold(1.0, tpr=0.9, tnr=0.99, target="tpr >= 0.9")
    >>> t.cosine, t.squared_l2
    (0.5, 1.0)
    >>> print(t)
    match if distance < 1.0000
          or cosine similarity > 0.5000
          or squared L2 distance < 1.0000
    finds 90.00 % of the true matches (TPR) and rejects 99.00 % of the strangers (TNR)
    """

    distance: float
    tpr: float = float("nan")
    tnr: float = float("nan")
    target: str = ""
    tpr_low: float = float("nan")
    tpr_high: float = float("nan")
    tnr_low: float = float("nan")
    tnr_high: float = float("nan")
    distance_low: float = float("nan")
    distance_high: float = float("nan")

    def __post_init__(self) -> None:
        convert(self.distance, "l2", "l2")  # refuses what is no distance
        for name in ("distance", "tpr", "tnr"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name in ("tpr", "tnr"):
            rate = getattr(self, name)
            if rate < 0 or rate > 1:  # NaN is neither
                raise OpenGCNError(f"threshold: expected {name} in [0, 1] or NaN, received {rate}")

    @property
    def cosine(self) -> float:
        """The cosine similarity above which two samples match."""
        return self.to("cosine")

    @property
    def squared_l2(self) -> float:
        """The squared L2 distance below which two samples match."""
        return self.to("squared_l2")

    def to(self, metric: Metric) -> float:
        """Return the threshold in another metric.

        Parameters
        ----------
        metric : {"l2", "squared_l2", "cosine", "cosine_distance"}
            The metric.

        Returns
        -------
        value : float
            The threshold.
        """
        return convert(self.distance, "l2", metric)

    @classmethod
    def of(cls, value: float, metric: Metric) -> Threshold:
        """Make a threshold from a number in any metric.

        Parameters
        ----------
        value : float
            The number.
        metric : {"l2", "squared_l2", "cosine", "cosine_distance"}
            Its metric.

        Returns
        -------
        threshold : Threshold
            Without rates: they belong to a curve, see `OperatingCurve.at`.
        """
        return cls(convert(value, metric, "l2"))

    def rule(self, metric: Metric = "l2") -> str:
        """Spell out when two samples match, with the direction.

        Parameters
        ----------
        metric : {"l2", "squared_l2", "cosine", "cosine_distance"}, default "l2"
            The metric.

        Returns
        -------
        text : str
            As in "match if cosine similarity > 0.5000".
        """
        return rule(self.to(metric), metric)

    def __str__(self) -> str:
        others = [self.rule(m).removeprefix("match if ") for m in ("cosine", "squared_l2")]
        lines = [self.rule(), *(f"      or {other}" for other in others)]
        if self.tpr == self.tpr or self.tnr == self.tnr:
            lines.append(
                f"finds {_percent(self.tpr)} of the true matches (TPR) and rejects "
                f"{_percent(self.tnr)} of the strangers (TNR)"
            )
        if self.tpr_low == self.tpr_low:
            lines.append(
                f"90 % sure: TPR {_percent(self.tpr_low)} to {_percent(self.tpr_high)}, "
                f"TNR {_percent(self.tnr_low)} to {_percent(self.tnr_high)}"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers: the fields, and the derived metrics for readers of JSON.

        Returns
        -------
        dict
            NaN is None.
        """
        plain = {k: None if v != v else v for k, v in asdict(self).items()}
        return plain | {
            "cosine": self.cosine,
            "squared_l2": self.squared_l2,
            "rule": self.rule(),
        }

    def to_json(self) -> str:
        """Return the threshold as JSON.

        Returns
        -------
        str
            See `to_dict`.
        """
        return json.dumps(self.to_dict(), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Threshold:
        """Read what `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON.

        Returns
        -------
        threshold : Threshold
            With the numbers of the one written.
        """
        try:
            read = json.loads(text)
            numbers = [f.name for f in fields(cls) if f.name not in ("distance", "target")]
            given = {k: read[k] for k in numbers if k in read or k in ("tpr", "tnr")}
            # Without a value the default stands: its NaN equals itself, a new one does not.
            rates = {k: float(v) for k, v in given.items() if v is not None}
            return cls(float(read["distance"]), target=str(read["target"]), **rates)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"threshold: expected JSON of a threshold, received {error!r}"
            ) from error


def _percent(rate: float) -> str:
    return "an unknown share" if rate != rate else f"{100 * rate:.2f} %"
