"""The row of one tenant: its threshold, what to expect of it, and whether all went well."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opengcn.curve import BAND
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import OpenGCNError, OpenGCNWarning
from opengcn.tenants.batch import Batch, Name, TenantRows

if TYPE_CHECKING:
    from opengcn.calibrators.opengcn import OpenGCN
    from opengcn.curve import OperatingCurve
    from opengcn.threshold import Threshold

__all__ = ["OK", "TOO_FEW", "Question", "error_row", "row_schema", "rows_of"]

OK, TOO_FEW, ERROR = "ok", "too few samples", "error: "
FEWEST = 8  # rows, as many as the default preset asks for
RATES = ("tpr", "tnr", *BAND)
NUMBERS = ("distance", "cosine", "squared_l2", "distance_low", "distance_high", *RATES)
CURVES = tuple(f"curve_{rate}" for rate in RATES)


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked about every tenant.

    Attributes
    ----------
    model : OpenGCN
        Fitted.
    target : dict
        Arguments of `OperatingCurve.threshold`.
    curves : bool
        Whether the whole curves are wanted.
    """

    model: OpenGCN
    target: dict[str, Any]
    curves: bool = False


def row_schema(names: Sequence[Name], *, curves: bool) -> Any:
    """Return the columns of the result.

    Parameters
    ----------
    names : sequence of str or int
        The tenants, one at least.
    curves : bool
        Whether there are curves.

    Returns
    -------
    schema : pyarrow.Schema
        The columns.
    """
    import pyarrow as pa

    tenant = pa.string()
    if isinstance(names[0], int):  # hashes as names are often unsigned
        tenant = pa.uint64() if max(map(int, names)) > 2**63 - 1 else pa.int64()
    return pa.schema(
        [
            ("tenant", tenant),
            ("status", pa.string()),
            *((name, pa.float64()) for name in NUMBERS),
            ("samples", pa.int64()),
            ("graphs", pa.int64()),
            ("seconds", pa.float64()),
            ("note", pa.string()),
            *((name, pa.list_(pa.float64())) for name in CURVES if curves),
        ]
    )


def rows_of(question: Question, batch: Batch) -> list[dict[str, Any]]:
    """Answer for a batch of tenants. This is what a worker does.

    Parameters
    ----------
    question : Question
        What is asked.
    batch : Batch
        The tenants.

    Returns
    -------
    rows : list of dict
        Columns of the result, those without a value left out.
    """
    return [_row(question, rows) for rows in batch.read(question.model.dim_)]


def error_row(tenant: str | int, samples: int | None, reason: str) -> dict[str, Any]:
    """Return the row of a tenant that has no threshold.

    Parameters
    ----------
    tenant : str or int
        Its name.
    samples : int or None
        How many rows it has, if known.
    reason : str
        Why.

    Returns
    -------
    row : dict
        Columns of the result.
    """
    return {"tenant": tenant, "status": ERROR + " ".join(reason.split()), "samples": samples}


def _row(question: Question, rows: TenantRows) -> dict[str, Any]:
    """Return the row of a tenant."""
    if rows.error:
        return error_row(rows.tenant, rows.total, rows.error)
    assert rows.raw is not None
    if len(rows.raw) < FEWEST:
        return {"tenant": rows.tenant, "status": TOO_FEW, "samples": rows.total}
    begin = time.perf_counter()
    try:
        with _noting() as notes:
            data = EmbeddingSet(rows.raw, source=f"tenant {rows.tenant!r}")
            curve = question.model.estimate(data)
            threshold = curve.threshold(**question.target)
    except Exception as error:
        return _failed(rows.tenant, rows.total, error)
    return {
        "tenant": rows.tenant,
        "status": OK,
        **_numbers(threshold),
        "samples": rows.total,
        "graphs": curve.info.get("graphs", curve.info.get("subgraphs")),
        "seconds": time.perf_counter() - begin,
        "note": "; ".join(notes) or None,
        **(_curves(curve) if question.curves else {}),
    }


@contextmanager
def _noting() -> Iterator[list[str]]:
    """Yield a list that has the package's warnings once the body is through."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += [str(w.message) for w in caught if issubclass(w.category, OpenGCNWarning)]


def _failed(tenant: Name, samples: int | None, error: Exception) -> dict[str, Any]:
    """Return the row of a tenant on which something failed: whatever it is, it is its own."""
    known = isinstance(error, OpenGCNError)
    return error_row(tenant, samples, str(error) if known else f"unexpected {error!r}")


def _numbers(threshold: Threshold) -> dict[str, float | None]:
    """Return the numbers of a threshold; what is unknown is None."""
    numbers = {name: getattr(threshold, name) for name in NUMBERS}
    return {name: None if value != value else value for name, value in numbers.items()}


def _curves(curve: OperatingCurve) -> dict[str, Any]:
    rates = {name: getattr(curve, name) for name in RATES}
    return {f"curve_{name}": rate for name, rate in rates.items() if rate is not None}
