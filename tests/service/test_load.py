"""Hundreds of clients at once, of which some send rubbish: no wrong answer, flat memory."""

from __future__ import annotations

import asyncio
import json
import time
import warnings
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest

import opengcn as og


@dataclass(frozen=True)
class Request:
    """A request and what its answer must be: a status and, where it is 200, a threshold."""

    body: bytes
    headers: dict[str, str]
    status: int
    threshold: dict[str, Any] | None = None


@pytest.fixture(scope="module")
def requests(model: og.OpenGCN, rows: Any, encode: Any) -> list[Request]:
    """Good and bad ones, of every format and of several sizes."""
    rng = np.random.default_rng(0)
    found = []
    for kind in ("json", "arrow", "parquet", "npy", "npz"):
        for _ in range(4):
            part = rows[rng.permutation(len(rows))[: rng.integers(20, 120)]]
            with warnings.catch_warnings(action="ignore", category=og.OpenGCNWarning):
                right = model.estimate(part).threshold(tpr=0.9).to_dict()
            body, headers = encode(kind, part)
            found.append(Request(body, headers, 200, right))
            found.append(Request(body[: len(body) // 2], headers, 422))
        spoilt = rows.copy()
        spoilt[7, 3] = np.inf
        found.append(Request(*encode(kind, spoilt), 422))
        found.append(Request(*encode(kind, rows[:, :9]), 422))
    found.append(Request(b"{}", {"Content-Type": "text/plain"}, 415))
    return found


@dataclass
class Tally:
    """What many clients got."""

    right: int = 0
    busy: int = 0


async def client(
    http: httpx.AsyncClient, requests: list[Request], seed: int, until: float, tally: Tally
) -> None:
    """Send requests one after the other; go away when told to, and come back."""
    rng = np.random.default_rng(seed)
    while True:
        one = requests[rng.integers(len(requests))]
        answer = await http.post("/v1/threshold?tpr=0.9", content=one.body, headers=one.headers)
        if answer.status_code == 503:
            tally.busy += 1
            await asyncio.sleep(int(answer.headers["retry-after"]) * rng.uniform(0.5, 1.5))
            continue
        assert answer.status_code == one.status, answer.text
        if one.threshold is not None:
            assert json.loads(answer.content)["threshold"] == one.threshold
        tally.right += 1
        if time.monotonic() > until:
            return


async def crowd(url: str, requests: list[Request], clients: int, seconds: float) -> Tally:
    """Let many clients in, each until it has an answer after the time is over."""
    tally, until = Tally(), time.monotonic() + seconds
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with (
        httpx.AsyncClient(base_url=url, limits=limits, timeout=120) as http,
        asyncio.TaskGroup() as group,
    ):
        for seed in range(clients):
            group.create_task(client(http, requests, seed, until, tally))
    return tally


def test_three_hundred_clients(service: Any, requests: list[Request]) -> None:
    asyncio.run(crowd(service.url, requests, 20, 1))  # workers have seen every format
    before = service.memory()
    tally = asyncio.run(crowd(service.url, requests, 300, 5))
    assert tally.right >= 300
    assert tally.busy > 0  # 128 may wait
    assert service.memory() < before + 60_000_000
    assert httpx.get(f"{service.url}/readyz").status_code == 200


@pytest.mark.slow
def test_soak(service: Any, requests: list[Request]) -> None:
    """Some minutes, with clients that come and go; memory is the same at the end."""
    asyncio.run(crowd(service.url, requests, 100, 20))
    before, right = service.memory(), 0
    for _ in range(12):
        right += asyncio.run(crowd(service.url, requests, 200, 15)).right
    assert right > 1000
    assert service.memory() < before + 60_000_000
    assert "opengcn_workers_replaced 0.0" in httpx.get(f"{service.url}/metrics").text
