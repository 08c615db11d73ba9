"""Runs cells: fits a method once for all test sets that share its D_cal, and measures."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from opengcn import __version__
from opengcn.calibrators.base import Calibrator
from opengcn.curve import OperatingCurve
from opengcn.errors import OpenGCNError, OpenGCNWarning
from opengcn.open_world import check_open_world
from opengcn.scenarios.data import DataSet, Sets, open_data
from opengcn.scenarios.measure import curves_of, measure
from opengcn.scenarios.methods import METHODS
from opengcn.scenarios.plan import Job
from opengcn.scenarios.results import Cell, Result

__all__ = ["CellRunner"]


class CellRunner:
    """Runs jobs; keeps the data set of the last one, with what was learned from it."""

    def __init__(self) -> None:
        self._path: Path | str | None = ""
        self._data: DataSet
        self._truths: dict[tuple[str, int], OperatingCurve] = {}

    def run(self, job: Job) -> Iterator[list[Result]]:
        """Run the cells of a job.

        Parameters
        ----------
        job : Job
            What to run.

        Yields
        ------
        results : list of Result
            Of a cell: its result, and that of its exact curve unless the cell failed.
        """
        if job.path != self._path:
            self._path, self._data, self._truths = job.path, open_data(job.path), {}
        fits = _Fits()
        for cell in job.cells:
            begin = time.perf_counter()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", OpenGCNWarning)
                try:
                    results = self._cell(cell, fits)
                except Exception as error:  # a cell's failure must not take others down
                    results = [Result(cell, failure=_one_line(error))]
            notes = tuple(dict.fromkeys(" ".join(str(w.message).split()) for w in caught))
            spent = {"spent": time.perf_counter() - begin}
            results[0] = replace(results[0], notes=notes, seconds=results[0].seconds | spent)
            yield [replace(r, made_by=_made_by()) for r in results]

    def _cell(self, cell: Cell, fits: _Fits) -> list[Result]:
        sets = self._data.sets(cell.setting, cell.split)
        check_open_world(*sets)
        test = sets[2]
        truth = self._truth(cell, sets)
        fitted, fit_seconds = fits.get(cell, sets)
        begin = time.perf_counter()
        curve = fitted.estimate(test.unlabelled())
        seconds = {"fit": fit_seconds, "estimate": time.perf_counter() - begin}
        values = measure(curve, truth)
        if METHODS[cell.method].hint:
            classes = int(test.codes.max()) + 1
            hinted = fitted.estimate(test.unlabelled(), n_classes=classes)  # type: ignore[call-arg]
            values["mae_hint"] = hinted.mae(truth)
        return [
            Result(cell, values, curves_of(curve), seconds),
            Result(cell.truth, curves=curves_of(truth)),
        ]

    def _truth(self, cell: Cell, sets: Sets) -> OperatingCurve:
        key = (cell.test, cell.split)
        if key not in self._truths:
            exact = OperatingCurve.from_labels(sets[2], threads=1, progress=False)
            self._truths[key] = exact
        return self._truths[key]


class _Fits:
    """The last fit of a job: cells with the same D_train and D_cal share it."""

    def __init__(self) -> None:
        self._keep: Sets | None = None
        self._fitted: Calibrator | Exception
        self._seconds = 0.0

    def get(self, cell: Cell, sets: Sets) -> tuple[Calibrator, float]:
        """Return a fitted calibrator and the seconds of its fit."""
        same = self._keep is not None and all(
            a is b for a, b in zip(self._keep[:2], sets[:2], strict=True)
        )
        if not same:
            self._keep = sets
            begin = time.perf_counter()
            try:
                self._fitted = METHODS[cell.method].make(cell.seed).fit(*sets[:2])
            except Exception as error:  # do not try again for each test set
                self._fitted = error
            self._seconds = time.perf_counter() - begin
        if isinstance(self._fitted, Exception):
            raise self._fitted
        return self._fitted, self._seconds


@cache
def _made_by() -> dict[str, str]:
    """Return versions of what computes, and the machine."""
    processor = platform.machine()
    about = Path("/proc/cpuinfo")
    if about.exists():  # elsewhere there is no telling without a further dependency
        lines = (line.partition(": ") for line in about.read_text().split("\n"))
        named = [value for name, _, value in lines if name.startswith("model name")]
        processor = named[0] if named else processor
    return {
        "opengcn": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": str(torch.__version__),
        "machine": f"{platform.system()}, {processor}, {os.cpu_count()} cores",
    }


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, OpenGCNError) else f"{type(error).__name__}: {text}"
