"""Results in short: mean and spread of each method in each column of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opengcn.scenarios.definitions import DATA, SCENARIOS, TESTS, split_severity
from opengcn.scenarios.methods import BASELINES, METHODS
from opengcn.scenarios.results import Cell, Result

__all__ = ["Column", "Entry", "best_baseline", "columns_of", "entries"]


class Column(NamedTuple):
    """A column of a results table: a data set, and a kind of D_test of any severity."""

    data: str
    test: str

    @classmethod
    def of(cls, cell: Cell) -> Column:
        """Return the column of a cell."""
        return cls(cell.data, split_severity(cell.test)[0])

    @property
    def title(self) -> str:
        """What people call it."""
        data = DATA.get(self.data, self.data)
        return data if self.test == "same" else f"{data}: {TESTS[self.test]}"


@dataclass(frozen=True)
class Entry:
    """A method in a column.

    Attributes
    ----------
    runs : ndarray of shape (n,)
        The value of each split and seed that worked; severities are averaged.
    splits : int
        How many splits these are of.
    failures : tuple of str
        Why others did not work.
    runs_missing : int
        How many other splits and seeds there are, none of which worked.
    """

    runs: NDArray[np.float64]
    splits: int = 0
    failures: tuple[str, ...] = ()
    runs_missing: int = 0

    @property
    def mean(self) -> float:
        """Mean over the runs; NaN when there is none."""
        return float(self.runs.mean()) if len(self.runs) else float("nan")

    @property
    def spread(self) -> float:
        """Standard deviation over the runs (n - 1); NaN when there are fewer than two."""
        return float(self.runs.std(ddof=1)) if len(self.runs) > 1 else float("nan")


def columns_of(results: Mapping[Cell, Result], scenario: str) -> list[Column]:
    """Return the columns of a scenario that have results.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.
    scenario : str
        A key of `SCENARIOS`.

    Returns
    -------
    columns : list of Column
        Usual data sets first, then others by name; kinds of D_test as in `TESTS`.
    """
    found = {Column.of(cell) for cell in results if cell.scenario == scenario}
    usual, tests = list(DATA), SCENARIOS[scenario].tests

    def place(column: Column) -> tuple[int, int, str]:
        known = column.data in usual
        rank = usual.index(column.data) if known else len(usual)
        kind = tests.index(column.test)
        # DiffDist goes by kind of D_test, as in the paper; the others by data set.
        return (kind, rank, column.data) if scenario == "diffdist" else (rank, kind, column.data)

    return sorted(found, key=place)


def entries(
    results: Mapping[Cell, Result], scenario: str, column: Column, value: str = "mae"
) -> dict[str, Entry]:
    """Return the methods of a column.

    Parameters
    ----------
    results : mapping of Cell to Result
        All results.
    scenario : str
        A key of `SCENARIOS`.
    column : Column
        Which.
    value : str, default "mae"
        A key of the values of a result.

    Returns
    -------
    entries : dict of str to Entry
        By method, in the order of `METHODS`; those without a result are left out.
    """
    runs: dict[str, dict[tuple[int, int], list[float]]] = {}
    failures: dict[str, list[str]] = {}
    for cell, result in results.items():
        if cell.scenario != scenario or Column.of(cell) != column or result.is_truth:
            continue
        own = runs.setdefault(cell.method, {}).setdefault((cell.split, cell.seed), [])
        if result.failure:
            failures.setdefault(cell.method, []).append(result.failure)
        elif value in result.values:
            own.append(result.values[value])
    return {
        name: _entry(runs[name], tuple(failures.get(name, ()))) for name in METHODS if name in runs
    }


def _entry(runs: Mapping[tuple[int, int], list[float]], failures: tuple[str, ...]) -> Entry:
    worked = {run: values for run, values in sorted(runs.items()) if values}
    means = np.array([np.mean(values) for values in worked.values()])
    return Entry(means, len({split for split, _ in worked}), failures, len(runs) - len(worked))


def best_baseline(found: Mapping[str, Entry]) -> str:
    """Return the one of the paper's six baselines with the lowest mean.

    Parameters
    ----------
    found : mapping of str to Entry
        A column.

    Returns
    -------
    name : str
        "" when none has a mean.
    """
    means = {m: found[m].mean for m in BASELINES if m in found and found[m].mean >= 0}
    return min(means, key=lambda m: means[m]) if means else ""
