"""Which cells are to run, and which of them together."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from opengcn.scenarios.definitions import SCENARIOS
from opengcn.scenarios.folder import Source
from opengcn.scenarios.methods import METHODS
from opengcn.scenarios.results import Cell

__all__ = ["Job", "plan_cells", "plan_jobs"]


@dataclass(frozen=True)
class Job:
    """Cells that one process runs in a row: one method, one seed, one D_train.

    What depends on D_train alone is then computed once (`opengcn.memo`), and what depends on
    D_cal once a split, however many test sets follow.

    Attributes
    ----------
    path : Path or None
        The data set; None for the glyphs.
    cells : tuple of Cell
        Those of one split side by side.
    """

    path: Path | None
    cells: tuple[Cell, ...]


def plan_cells(
    source: Source,
    *,
    scenarios: Container[str],
    methods: Container[str],
    splits: int,
    seeds: int,
) -> list[Cell]:
    """List the cells of a data set.

    Parameters
    ----------
    source : Source
        The data set.
    scenarios, methods : container of str
        Which ones to run.
    splits, seeds : int
        How many of each. Methods without a seed run once a split; where the data allow fewer
        splits (one of the long tail), the others run with more seeds, as often as elsewhere:
        one run of a method that draws at random says little.

    Returns
    -------
    cells : list of Cell
        In the order of the tables.
    """
    cells = []
    for setting in source.fingerprints:
        if setting.scenario not in scenarios:
            continue
        there = min(splits, source.most_splits.get(setting.test, splits))
        often = -(-splits * seeds // there)
        cells += [
            Cell(setting.scenario, setting.data, setting.test, split, seed, name)
            for name in SCENARIOS[setting.scenario].methods
            if name in methods
            for split in range(there)
            for seed in range(often if METHODS[name].seeded else 1)
        ]
    return cells


def plan_jobs(source: Source, cells: list[Cell]) -> list[Job]:
    """Group the cells of a data set by what they share.

    Parameters
    ----------
    source : Source
        The data set.
    cells : list of Cell
        Those still to run.

    Returns
    -------
    jobs : list of Job
        The methods that take long (last in `METHODS`) first, so that cores do not idle at
        the end.
    """
    order = list(METHODS)
    groups: dict[tuple[str, int, bool], list[Cell]] = {}
    for cell in cells:
        augmented = SCENARIOS[cell.scenario].augmented
        groups.setdefault((cell.method, cell.seed, augmented), []).append(cell)
    return [
        Job(source.path, tuple(sorted(group, key=lambda c: _place(source, c))))
        for _, group in sorted(groups.items(), key=lambda g: -order.index(g[0][0]))
    ]


def _place(source: Source, cell: Cell) -> tuple[int, int]:
    """Order the cells of a job by split; the long tail, which has a D_cal of its own, last."""
    alone = cell.test in source.most_splits
    return (1 if alone else 0, cell.split)
