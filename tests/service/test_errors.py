"""Whatever is wrong with a request, its answer says so in one line, and no more than that."""

from __future__ import annotations

import io
import json
import logging
import zipfile
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opengcn.service.app import create_app
from opengcn.service.bodies import SETS, VALUES

JSON = {"Content-Type": "application/json"}
PARQUET = {"Content-Type": "application/vnd.apache.parquet"}
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}


def refused(answer: httpx.Response, status: int) -> str:
    """Check the shape of a refusal and return what it says."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    (name, text), *more = answer.json().items()
    assert name == "detail"
    assert not more
    assert "\n" not in text
    assert "Traceback" not in text
    assert "/tmp" not in text
    return str(text)


def changed(rows: Any, row: int, value: float) -> list[list[float]]:
    rows = rows.copy()
    rows[row] = value
    return list(rows.tolist())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "target: expected one of tpr and tnr, received neither"),
        ("tpr=0.9&tnr=0.9", "target: expected one of tpr and tnr, received both"),
        ("tpr=0", "tpr: expected greater than 0, received '0'"),
        ("tpr=1.5", "tpr: expected less than or equal to 1, received '1.5'"),
        ("tnr=-1", "tnr: expected greater than 0, received '-1'"),
        ("tpr=nan", "tpr: expected a finite number, received 'nan'"),
        ("tpr=much", "tpr: expected a valid number, unable to parse string as a number, "),
        ("tpr=", "tpr: expected a valid number, unable to parse string as a number, "),
        ("tpr=0.9&tpr=0.8", "tpr: expected it once, received it several times"),
        ("recall=0.9", "recall: expected no such name; known are model, tpr, tnr, confidence, "),
        ("tpr=0.9&confidence=1", "confidence: expected less than 1, received '1'"),
        ("tpr=0.9&confidence=0.4", "confidence: expected greater than or equal to 0.5, "),
        ("tpr=0.9&n_classes=0", "n_classes: expected greater than or equal to 1, received '0'"),
        ("tpr=0.9&n_classes=inf", "n_classes: expected a finite number, received 'inf'"),
        ("tpr=0.9&n_classes=121", "n_classes: expected 1 to 120, the number of rows, received"),
        ("tpr=0.9&prior=2", "prior: expected less than or equal to 1, received '2'"),
        ("tpr=0.9&prior=0.1&n_classes=9", "hint: expected n_classes or prior, received both"),
        ("tpr=0.9&curve=perhaps", "curve: expected a valid boolean, "),
        ("tpr=0.9&model=", "model: expected one of birds, faces, received ''"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/threshold", "/v1/report"])
def test_questions(path: str, query: str, message: str, client: httpx.Client, rows: Any) -> None:
    model = "" if "model=" in query else "&model=birds"
    status = 404 if "model=" in query else 422
    answer = client.post(f"{path}?{query}{model}", json={"embeddings": rows.tolist()})
    assert refused(answer, status).startswith(message)


def test_several_models_need_a_name(client: httpx.Client, rows: Any) -> None:
    body = {"embeddings": rows.tolist(), "tpr": 0.9}
    text = refused(client.post("/v1/threshold", json=body), 422)
    assert text == "model: expected one of birds, faces, received none"
    text = refused(client.post("/v1/threshold?model=plants", json=body), 404)
    assert text == "model: expected one of birds, faces, received 'plants'"


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        ([], "embeddings: expected an array of shape (n, D), received shape (0,)"),
        ([[]], "embeddings: expected at least one vector, received shape (1, 0)"),
        ([[1.0, 2.0]] * 9, "embeddings: expected dimension 16 as in D_train, received 2"),
        ([[1.0] * 16] * 3, "embeddings: expected 8 rows or more, received 3"),
        ([[1.0] * 16, [1.0] * 15], "embeddings: row 1: expected 16 numbers as in row 0, "),
        ([[0.0] * 16] * 9, "embeddings: row 0: expected a vector with a direction, received only"),
        ([["1"] * 16] * 9, "embeddings.0.0: expected a valid number, received '1'"),
        ([[True] * 16] * 9, "embeddings.0.0: expected a valid number, received True"),
        ([[[1.0]] * 16] * 9, "embeddings.0.0: expected a valid number, received [1.0]"),
        ([1.0] * 16, "embeddings.0: expected a valid array, received 1.0"),
        ([[None] * 16] * 9, "embeddings.0.0: expected a valid number, received None"),
        ("abc", "embeddings: expected a valid array, received 'abc'"),
        (None, "embeddings: expected a valid array, received None"),
    ],
)
def test_embeddings_in_json(embeddings: Any, message: str, client: httpx.Client) -> None:
    body = {"embeddings": embeddings, "tpr": 0.9, "model": "birds"}
    assert refused(client.post("/v1/threshold", json=body), 422).startswith(message)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(value: str, client: httpx.Client, rows: Any) -> None:
    text = json.dumps(changed(rows, 7, 4.25)).replace("4.25", value)
    body = '{"model": "birds", "tpr": 0.9, "embeddings": ' + text + "}"
    answer = client.post("/v1/threshold", content=body, headers=JSON)
    assert refused(answer, 422).startswith("embeddings: row 7: expected finite numbers, received")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "body: expected JSON, received something else"),
        ("{", "body: expected JSON, received something else"),
        ("[1, 2]", "body: expected an object, received [1, 2]"),
        ('{"embeddings": [' + "[" * 500, "body: expected JSON, received something else"),
        ("\udcff", "body: expected JSON, received something else"),
        ('{"tpr": 0.9}', "embeddings: expected a value, received none"),
        ('{"embeddings": [], "tpr": "0.9"}', "tpr: expected a valid number, received '0.9'"),
        ('{"embeddings": [], "labels": []}', "labels: expected no such name; known are model, "),
    ],
)
def test_bodies_in_json(body: str, message: str, client: httpx.Client) -> None:
    content = body.encode(errors="surrogateescape")
    answer = client.post("/v1/threshold", content=content, headers=JSON)
    assert refused(answer, 422).startswith(message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"sets": []}, "sets: "),
        ({"sets": [{"embeddings": [[1.0]]}]}, "sets.0.id: expected a value, received none"),
        ({"embeddings": [[1.0]]}, "sets: expected a value, received none"),
        ({"sets": [{"id": "a", "embeddings": []}] * (SETS + 1)}, "sets: "),
    ],
)
def test_batches_in_json(body: Any, message: str, client: httpx.Client) -> None:
    answer = client.post("/v1/thresholds?tpr=0.9&model=birds", json=body)
    assert refused(answer, 422).startswith(message)


def arrow(**columns: Any) -> bytes:
    file = io.BytesIO()
    table = pa.table(columns)
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


@pytest.mark.parametrize(("write", "headers"), [(arrow, ARROW), (parquet, PARQUET)])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"vector": [[1.0]]}, "expected a column 'embedding', received 'vector'"),
        ({"embedding": [1.0]}, "expected a list of floats a row, received double"),
        ({"embedding": [[1, 2]]}, "expected a list of floats a row, received list"),
        ({"embedding": [[1.0, 2.0], [1.0]]}, "row 1, column 'embedding': expected 2 numbers"),
        ({"embedding": [[1.0], None]}, "row 1, column 'embedding': expected a vector, received"),
        ({"embedding": [[1.0], [None]]}, "expected numbers, received null inside the vector"),
        ({"embedding": [[1.0, 2.0]] * 9}, "expected dimension 16 as in D_train, received 2"),
        ({"embedding": [[1.0] * 16] * 7}, "expected 8 rows or more, received 7"),
        ({"embedding": [[0.0] * 16] * 9}, "row 0: expected a vector with a direction"),
        ({"embedding": [[1.0] * 15 + [np.nan]] * 9}, "received nan in dimension 15"),
        ({"embedding": pa.array([], pa.list_(pa.float32()))}, "expected at least one vector"),
    ],
)
def test_columns(
    write: Any, headers: Any, columns: Any, message: str, client: httpx.Client
) -> None:
    body = write(**columns)
    answer = client.post("/v1/threshold?tpr=0.9&model=birds", content=body, headers=headers)
    assert message in refused(answer, 422)


@pytest.mark.parametrize("kind", ["arrow", "arrow file", "parquet", "npy", "npz"])
def test_bytes_that_are_not_what_they_claim(
    kind: str, client: httpx.Client, rows: Any, encode: Any
) -> None:
    whole, headers = encode(kind, rows)
    rng = np.random.default_rng(0)
    for body in (b"", b"abc", whole[: len(whole) // 2], whole[:-20], rng.bytes(1000)):
        answer = client.post("/v1/threshold?tpr=0.9&model=birds", content=body, headers=headers)
        assert "expected" in refused(answer, 422)


@pytest.mark.parametrize("kind", ["arrow", "parquet", "npy", "npz"])
def test_flipped_bytes_never_bring_it_down(
    kind: str, client: httpx.Client, rows: Any, encode: Any
) -> None:
    whole, headers = encode(kind, rows)
    rng = np.random.default_rng(1)
    for _ in range(30):
        body = bytearray(whole)
        for place in rng.integers(len(body), size=3):
            body[place] = rng.integers(256)
        answer = client.post(
            "/v1/threshold?tpr=0.9&model=birds", content=bytes(body), headers=headers
        )
        assert answer.status_code in (200, 413, 422), answer.text


def test_a_batch_of_columns_needs_tenants(client: httpx.Client, rows: Any, encode: Any) -> None:
    body, headers = encode("parquet", rows)
    answer = client.post("/v1/thresholds?tpr=0.9&model=birds", content=body, headers=headers)
    text = "body: expected a column 'tenant' that tells the sets apart"
    assert refused(answer, 422) == text
    body, headers = encode("parquet", np.ones((1000, 1), np.float32), [str(i) for i in range(1000)])
    answer = client.post("/v1/thresholds?tpr=0.9&model=birds", content=body, headers=headers)
    assert len(answer.json()["sets"]) == SETS


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "content-type: expected one of application/json, application/vnd.apache.arrow."),
        ({"Content-Type": "text/plain"}, "content-type: expected one of application/json, "),
        (JSON | {"Content-Encoding": "gzip"}, "content-encoding: expected none, received gzip"),
    ],
)
def test_media_types(headers: dict[str, str], message: str, client: httpx.Client) -> None:
    answer = client.post("/v1/threshold?tpr=0.9&model=birds", content=b"{}", headers=headers)
    assert refused(answer, 415).startswith(message)


def test_a_charset_is_fine(client: httpx.Client, rows: Any) -> None:
    answer = client.post(
        "/v1/threshold?tpr=0.9&model=birds",
        content=json.dumps({"embeddings": rows.tolist()}),
        headers={"Content-Type": "Application/JSON; charset=utf-8"},
    )
    assert answer.status_code == 200


@pytest.mark.parametrize("kind", ["json", "arrow", "arrow file", "parquet", "npy", "npz"])
def test_too_many_rows(kind: str, client: httpx.Client, encode: Any) -> None:
    body, headers = encode(kind, np.ones((1001, 2), np.float32))
    answer = client.post("/v1/threshold?tpr=0.9&model=birds", content=body, headers=headers)
    assert refused(answer, 413) == "body: expected at most 1000 rows, received 1001"


def test_too_many_rows_over_all_sets(client: httpx.Client) -> None:
    sets = [{"id": str(i), "embeddings": [[1.0]] * 501} for i in range(2)]
    answer = client.post("/v1/thresholds?tpr=0.9&model=birds", json={"sets": sets})
    assert refused(answer, 413) == "body: expected at most 1000 rows, received 1002"


def test_too_many_bytes(client: httpx.Client) -> None:
    text = "body: expected at most 200000 bytes, received more"
    body = b"x" * 200_001
    announced = client.post("/v1/threshold?tpr=0.9", content=body, headers=JSON)
    assert refused(announced, 413) == text
    chunked = client.post("/v1/threshold?tpr=0.9", content=iter([body[:10], body]), headers=JSON)
    assert refused(chunked, 413) == text


def test_little_that_unpacks_to_much(pool: Any, serving: Any) -> None:
    """Bodies within the limit of bytes that would take gigabytes: refused, and nothing dies."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        header = {"descr": "<f4", "fortran_order": False, "shape": (50_000, 16_000)}  # 3.2 GB
        with archive.open("embeddings.npy", "w") as member:
            np.lib.format.write_array_header_1_0(member, header)
    npz = {"Content-Type": "application/x-npz"}
    with serving(create_app(pool, max_body=40_000_000, max_rows=100_000)) as client:
        before = pool.replaced
        for body, headers in (
            (file.getvalue(), npz),
            (b'{"embeddings": [' + b"[]," * VALUES + b"[]]}", JSON),
            (b'{"embeddings": [' + b'"a",' * 100_000 + b'"a"]}', JSON),
        ):
            answer = client.post("/v1/threshold?tpr=0.9", content=body, headers=headers)
            assert "expected" in refused(answer, 413)
        assert pool.replaced == before


