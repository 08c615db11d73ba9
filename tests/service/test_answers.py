"""Answers are those of `estimate`, and of the command line, to the bit."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opengcn as og

KINDS = ["json", "arrow", "arrow file", "parquet", "npy", "npz"]
MEDIA = {"parquet": "parquet", "arrow": "arrow.stream"}


def expected(model: og.OpenGCN, rows: Any, target: dict[str, float], **hint: float) -> Any:
    with warnings.catch_warnings():  # few pairs are to be expected in the smallest sets
        warnings.simplefilter("ignore", og.OpenGCNWarning)
        curve = model.estimate(rows, **hint)
    return curve.threshold(**target).to_dict(), json.loads(curve.to_json())


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_gets_the_answer_of_estimate(
    kind: str, client: httpx.Client, model: og.OpenGCN, rows: Any, encode: Any
) -> None:
    body, headers = encode(kind, rows)
    answer = client.post("/v1/threshold?model=birds&tpr=0.9", content=body, headers=headers)
    assert answer.status_code == 200, answer.text
    read = answer.json()
    assert (read["threshold"], read["curve"]) == expected(model, rows, {"tpr": 0.9})
    assert (read["model"], read["rows"]) == ("birds", len(rows))


@pytest.mark.parametrize("width", [np.float16, np.float64])
def test_numbers_of_any_width(
    width: Any, client: httpx.Client, model: og.OpenGCN, rows: Any, encode: Any
) -> None:
    rows = (rows / 7).astype(width)
    body, headers = encode("npy", rows)
    read = client.post("/v1/threshold?model=birds&tpr=0.9", content=body, headers=headers).json()
    assert read["threshold"] == expected(model, rows, {"tpr": 0.9})[0]


@pytest.mark.parametrize(
    ("question", "target", "hint"),
    [
        ({"tnr": 0.99}, {"tnr": 0.99}, {}),
        ({"tpr": 0.9, "confidence": 0.8}, {"tpr": 0.9, "confidence": 0.8}, {}),
        ({"tpr": 0.9, "n_classes": 12}, {"tpr": 0.9}, {"n_classes": 12}),
        ({"tpr": 1, "prior": 0.1}, {"tpr": 1}, {"prior": 0.1}),
    ],
)
def test_the_question_may_come_in_the_query_or_in_json(
    question: Any, target: Any, hint: Any, client: httpx.Client, model: og.OpenGCN, rows: Any
) -> None:
    wanted = expected(model, rows, target, **hint)[0]
    body = {"embeddings": rows.tolist()}
    asked = question | {"model": "birds"}
    in_query = client.post("/v1/threshold", params=asked, json=body)
    in_body = client.post("/v1/threshold", json=body | asked)
    assert in_query.json()["threshold"] == in_body.json()["threshold"] == wanted


def test_the_body_stands_before_the_query(client: httpx.Client, rows: Any) -> None:
    body = {"embeddings": rows.tolist(), "model": "faces", "tpr": 0.5, "curve": False}
    read = client.post("/v1/threshold?model=birds&tpr=0.9", json=body).json()
    assert (read["model"], read["threshold"]["target"]) == ("faces", "tpr >= 0.5")
    assert read["curve"] is None


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_columns_that_are_not_asked_for_may_hold_anything(
    kind: str, client: httpx.Client, model: og.OpenGCN, rows: Any
) -> None:
    odd = [None, *("x" for _ in rows[1:])]
    vectors = pa.array(rows.tolist(), pa.list_(pa.float32()))
    table = pa.table({"embedding": vectors, "label": odd, "id": odd, "tenant": odd})
    file = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, file)
    else:
        with pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    answer = client.post(
        "/v1/threshold?model=birds&tpr=0.9",
        content=file.getvalue(),
        headers={"Content-Type": f"application/vnd.apache.{MEDIA[kind]}"},
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["threshold"] == expected(model, rows, {"tpr": 0.9})[0]


def test_models_differ(client: httpx.Client, model_files: dict[str, str], rows: Any) -> None:
    body = {"embeddings": rows.tolist(), "tpr": 0.9}
    found = {
        name: client.post(f"/v1/threshold?model={name}", json=body).json()["threshold"]
        for name in model_files
    }
    assert found["birds"] != found["faces"]
    assert found["faces"] == expected(og.load(model_files["faces"]), rows, {"tpr": 0.9})[0]


def test_models_are_listed(client: httpx.Client, model: og.OpenGCN) -> None:
    first, second = client.get("/v1/models").json()
    assert first == {
        "name": "birds",
        "preset": "default",
        "dim": model.dim_,
        "summary": model.summary_,
    }
    assert second["name"] == "faces"


def test_the_command_line_says_the_same(
    client: httpx.Client, model_files: Any, rows: Any, tmp_path: Path
) -> None:
    np.savez(tmp_path / "x.npz", embeddings=rows)
    command, data = [sys.executable, "-m", "opengcn", "threshold"], str(tmp_path / "x.npz")
    run = subprocess.run(
        [*command, model_files["birds"], data, "--tnr=0.999", "--n-classes=12", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(run.stdout)
    query = {"tnr": 0.999, "n_classes": 12, "model": "birds"}
    read = client.post("/v1/threshold", params=query, json={"embeddings": rows.tolist()}).json()
    assert {name: told[name] for name in read["threshold"]} == read["threshold"]
    assert read["warnings"][-1].startswith("do not rely on this threshold")
    assert told["notes"][-1].startswith(read["warnings"][-1])  # and more advice, perhaps
    assert len(read["warnings"]) == len(told["notes"])


def test_warnings_of_the_estimate_are_part_of_the_answer(client: httpx.Client, rows: Any) -> None:
    body = {"embeddings": rows[::10].tolist(), "tpr": 0.9, "model": "birds"}
    read = client.post("/v1/threshold", json=body).json()
    assert any("rests on D_cal" in text for text in read["warnings"])


def test_a_batch_in_json(client: httpx.Client, model: og.OpenGCN, rows: Any) -> None:
    good, bad = rows.tolist(), [[1.0, 2.0]] * 20
    spoilt = [[float("nan")] * rows.shape[1], *good]
    sets = [
        {"id": "all", "embeddings": good},
        {"id": "half", "embeddings": good[:60], "tpr": None, "tnr": 0.95, "curve": False},
        {"id": "narrow", "embeddings": bad},
        {"id": "ragged", "embeddings": [*good, [1.0]]},
        {"id": "spoilt", "embeddings": spoilt},
        {"id": "elsewhere", "embeddings": good, "model": "plants"},
    ]
    answer = client.post(
        "/v1/thresholds?model=birds&tpr=0.9",
        content=json.dumps({"sets": sets}),  # httpx refuses NaN
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 200, answer.text
    found = answer.json()["sets"]
    assert [one["id"] for one in found] == [one["id"] for one in sets]
    assert found[0]["answer"]["threshold"] == expected(model, rows, {"tpr": 0.9})[0]
    assert found[1]["answer"]["threshold"] == expected(model, rows[:60], {"tnr": 0.95})[0]
    assert found[0]["answer"]["curve"] is not None
    assert found[1]["answer"]["curve"] is None
    assert [one["error"] for one in found] == [
        None,
        None,
        "set 'narrow': expected dimension 16 as in D_train, received 2",
        "set 'ragged': row 120: expected 16 numbers as in row 0, received 1",
        "set 'spoilt': row 0: expected finite numbers, received nan in dimension 0",
        "model: expected one of birds, faces, received 'plants'",
    ]
    assert all(one["answer"] is None for one in found[2:])


@pytest.mark.parametrize("kind", ["parquet", "arrow", "npz"])
def test_a_batch_by_tenant(
    kind: str, client: httpx.Client, model: og.OpenGCN, rows: Any, encode: Any
) -> None:
    tenants = ["b", "a", "b"] * 40
    rows = rows.copy()
    rows[1] = np.nan
    body, headers = encode(kind, rows, tenants)
    answer = client.post("/v1/thresholds?model=birds&tpr=0.9", content=body, headers=headers)
    a, b = answer.json()["sets"]
    assert (a["id"], b["id"]) == ("a", "b")
    assert "row 0: expected finite numbers" in a["error"]
    mine = rows[np.array(tenants) == "b"]
    assert b["answer"]["threshold"] == expected(model, mine, {"tpr": 0.9})[0]


def test_a_report_is_a_page(client: httpx.Client, rows: Any, encode: Any) -> None:
    body, headers = encode("npz", rows)
    answer = client.post("/v1/report?model=birds&tpr=0.9", content=body, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.text.startswith("<!doctype html>")
    assert "birds" in answer.text
