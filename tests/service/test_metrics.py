"""What supervisors read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx


def read(client: httpx.Client) -> dict[str, float]:
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    lines = (line.rsplit(" ", 1) for line in answer.text.splitlines() if line[0] != "#")
    return {name: float(value) for name, value in lines}


def test_requests_rows_and_seconds_are_counted(client: httpx.Client, rows: Any) -> None:
    before = read(client)
    body = {"embeddings": rows.tolist(), "tpr": 0.9}
    client.post("/v1/threshold?model=faces", json=body)
    client.post("/v1/threshold?model=plants", json=body)
    sets = [{"id": str(i), "embeddings": rows.tolist()} for i in range(3)]
    client.post("/v1/thresholds?model=faces&tpr=0.9", json={"sets": sets})
    client.get("/some/path/that/is/not/there")
    after = read(client)
    for name, more in {
        'opengcn_requests_total{path="/v1/threshold",status="200"}': 1,
        'opengcn_requests_total{path="/v1/threshold",status="404"}': 1,
        'opengcn_requests_total{path="/v1/thresholds",status="200"}': 1,
        'opengcn_requests_total{path="other",status="404"}': 1,  # labels must stay few
        'opengcn_request_seconds_count{path="/v1/threshold"}': 2,
        'opengcn_rows_total{model="faces"}': 4 * len(rows),
        "opengcn_work_seconds_count": 3,
    }.items():
        assert after[name] - before.get(name, 0) == more, name
    assert (after["opengcn_workers"], after["opengcn_busy"], after["opengcn_waiting"]) == (1, 0, 0)
    assert after["process_resident_memory_bytes"] > 0


def test_the_page_names_every_metric(client: httpx.Client) -> None:
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    kinds = re.findall(r"^# TYPE (opengcn_\w+) (\w+)$", client.get("/metrics").text, re.MULTILINE)
    shown = {name: kind for name, kind in kinds if not name.endswith("_created")}
    assert len(shown) > 5
    for name, kind in shown.items():
        assert re.search(rf"^\|.*`{name}`.* \| {kind} \|", page, re.MULTILINE), name


def test_every_answer_has_an_id(client: httpx.Client) -> None:
    ids = {client.get("/healthz").headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in ids)
