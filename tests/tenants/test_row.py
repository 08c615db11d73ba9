from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import opengcn as og
from opengcn.tenants.batch import TenantRows
from opengcn.tenants.row import FEWEST, Question, error_row, row_schema, rows_of

Rows = Callable[[int, int], NDArray[np.float32]]


@dataclass
class Given:
    """A batch that is in memory."""

    rows: list[TenantRows]

    @property
    def names(self) -> list[Any]:
        return [rows.tenant for rows in self.rows]

    def read(self, dim: int) -> Iterator[TenantRows]:
        yield from self.rows

    def split(self) -> list[Given]:
        raise NotImplementedError


def one(question: Question, raw: NDArray[Any], total: int | None = None) -> dict[str, Any]:
    (row,) = rows_of(question, Given([TenantRows("a", total or len(raw), raw)]))
    return row


def test_a_row_is_what_the_estimate_says(model: og.OpenGCN, rows_like: Rows) -> None:
    raw = rows_like(300, 5)
    curve = model.estimate(raw)
    expected = curve.threshold(tnr=0.99, confidence=0.8)
    row = one(Question(model, {"tnr": 0.99, "confidence": 0.8}, curves=True), raw, 5000)
    assert row["status"] == "ok"
    for name in ("distance", "cosine", "squared_l2", "tpr", "tnr", "tpr_low", "distance_high"):
        assert row[name] == getattr(expected, name)
    assert (row["samples"], row["graphs"]) == (5000, curve.info["graphs"])
    assert row["seconds"] > 0
    table = pa.Table.from_pylist([row], row_schema(["a"], curves=True))
    (again,) = table.to_pylist()
    remade = og.OperatingCurve(
        again["curve_tpr"],
        again["curve_tnr"],
        curve.source,
        curve.info,
        **{name: again[f"curve_{name}"] for name in ("tpr_low", "tpr_high", "tnr_low", "tnr_high")},
    )
    assert remade == curve


def test_too_few_samples_is_what_the_model_says_too(model: og.OpenGCN, rows_like: Rows) -> None:
    question = Question(model, {"tpr": 0.9})
    row = one(question, rows_like(FEWEST - 1, 0))
    assert row == {"tenant": "a", "status": "too few samples", "samples": FEWEST - 1}
    with pytest.raises(og.DataError):
        model.estimate(rows_like(FEWEST - 1, 0))
    assert one(question, rows_like(FEWEST, 0))["status"] == "ok"
    assert one(question, np.empty((0, 8)))["status"] == "too few samples"


def test_a_row_does_not_depend_on_the_tenants_beside_it(model: og.OpenGCN, rows_like: Rows) -> None:
    sizes = [300, 10, 5, 40, 20, 300]
    given = Given([TenantRows(k, n, rows_like(n, k)) for k, n in enumerate(sizes)])
    given.rows.append(TenantRows(6, 10, np.full((10, 8), np.nan)))
    question = Question(model, {"tpr": 0.9})
    alone = [rows_of(question, Given([rows]))[0] for rows in given.rows]
    together = rows_of(question, given)
    assert [row["status"][:5] for row in together] == ["ok", "ok", "too f", *["ok"] * 3, "error"]
    for one, other in zip(alone, together, strict=True):
        one.pop("seconds", None), other.pop("seconds", None)
        assert one == other  # to the bit


def test_warnings_become_notes(model: og.OpenGCN, rows_like: Rows) -> None:
    row = one(Question(model, {"tpr": 0.9}), rows_like(10, 0))
    assert row["status"] == "ok"
    assert "tenant 'a': about" in row["note"]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (np.full((20, 8), np.nan), "error: tenant 'a': row 0: expected finite numbers"),
        (np.zeros((20, 8)), "error: tenant 'a': row 0: expected a vector with a direction"),
        (np.ones((20, 5)), "error: tenant 'a': expected dimension 8 as in D_train, received 5"),
        (np.ones((20, 8), int), "error: tenant 'a': expected embeddings as float"),
    ],
)
def test_bad_rows(model: og.OpenGCN, raw: NDArray[Any], reason: str) -> None:
    row = one(Question(model, {"tpr": 0.9}), raw)
    assert row["status"].startswith(reason)
    assert row["samples"] == 20


def test_a_target_out_of_reach_is_an_error_of_its_own(rows_like: Rows) -> None:
    class Blind:
        dim_ = 8

        def estimate(self, data: og.EmbeddingSet) -> og.OperatingCurve:
            if len(data) > 10:
                raise ZeroDivisionError("bug")
            nothing = np.full(201, np.nan)
            return og.OperatingCurve(nothing, nothing)

    question = Question(Blind(), {"tpr": 0.9})  # type: ignore[arg-type]
    assert one(question, rows_like(10, 0))["status"].startswith(
        "error: threshold: expected a curve"
    )
    assert one(question, rows_like(11, 0))["status"] == "error: unexpected ZeroDivisionError('bug')"


def test_errors_are_one_line() -> None:
    assert error_row("a", None, "two\n  lines")["status"] == "error: two lines"
