"""The result of comparing calibrators, as rows, text, markdown and JSON."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from opengcn.errors import DataError
from opengcn.metrics import rank_methods

__all__ = ["Comparison", "MethodRow", "Trial"]

# Key, heading, factor and digits of each column.
COLUMNS = (
    ("mae", "MAE_comb", 1, 4),
    ("mae_tpr", "TPR part", 1, 4),
    ("mae_tnr", "TNR part", 1, 4),
    ("ae_tpr_80", "AE TPR 80 %", 100, 1),
    ("ae_tpr_90", "AE TPR 90 %", 100, 1),
    ("ae_tnr_80", "AE TNR 80 %", 100, 1),
    ("ae_tnr_90", "AE TNR 90 %", 100, 1),
    ("fit_seconds", "fit (s)", 1, 2),
    ("estimate_seconds", "estimate (s)", 1, 2),
)


@dataclass(frozen=True)
class Trial:
    """One method on one split.

    Attributes
    ----------
    method : str
        Name of the method.
    split : int
        Number of the split.
    values : dict of str to float
        ``mae``, its parts ``mae_tpr`` and ``mae_tnr``, ``ae_tpr_80``, ``ae_tpr_90``,
        ``ae_tnr_80``, ``ae_tnr_90`` (as shares), ``fit_seconds``, ``estimate_seconds``.
        Empty when the method failed.
    failure : str
        What it raised; "" when it did not.
    """

    method: str
    split: int
    values: dict[str, float]
    failure: str = ""


@dataclass(frozen=True)
class MethodRow:
    """One method over all splits.

    Attributes
    ----------
    method : str
        Name of the method.
    rank : int
        1 for the smallest mean MAE_comb; a method that failed anywhere comes last.
    mean, spread : dict of str to float
        Mean and standard deviation (n - 1) of each value over the splits that worked;
        the spread of a single split is NaN.
    splits : int
        How many splits there were.
    failures : tuple of str
        Messages of those that failed.
    """

    method: str
    rank: int
    mean: dict[str, float]
    spread: dict[str, float]
    splits: int
    failures: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Trials of several methods over one or several splits.

    Attributes
    ----------
    trials : tuple of Trial
        In the order in which they ran.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> train, rest = data.split_classes(0.5)
    >>> cal, test = rest.split_classes(0.2)
    >>> found = og.compare([og.SplitCurve(), og.PlattScaling()], train, cal, test)
    >>> sorted(row.rank for row in found.rows())
    [1, 2]
    >>> print(found.to_markdown().splitlines()[0][:28])
    | method | rank | MAE_comb |
    >>> og.Comparison.from_json(found.to_json()) == found
    True
    """

    trials: tuple[Trial, ...]

    def rows(self) -> list[MethodRow]:
        """Return a row a method, in the order in which the methods were given.

        Returns
        -------
        rows : list of MethodRow
            Means, spreads and ranks.
        """
        by_method: dict[str, list[Trial]] = {}
        for trial in self.trials:
            by_method.setdefault(trial.method, []).append(trial)
        ranks = rank_methods(
            {m: [t.values.get("mae", np.nan) for t in trials] for m, trials in by_method.items()}
        )
        return [_row(method, ranks[method], trials) for method, trials in by_method.items()]

    def to_markdown(self) -> str:
        """Return the table as markdown.

        Returns
        -------
        str
            Mean ± standard deviation; absolute errors in points of 100.
        """
        heading, cells, notes = self._cells()
        lines = [
            "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
            for line in (heading, *cells)
        ]
        rule = "|" + "|".join(["---"] + ["---:"] * (len(heading) - 1)) + "|"
        return "\n".join([lines[0], rule, *lines[1:], *(f"\n{note}" for note in notes)])

    def to_text(self) -> str:
        """Return the table for a terminal.

        Returns
        -------
        str
            Mean ± standard deviation; absolute errors in points of 100.
        """
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        heading, cells, notes = self._cells()
        table = Table(box=box.SIMPLE_HEAD)
        for i, name in enumerate(heading):
            table.add_column(name, justify="left" if i == 0 else "right")
        for line in cells:
            table.add_row(*map(Text, line))  # as text: names may look like markup
        text = io.StringIO()
        console = Console(
            file=text, width=200, force_jupyter=False, force_terminal=False, color_system=None
        )
        console.print(table)
        for note in notes:
            console.print(Text(note))
        return "\n".join(line.rstrip() for line in text.getvalue().strip("\n").split("\n"))

    def __str__(self) -> str:
        return self.to_text()

    def to_json(self) -> str:
        """Return trials and rows as JSON.

        Returns
        -------
        str
            An object with ``trials`` and ``rows``; NaN is null.
        """
        rows = [asdict(row) for row in self.rows()]
        for row in rows:
            for part in ("mean", "spread"):
                row[part] = {k: None if v != v else v for k, v in row[part].items()}
        trials = [asdict(trial) for trial in self.trials]
        for trial in trials:
            trial["values"] = {k: None if v != v else v for k, v in trial["values"].items()}
        return json.dumps({"trials": trials, "rows": rows}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Comparison:
        """Read what `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON.

        Returns
        -------
        comparison : Comparison
            Equal to the one written.
        """
        try:
            return cls(tuple(_read_trial(**trial) for trial in json.loads(text)["trials"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"comparison: expected JSON of one, received {error!r}") from error

    def _cells(self) -> tuple[list[str], list[list[str]], list[str]]:
        heading = ["method", "rank", *(name for _, name, _, _ in COLUMNS)]
        cells, notes = [], []
        for row in self.rows():
            numbers = [_number(row, *column) for column in COLUMNS]
            cells.append([row.method, str(row.rank) if row.mean else "-", *numbers])
            if row.failures:
                reason = " ".join(row.failures[0].split())
                notes.append(
                    f"{row.method} failed on {len(row.failures)} of {row.splits}: {reason}"
                )
        return heading, cells, notes


def _row(method: str, rank: int, trials: list[Trial]) -> MethodRow:
    worked = [t.values for t in trials if not t.failure]
    mean, spread = {}, {}
    for key in worked[0] if worked else ():
        values = [v[key] for v in worked]
        mean[key] = float(np.mean(values))
        spread[key] = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    failures = tuple(t.failure for t in trials if t.failure)
    return MethodRow(method, rank, mean, spread, len(trials), failures)


def _number(row: MethodRow, key: str, heading: str, factor: int, digits: int) -> str:
    if not row.mean:
        return "failed"
    mean, spread = factor * row.mean[key], factor * row.spread[key]
    if mean != mean:
        return "-"
    if spread != spread or key.endswith("seconds"):
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ± {spread:.{digits}f}"


def _read_trial(values: dict[str, float | None], **rest: Any) -> Trial:
    return Trial(values={k: np.nan if v is None else v for k, v in values.items()}, **rest)
