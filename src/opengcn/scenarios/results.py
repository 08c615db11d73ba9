"""The results file: a line of JSON for each finished cell, appended as it finishes."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from opengcn.errors import DataError
from opengcn.scenarios.definitions import Setting

__all__ = ["Cell", "Result", "append_results", "read_results"]

START = b'{"cell":'  # of every line
TRUTH = "truth"  # the "method" of the lines that hold exact curves


@dataclass(frozen=True)
class Cell:
    """The smallest piece of the benchmark: one method on one D_test.

    Attributes
    ----------
    scenario, data, test : str
        The setting; see `opengcn.scenarios.definitions.Setting`.
    split : int
        Which random classes are D_cal.
    seed : int
        Seed of the method.
    method : str
        A key of `opengcn.scenarios.methods.METHODS`; or "truth", for the exact curve.
    """

    scenario: str
    data: str
    test: str
    split: int
    seed: int
    method: str

    def __str__(self) -> str:
        place = f"{self.scenario}, {self.data} ({self.test}), split {self.split}"
        return f"{place}, {self.method}, seed {self.seed}"

    @property
    def setting(self) -> Setting:
        """What is estimated, whoever does."""
        return Setting(self.scenario, self.data, self.test)

    @property
    def truth(self) -> Cell:
        """The cell of the exact curve of the same D_test."""
        return Cell(self.scenario, self.data, self.test, self.split, 0, TRUTH)

    @property
    def fit(self) -> Cell:
        """What cells that share a fit have in common: the long tail has a D_cal of its own."""
        test = self.test if self.test == "tail" else ""
        return Cell("", self.data, test, self.split, self.seed, self.method)


@dataclass(frozen=True)
class Result:
    """What became of a cell.

    Attributes
    ----------
    cell : Cell
        Which.
    values : dict of str to float
        See `opengcn.scenarios.measure.measure`; also ``mae_hint``, the error when the
        number of classes is given. Empty when the cell failed.
    curves : dict of str to list of float
        Rates on the grid; see `opengcn.scenarios.measure.curves_of`.
    seconds : dict of str to float
        ``fit`` (of the fit that the cell uses, which others may share), ``estimate``, and
        ``spent``, what the cell cost in the end.
    failure : str
        Why it failed, in one line; "" when it did not.
    notes : tuple of str
        Warnings on the way.
    fingerprint : str
        Digest of the data that the setting uses.
    made_by : dict of str to str
        Versions and the machine.
    """

    cell: Cell
    values: dict[str, float] = field(default_factory=dict)
    curves: dict[str, list[float]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failure: str = ""
    notes: tuple[str, ...] = ()
    fingerprint: str = ""
    made_by: dict[str, str] = field(default_factory=dict)

    @property
    def is_truth(self) -> bool:
        """Whether this is an exact curve rather than an estimate."""
        return self.cell.method == TRUTH


def append_results(path: Path, results: list[Result]) -> None:
    """Add lines to a results file, in one write that reaches the disk before this returns.

    Parameters
    ----------
    path : Path
        The file; it is made when it is not there. A last line that was cut off, as by a
        power cut, is removed first.
    results : list of Result
        What to add.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        _drop_cut_line(file)
        file.write(b"".join(map(_line, results)))
        file.flush()
        os.fsync(file.fileno())


def read_results(path: Path) -> dict[Cell, Result]:
    """Read a results file.

    Parameters
    ----------
    path : Path
        The file. A last line that was cut off is passed over.

    Returns
    -------
    results : dict of Cell to Result
        Of a cell with several lines, the last. Results of data that have been replaced
        since are left out. Empty when there is no file.
    """
    if not path.exists():
        return {}
    *lines, cut = path.read_bytes().split(b"\n")
    if not cut.startswith(START[: len(cut)]):  # not ours: the next append would destroy it
        raise DataError(f"{path}: expected a results file of the benchmark, received another")
    results = {}
    for number, line in enumerate(lines, 1):
        try:
            read = json.loads(line)
            cell = Cell(**read.pop("cell"))
            read["values"] = {k: _from_json(v) for k, v in read["values"].items()}
            read["notes"] = tuple(read["notes"])
            results[cell] = Result(cell, **read)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            reason = " ".join(str(error).split())
            raise DataError(
                f"{path}: line {number}: expected a result of the benchmark, received {reason}"
            ) from error
    return {cell: result for cell, result in results.items() if _is_current(result, results)}


def _is_current(result: Result, results: Mapping[Cell, Result]) -> bool:
    """Whether a result is of the data that the last exact curve of its setting is of."""
    truth = results.get(result.cell.truth, result)
    return truth.fingerprint == result.fingerprint


def _line(result: Result) -> bytes:
    plain = asdict(result)
    plain["values"] = {k: _to_json(v) for k, v in result.values.items()}
    plain["seconds"] = {k: round(v, 3) for k, v in result.seconds.items()}
    return json.dumps(plain, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _to_json(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 7)


def _from_json(value: float | None) -> float:
    return float("nan") if value is None else value


def _drop_cut_line(file: Any) -> None:
    """Cut a file after its last line break."""
    end = file.seek(0, os.SEEK_END)
    while end:
        begin = max(0, end - 65_536)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            file.truncate(begin + found + 1)
            return
        end = begin
    file.truncate(0)