def test_many_rows_in_few_bytes_are_refused_unread(service: Any) -> None:
    rows = pa.array(np.zeros(2_000_000 * 16, np.float32))  # 128 MB, in 0.4 MB of parquet
    body = parquet(embedding=pa.FixedSizeListArray.from_arrays(rows, 16))
    assert len(body) < 1_000_000
    before = service.memory()
    for _ in range(4):
        answer = httpx.post(
            f"{service.url}/v1/threshold?tpr=0.9", content=body, headers=PARQUET, timeout=60
        )
        assert refused(answer, 413) == "body: expected at most 100000 rows, received 2000000"
    assert service.memory() < before + 60_000_000


def test_a_large_body_leaves_no_memory_behind(service: Any) -> None:
    rows = np.random.default_rng(0).standard_normal((100_000, 96), np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 96)
    body = arrow(embedding=vectors)  # 38 MB

    def ask() -> None:
        answer = httpx.post(
            f"{service.url}/v1/threshold?tpr=0.9", content=body, headers=ARROW, timeout=60
        )
        assert "expected dimension 16 as in D_train, received 96" in refused(answer, 422)

    ask()
    before = service.memory()
    for _ in range(6):
        ask()
    assert service.memory() < before + 60_000_000


def test_unknown_paths_and_methods(client: httpx.Client) -> None:
    refused(client.get("/v1/nothing"), 404)
    refused(client.get("/v1/threshold"), 405)
    refused(client.get("/assets/../app.py"), 404)


