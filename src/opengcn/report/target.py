"""What a threshold was asked to reach."""

from __future__ import annotations

import re
from dataclasses import dataclass

from opengcn.curve import OperatingCurve
from opengcn.report.wording import SPACE
from opengcn.threshold import Threshold

__all__ = ["Target"]


@dataclass(frozen=True)
class Target:
    """What a threshold was asked to reach.

    Attributes
    ----------
    rate : {"tpr", "tnr"}
        The rate.
    value : float
        How much of it, in (0, 1].
    confidence : float or None
        How sure one wanted to be of reaching it.
    """

    rate: str
    value: float
    confidence: float | None = None

    @classmethod
    def of(cls, threshold: Threshold) -> Target | None:
        """Read the target of a threshold; None when nothing was asked for.

        Parameters
        ----------
        threshold : Threshold
            With a target as in "tpr >= 0.9 with confidence 0.95".

        Returns
        -------
        target : Target or None
            The target.
        """
        number = r"([\d.e+-]+)"
        found = re.fullmatch(
            rf"(tpr|tnr) >= {number}(?: with confidence {number})?", threshold.target
        )
        if not found:
            return None
        rate, value, confidence = found.groups()
        return cls(rate, float(value), float(confidence) if confidence else None)

    def __str__(self) -> str:
        return f"{self.rate.upper()}{SPACE}{100 * self.value:g}{SPACE}%"

    @property
    def task(self) -> str:
        """The target as a task, as in "find 90 % of the true matches"."""
        share = f"{100 * self.value:g}{SPACE}%"
        tpr, tnr = f"find {share} of the true matches", f"reject {share} of the strangers"
        text = tpr if self.rate == "tpr" else tnr
        if self.confidence is not None:
            text += f", with a confidence of {100 * self.confidence:g}{SPACE}%"
        return text

    def on(self, curve: OperatingCurve) -> Threshold:
        """Return the threshold that meets the target, its confidence aside, on a curve.

        Parameters
        ----------
        curve : OperatingCurve
            The curve.

        Returns
        -------
        threshold : Threshold
            As from `OperatingCurve.threshold`, which raises when there is none.
        """
        if self.rate == "tpr":
            return curve.threshold(tpr=self.value)
        return curve.threshold(tnr=self.value)
