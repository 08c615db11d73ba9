"""The service as a process: how it starts, waits, loses a worker, and ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import httpx
import pytest

import opengcn as og
from opengcn.service import intake, pool
from opengcn.service.app import create_app

SETS = 100  # of a request that takes a worker about a second


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
    return found


def metric(url: str, name: str) -> float:
    text = httpx.get(f"{url}/metrics").text
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


@pytest.fixture(scope="module")
def slow(start: Any, model_files: dict[str, str]) -> Any:
    """A service with one worker, at which two requests may wait."""
    return start(model_files["birds"], "--workers", "1", "--queue", "2")


@pytest.fixture
def crowd() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as crowd:
        yield crowd


@pytest.fixture
def post(crowd: ThreadPoolExecutor, rows: Any) -> Callable[[Any], Future[httpx.Response]]:
    """Send a request that takes a while, in the background."""
    sets = [{"id": str(i), "embeddings": rows.tolist(), "curve": False} for i in range(SETS)]
    body = {"sets": sets}

    def post(service: Any) -> Future[httpx.Response]:
        return crowd.submit(
            httpx.post, f"{service.url}/v1/thresholds?tpr=0.9", json=body, timeout=200
        )

    return post


def check(answer: httpx.Response, model: og.OpenGCN, rows: Any) -> None:
    assert answer.status_code == 200, answer.text
    found = [one["answer"]["threshold"] for one in answer.json()["sets"]]
    assert found == SETS * [model.estimate(rows).threshold(tpr=0.9).to_dict()]


def test_a_full_queue_answers_at_once(slow: Any, post: Any, model: og.OpenGCN, rows: Any) -> None:
    taken = [post(slow) for _ in range(3)]
    wait_for(lambda: metric(slow.url, "opengcn_waiting") == 2)
    begun = time.monotonic()
    for _ in range(3):
        answer = httpx.post(f"{slow.url}/v1/threshold?tpr=0.9", json={"embeddings": rows.tolist()})
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.json()["detail"].startswith("expected fewer requests at once")
    assert time.monotonic() - begun < 10
    assert httpx.get(f"{slow.url}/healthz").status_code == 200
    assert httpx.get(f"{slow.url}/readyz").json() == {"status": "ready"}
    for one in taken:
        check(one.result(), model, rows)


def test_who_leaves_the_queue_costs_no_work(slow: Any, post: Any, rows: Any) -> None:
    before = metric(slow.url, "opengcn_work_seconds_count")
    taken = post(slow)
    with socket.create_connection(("127.0.0.1", int(slow.url.rpartition(":")[2]))) as leaver:
        wait_for(lambda: metric(slow.url, "opengcn_busy") == 1)
        leaver.sendall(
            b"POST /v1/threshold?tpr=0.9 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
            b"Content-Type: application/json\r\n\r\n{}"
        )
        wait_for(lambda: metric(slow.url, "opengcn_waiting") == 1)
    assert taken.result().status_code == 200
    gone = 'opengcn_requests_total{path="/v1/threshold",status="499"}'
    wait_for(lambda: metric(slow.url, gone) == 1)
    assert metric(slow.url, "opengcn_work_seconds_count") == before + 1


def test_a_worker_that_dies_costs_one_request(
    slow: Any, post: Any, model: og.OpenGCN, rows: Any
) -> None:
    first, second = post(slow), post(slow)
    wait_for(lambda: metric(slow.url, "opengcn_waiting") == 1)
    (worker,) = slow.workers()
    os.kill(worker, signal.SIGKILL)
    answers = [first.result(), second.result()]
    lost, kept = sorted(answers, key=lambda one: -one.status_code)
    assert lost.status_code == 500
    assert set(lost.json()) == {"detail", "id"}
    assert any(lost.json()["id"] in line for line in slow.log)
    check(kept, model, rows)  # by the worker that took its place
    assert metric(slow.url, "opengcn_workers_replaced") == 1
    assert metric(slow.url, "opengcn_workers") == 1


def test_sigterm_lets_it_finish_what_it_took(
    start: Any, post: Any, model_files: Any, model: og.OpenGCN, rows: Any
) -> None:
    service = start(model_files["birds"], "--workers", "1")
    taken = [post(service) for _ in range(3)]
    wait_for(lambda: metric(service.url, "opengcn_waiting") == 2)
    workers = service.workers()
    # As a supervisor does it: to every process at once.
    for pid in (service.process.pid, *workers):
        os.kill(pid, signal.SIGTERM)
    wait_for(lambda: refuses(service.url))
    for one in taken:
        check(one.result(), model, rows)
    assert service.process.wait(60) == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert not any("Traceback" in line for line in service.log)


def refuses(url: str) -> bool:
    try:
        httpx.get(f"{url}/healthz")
    except httpx.TransportError:
        return True
    return False


def test_no_worker_outlives_a_service_that_is_killed(start: Any, model_files: Any) -> None:
    service = start(model_files["birds"], "--workers", "1", env={"OPENGCN_TOKEN": "s3cret"})
    headers = {"Authorization": "Bearer s3cret"}  # here, since a start takes seconds
    assert httpx.get(f"{service.url}/v1/models").status_code == 401
    assert httpx.get(f"{service.url}/v1/models", headers=headers).status_code == 200
    workers = service.workers()
    service.process.kill()
    service.process.wait()
    wait_for(lambda: not any(running(pid) for pid in workers))


def running(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def serve(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "opengcn", "serve", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | env,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.ogcn"], "gone.ogcn: expected a model file, received a path where there is none"),
        (["{birds}", "{birds}"], "expected each name once, received 'birds' twice; give one"),
        (["my model={birds}"], "expected a name of letters, digits, '.', '_' and '-', received"),
        (["{birds}", "--token-file", "none.txt"], "No such file or directory: 'none.txt'"),
        (["{birds}", "--token-file", "/dev/null"], "/dev/null: expected a token of printable"),
        (["{birds}", "--host", "203.0.113.1"], "203.0.113.1 port 8000: expected an address to"),
        (["{broken}"], "broken.ogcn: expected a model file, received one that is truncated"),
    ],
)
def test_errors_at_the_start_are_one_line(
    arguments: list[str], message: str, model_files: dict[str, str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.ogcn"
    broken.write_bytes(Path(model_files["birds"]).read_bytes()[:5000])
    names = model_files | {"broken": str(broken)}
    result = serve(*(one.format(**names) for one in arguments), "--workers", "1")
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


class Dead:
    """A worker that was killed while it started."""

    def __init__(self, models: Any) -> None:
        self.ready: Future[Any] = Future()
        self.ready.set_exception(BrokenProcessPool("killed"))

    def close(self) -> None:
        """Nothing is left to close."""


def test_workers_that_do_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_Worker", Dead)
    with pytest.raises(og.OpenGCNError, match="expected 2 processes that start, received one that"):
        pool.Pool({"birds": "birds.ogcn"}, 2, 1)


def test_help_shows_a_request() -> None:
    text = serve("--help", COLUMNS="120").stdout
    for part in ("faces=f.ogcn", "/v1/threshold?tpr=0.9", "--token-file", "Retry-After"):
        assert part in text


def partly_sent(client: httpx.Client) -> tuple[int, bytes]:
    """Announce a body, send none of it, and return the status and the body of the answer."""
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as sender:
        sender.sendall(
            b"POST /v1/threshold?tpr=0.9 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
            b"Content-Type: application/json\r\n\r\n"
        )
        sender.settimeout(30)
        answer = HTTPResponse(sender)  # which may come in pieces
        answer.begin()
        return answer.status, answer.read()


def test_a_body_that_does_not_come(
    pool: Any, serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "SECONDS", 0.2)
    with serving(create_app(pool, max_body=1000, max_rows=10)) as client:
        status, answer = partly_sent(client)
        assert status == 408
        assert b"body: expected within 0.2 s" in answer


def test_bodies_in_memory_are_bounded(
    pool: Any, serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "BODIES", 0.001)
    with serving(create_app(pool, max_body=1000, max_rows=10)) as client:
        answer = client.post("/v1/threshold?tpr=0.9", json={"embeddings": []})
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == str(intake.RETRY_SECONDS)
        monkeypatch.setattr(intake, "BODIES", 1)
        answer = client.post("/v1/threshold?tpr=0.9&model=birds", json={"embeddings": []})
        assert answer.status_code == 422  # what was refused is not held any more
