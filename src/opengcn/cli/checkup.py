"""What is in an embedding set, and whether it is sound: every row looked at, none refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.files import Columns
from opengcn.labels import as_labels
from opengcn.progress import progress_bar
from opengcn.report.usual_targets import FEWEST, USUAL

__all__ = ["Checkup", "rows_needed"]

UNIT = 1e-3  # how far from 1 the norm of a vector is that somebody has normalised in float16


@dataclass(frozen=True)
class Checkup:
    """Counts over all rows of a set.

    Attributes
    ----------
    rows, dim : int
        Shape of the set.
    dtype : str
        Type of its numbers.
    not_finite, zero, duplicates : int
        Rows with NaN or infinity, rows of zeros, rows that repeat an earlier one.
    first_bad : str
        Where the first row lies that cannot be used; "" when there is none.
    norms : tuple of float
        Smallest, median and largest norm of the usable rows; NaN without any.
    class_sizes : ndarray of shape (classes,) or None
        Rows of each class; None without labels.
    repeated_ids : int or None
        Ids that repeat an earlier one.
    tenants : int or None
        How many.
    left_out : str
        Why labels, ids and tenants were not looked at; "" when they were.
    """

    rows: int
    dim: int
    dtype: str
    not_finite: int
    zero: int
    duplicates: int
    first_bad: str
    norms: tuple[float, float, float]
    class_sizes: NDArray[np.int64] | None
    repeated_ids: int | None
    tenants: int | None
    left_out: str = ""

    @classmethod
    def of(cls, columns: Columns) -> Checkup:
        """Look at every row.

        Parameters
        ----------
        columns : Columns
            An open set. Labels, ids and tenants that no set can have are refused.

        Returns
        -------
        checkup : Checkup
            What was seen.
        """
        source = columns.source
        rows, dim = source.shape
        label, id, tenant = (
            None if values is None else as_labels(values, rows, name)
            for name, values in (
                ("labels", columns.label),
                ("ids", columns.id),
                ("tenants", columns.tenant),
            )
        )
        hashes = np.empty(rows, np.int64)
        norms = np.empty(rows)
        dtype = ""
        with progress_bar("Reading", rows) as advance:
            for run in source.runs():
                block = np.ascontiguousarray(source.read(run))
                dtype = dtype or str(block.dtype)
                hashes[run] = [hash(row.tobytes()) for row in block]
                norms[run] = _norms(block.astype(np.float64))
                advance(len(block))
        bad = ~np.isfinite(norms) | (norms == 0)
        good = norms[~bad]
        spread = np.quantile(good, [0, 0.5, 1]) if len(good) else np.full(3, np.nan)
        return cls(
            rows,
            dim,
            dtype,
            int((~np.isfinite(norms)).sum()),
            int((norms == 0).sum()),
            rows - len(np.unique(hashes)),
            source.where(int(np.argmax(bad))) if bad.any() else "",
            (float(spread[0]), float(spread[1]), float(spread[2])),
            None if label is None else np.unique(label, return_counts=True)[1],
            None if id is None else rows - len(np.unique(id)),
            None if tenant is None else len(np.unique(tenant)),
        )

    @property
    def same_class_pairs(self) -> int:
        """Pairs of one class; 0 without labels."""
        sizes = np.zeros(1, np.int64) if self.class_sizes is None else self.class_sizes
        return int((sizes * (sizes - 1) // 2).sum())

    @property
    def problems(self) -> list[str]:
        """Why the set cannot be used as it is."""
        found = []
        if self.rows < 2:
            found.append(f"expected two rows or more, received {self.rows}")
        if self.not_finite:
            found.append(f"rows with NaN or infinity: {self.not_finite:,}")
        if self.zero:
            found.append(f"rows of zeros, which have no direction: {self.zero:,}")
        if self.first_bad:
            found.append(f"the first of them is {self.first_bad}")
        return found

    @property
    def remarks(self) -> list[str]:
        """What one should know about a set that can be used."""
        found = []
        if any(abs(norm - 1) >= UNIT for norm in self.norms):  # not so for NaN
            found.append("vectors are not of length 1: they will be scaled to it")
        if self.duplicates:
            found.append(f"rows that repeat an earlier one: {self.duplicates:,}")
        if self.repeated_ids:
            found.append(f"ids that repeat an earlier one: {self.repeated_ids:,}")
        if self.left_out:
            found.append(f"columns beside the vectors are left out: {self.left_out}")
        if self.class_sizes is None:
            found.append("no labels: good for `threshold`, not for `fit`, `evaluate` or `compare`")
        elif len(self.class_sizes) < 2 or not self.same_class_pairs:
            found.append("`fit` needs two classes or more, one of them with two rows or more")
        return found

    @property
    def supported(self) -> list[float]:
        """Usual targets of TNR for which the set has rows enough."""
        strict = [target.value for target in USUAL if target.rate == "tnr"]
        return [tnr for tnr in strict if rows_needed(tnr) <= self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints.

        Returns
        -------
        answer : dict
            Plain numbers and text.
        """
        sizes = self.class_sizes
        return {
            "kind": "embeddings",
            "sound": not self.problems,
            "problems": self.problems,
            "remarks": self.remarks,
            "rows": self.rows,
            "dim": self.dim,
            "dtype": self.dtype,
            "not_finite": self.not_finite,
            "zero": self.zero,
            "duplicates": self.duplicates,
            "norm": dict(zip(("min", "median", "max"), self.norms, strict=True)),
            "classes": None if sizes is None else len(sizes),
            "class_size": None
            if sizes is None or not len(sizes)
            else {
                "min": int(sizes.min()),
                "median": float(np.median(sizes)),
                "max": int(sizes.max()),
                "singletons": int((sizes == 1).sum()),
            },
            "same_class_pairs": None if sizes is None else self.same_class_pairs,
            "repeated_ids": self.repeated_ids,
            "tenants": self.tenants,
            "supported_tnr": self.supported,
        }

    def facts(self) -> list[tuple[str, str]]:
        """Return what people read.

        Returns
        -------
        rows : list of (str, str)
            Names and values.
        """
        pairs = self.rows * (self.rows - 1) // 2
        low, middle, high = self.norms
        kind = f", {self.dtype}" if self.rows else ""
        rows = [("rows", f"{self.rows:,} of {self.dim:,} dimensions{kind}")]
        if not math.isnan(middle):
            rows.append(("norms", f"{low:.4g} to {high:.4g}, median {middle:.4g}"))
        rows += [
            ("bad rows", f"{self.not_finite:,} with NaN or infinity, {self.zero:,} of zeros"),
            ("duplicates", f"{self.duplicates:,}"),
        ]
        if self.class_sizes is not None and len(self.class_sizes):
            sizes = self.class_sizes
            rows += [
                ("classes", f"{len(sizes):,}, {(sizes == 1).sum():,} of them with a single row"),
                ("class sizes", f"{sizes.min():,} to {sizes.max():,}, median {np.median(sizes):g}"),
                ("same class", f"{self.same_class_pairs:,} of {pairs:,} pairs"),
            ]
        if self.tenants is not None:
            rows.append(("tenants", f"{self.tenants:,}"))
        rows.append(("rows suffice", _able(self.supported)))
        return rows