class Broken:
    """A pool that fails in a way that nobody has foreseen."""

    waiting = busy = alive = replaced = 0

    def check_room(self) -> None:
        raise RuntimeError("secret detail")


def test_a_fault_of_the_service_shows_an_id_and_nothing_else(
    serving: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(Broken(), max_body=1000, max_rows=10)  # type: ignore[arg-type]
    with serving(app) as client, caplog.at_level(logging.ERROR):
        answer = client.post("/v1/threshold?tpr=0.9", json={})
        assert answer.status_code == 500
        assert answer.json() == {
            "detail": "the service is at fault, not the request",
            "id": answer.headers["x-request-id"],
        }
        assert answer.json()["id"] in caplog.text
        assert "secret detail" in caplog.text
        ready = client.get("/readyz")
        assert refused(ready, 503).startswith("expected a worker, received none")
        assert client.get("/healthz").json() == {"status": "alive"}


def test_a_token_is_asked_for(pool: Any, rows: Any, serving: Any) -> None:
    app = create_app(pool, max_body=200_000, max_rows=1000, token="s3cret")
    body = {"embeddings": rows.tolist(), "tpr": 0.9, "model": "birds"}
    with serving(app) as client:
        for given in (None, "s3cre", "s3cret2", "S3CRET", "\xff"):
            headers = {} if given is None else {"Authorization": f"Bearer {given}".encode("latin1")}
            for path in ("/v1/threshold", "/v1/thresholds?tpr=2", "/v1/report"):
                answer = client.post(path, json=body, headers=headers)
                assert refused(answer, 401) == "authorization: expected a valid bearer token"
                assert answer.headers["www-authenticate"] == "Bearer"
            for path in ("/v1/models", "/metrics"):
                refused(client.get(path, headers=headers), 401)
        assert client.get("/metrics", auth=("s3cret", "")).status_code == 401
        right = {"Authorization": "Bearer s3cret"}
        assert client.post("/v1/threshold", json=body, headers=right).status_code == 200
        assert client.get("/metrics", headers=right).status_code == 200
        for path in ("/", "/docs", "/openapi.json", "/healthz", "/readyz", "/assets/page.js"):
            assert client.get(path).status_code == 200, path
