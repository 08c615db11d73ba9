"""The answer of `opengcn threshold`, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opengcn import __version__
from opengcn.cli.model import calibration_curve
from opengcn.cli.output import facts
from opengcn.curve import OperatingCurve
from opengcn.distance import Metric
from opengcn.embeddings import EmbeddingSet
from opengcn.provenance import about_model
from opengcn.report.drift import drift
from opengcn.report.target import Target
from opengcn.report.wording import interval, percent, strangers
from opengcn.threshold import Threshold

if TYPE_CHECKING:
    from rich.console import Console

    from opengcn.calibrators.opengcn import OpenGCN

__all__ = ["Answer"]

METRICS: tuple[Metric, ...] = ("l2", "cosine", "squared_l2")


@dataclass(frozen=True)
class Answer:
    """A threshold with everything that a reader asks about it.

    Attributes
    ----------
    found : Threshold
        The threshold.
    curve : OperatingCurve
        The estimate that it comes from.
    data : EmbeddingSet
        The set that it is for.
    model : OpenGCN
        Who estimated.
    model_file : str
        Where that model lies.
    notes : list of str
        Warnings.
    """

    found: Threshold
    curve: OperatingCurve
    data: EmbeddingSet
    model: OpenGCN
    model_file: str
    notes: list[str]

    @property
    def source(self) -> str:
        """Where the number comes from."""
        return f"estimated from {self.data.source} by {self.model_file}"

    @property
    def counts(self) -> dict[str, int | None]:
        """How many samples and pairs there are, and how many graphs of them were looked at."""
        n, info = len(self.data), self.curve.info
        return {
            "samples": n,
            "pairs": n * (n - 1) // 2,
            "graphs": info.get("graphs", info.get("subgraphs")),
            "nodes": info.get("nodes"),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints.

        Returns
        -------
        answer : dict
            The threshold as `Threshold.to_dict` has it (so `Threshold.from_json` reads it),
            the rules in all metrics, counts, source and notes.
        """
        reference = calibration_curve(self.model)
        target = Target.of(self.found)
        assert target is not None
        theirs = None
        if reference is not None:
            tpr, tnr = (target.value if target.rate == name else None for name in ("tpr", "tnr"))
            distance = reference.threshold(tpr=tpr, tnr=tnr).distance
            theirs = self.curve.at(distance).to_dict()
        return self.found.to_dict() | {
            "metric": "l2",
            "rules": {metric: self.found.rule(metric) for metric in METRICS},
            **self.counts,
            "prior": self.curve.info.get("prior"),
            "source": self.source,
            "model": about_model(self.model),
            "calibration": theirs,
            "notes": self.notes,
            "version": __version__,
        }

    def show(self, console: Console, written: Mapping[str, str]) -> None:
        """Print it for people.

        Parameters
        ----------
        console : rich.console.Console
            Where to.
        written : mapping of str to str
            Files that have been written, by what they are.
        """
        from rich import box
        from rich.table import Table
        from rich.text import Text

        target = Target.of(self.found)
        assert target is not None
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        table.add_column(Text("two samples match if"))
        table.add_column("", justify="right")
        if self.curve.has_band:
            table.add_column("90 % interval", justify="right")
        for metric in METRICS:
            name, sign, value = self.found.rule(metric).removeprefix("match if ").rsplit(" ", 2)
            table.add_row(name, f"{sign} {value}", self._distances(metric))
        table.add_section()
        for rate, words in (
            ("tpr", "true matches found (TPR)"),
            ("tnr", "strangers rejected (TNR)"),
        ):
            low, high = (getattr(self.found, f"{rate}_{side}") for side in ("low", "high"))
            digits = 1 if rate == "tpr" else None  # few ask for a TPR of 99.99 %
            table.add_row(words, percent(getattr(self.found, rate)), interval(low, high, digits))
        console.print(Text(f"Asked to {target.task}, in {self.data.source}", style="bold"))
        console.print()
        console.print(table)
        console.print()
        console.print(facts([*self._facts(target), *written.items()]))

    def _distances(self, metric: Metric) -> str:
        ends = (self.found.distance_low, self.found.distance_high)
        if ends[0] != ends[0]:
            return ""
        low, high = sorted(Threshold(d).to(metric) for d in ends)
        return f"{low:.3f}\N{EN DASH}{high:.3f}"

    def _facts(self, target: Target) -> Iterator[tuple[str, str]]:
        counts, prior = self.counts, self.curve.info.get("prior")
        yield "in words", strangers(self.found.tnr)
        yield "rests on", f"{counts['samples']:,} samples ({counts['pairs']:,} pairs), no labels"
        if counts["graphs"]:
            graphs = "1 graph" if counts["graphs"] == 1 else f"{counts['graphs']} graphs"
            yield "", f"{graphs} of {counts['nodes']:,} samples"
        if prior:
            yield "", f"about 1 pair in {1 / prior:,.0f} is of one class (estimated)"
        yield "source", self.source
        yield "", about_model(self.model)
        reference = calibration_curve(self.model)
        if reference is not None:
            yield "for contrast", drift(self.curve, reference, target)
