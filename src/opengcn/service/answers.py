"""How an answer is made: the numbers of `estimate` and `threshold`, as JSON or as a page."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import OpenGCNError, OpenGCNWarning
from opengcn.provenance import provenance
from opengcn.report import write_report
from opengcn.report.target import Target
from opengcn.report.usual_targets import look_up
from opengcn.service.bodies import Sent, as_array
from opengcn.threshold import Threshold

if TYPE_CHECKING:
    from opengcn.calibrators.opengcn import OpenGCN

__all__ = ["Estimate", "UnknownModelError"]


class UnknownModelError(OpenGCNError):
    """A question to a model that is not served."""


@dataclass(frozen=True)
class Estimate:
    """What a model says about a set.

    Attributes
    ----------
    name : str
        The model's name.
    model : OpenGCN
        The model.
    data : EmbeddingSet
        The set.
    curve : OperatingCurve
        Its estimated curve.
    threshold : Threshold
        What meets the target.
    warnings : list of str
        What a reader of the numbers should know.
    """

    name: str
    model: OpenGCN
    data: EmbeddingSet
    curve: OperatingCurve
    threshold: Threshold
    warnings: list[str]

    @classmethod
    def of(cls, models: Mapping[str, OpenGCN], sent: Sent) -> Self:
        """Estimate what was asked about a set.

        Parameters
        ----------
        models : mapping of str to OpenGCN
            The models by name.
        sent : Sent
            The set and the question.

        Returns
        -------
        estimate : Estimate
            With the numbers that the command line finds, to the bit.
        """
        asked = sent.question
        asked.check()
        name = _chosen(list(models), asked.model)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", OpenGCNWarning)
            data = EmbeddingSet(as_array(sent.rows), source=sent.source)
            curve = models[name].estimate(data, n_classes=asked.n_classes, prior=asked.prior)
            found = curve.threshold(tpr=asked.tpr, tnr=asked.tnr, confidence=asked.confidence)
        notes = [str(one.message) for one in caught]
        target = Target.of(found)
        assert target is not None
        reason = look_up(curve, target).reason
        if reason:
            notes.append(f"do not rely on this threshold: {reason}")
        return cls(name, models[name], data, curve, found, notes)

    def to_dict(self, *, curve: bool) -> dict[str, Any]:
        """Return what `opengcn.service.shapes.Answer` describes.

        Parameters
        ----------
        curve : bool
            Whether the curve is part of it.

        Returns
        -------
        answer : dict
            Ready for JSON.
        """
        return {
            "model": self.name,
            "rows": len(self.data),
            "threshold": self.threshold.to_dict(),
            "curve": json.loads(self.curve.to_json()) if curve else None,
            "warnings": self.warnings,
        }

    def to_html(self) -> str:
        """Return the report, as `opengcn threshold --report` writes it.

        Returns
        -------
        page : str
            HTML.
        """
        facts = {"Served as": self.name} | provenance(self.model, self.data)
        facts |= {"Note": " ".join(self.warnings)} if self.warnings else {}
        with TemporaryDirectory(prefix="opengcn-") as folder:
            path = Path(folder, "report.html")
            write_report(
                path,
                self.curve,
                threshold=self.threshold,
                reference=getattr(self.model, "cal_curve_", None),
                provenance=facts,
            )
            return path.read_text(encoding="utf-8")


def _chosen(names: Sequence[str], asked: str | None) -> str:
    """Return the model that is asked; with a single one that goes without saying."""
    if asked is None and len(names) == 1:
        return names[0]
    if asked is None:
        raise OpenGCNError(f"model: expected one of {', '.join(names)}, received none")
    if asked not in names:
        raise UnknownModelError(f"model: expected one of {', '.join(names)}, received {asked!r}")
    return asked