def rows_needed(tnr: float) -> int:
    """Return how many rows a set needs before a target of TNR rests on enough of its pairs.

    Parameters
    ----------
    tnr : float
        The target.

    Returns
    -------
    rows : int
        The pairs of so many rows leave `opengcn.report.usual_targets.FEWEST` beyond the target.

    Examples
    --------
    >>> rows_needed(0.99), rows_needed(0.9999)
    (46, 448)
    """
    pairs = FEWEST / max(1 - tnr, 1e-12)
    return math.ceil(round(0.5 + math.sqrt(0.25 + 2 * pairs), 6))


def _norms(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return lengths of rows; those of very long vectors, too, whose squares are infinite."""
    largest = np.abs(block).max(axis=1)
    with np.errstate(invalid="ignore"):  # infinity by infinity is NaN, as it should
        scaled = block / np.where(largest > 0, largest, 1.0)[:, None]
        return np.asarray(largest * np.linalg.norm(scaled, axis=1))


def _able(supported: list[float]) -> str:
    strict = [target.value for target in USUAL if target.rate == "tnr"]
    missing = [tnr for tnr in strict if tnr not in supported]
    able = f"for TNR up to {100 * supported[-1]:g} %" if supported else "for no usual target of TNR"
    return f"{able}; {100 * missing[0]:g} % takes {rows_needed(missing[0]):,}" if missing else able
