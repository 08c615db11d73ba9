"""`opengcn tenants` as a user meets it, crashes included."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import opengcn as og

Run = Callable[..., Any]


@pytest.fixture(scope="session")
def users(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file a tenant."""
    folder = tmp_path_factory.mktemp("users")
    test = np.load(files / "test.npy")
    for name, rows in {"ann": test[:100], "bob": test[100:], "eve": test[:3]}.items():
        np.save(folder / f"{name}.npy", rows)
    return folder


def rows(path: Path) -> dict[str, dict[str, Any]]:
    return {row["tenant"]: row for row in pq.read_table(path).to_pylist()}


def test_a_row_a_tenant(run: Run, files: Path, users: Path, tmp_path: Path) -> None:
    out = tmp_path / "thresholds.parquet"
    ran = run("tenants", files / "model.ogcn", users, "--tpr", "0.50", "-o", out, "--workers", 1)
    assert (ran.code, ran.err) == (0, "")
    assert "3: 2 ok, 1 too few samples" in ran.out
    assert str(out) in ran.out.replace("\n", "").replace(" ", "")
    found = rows(out)
    assert found["eve"]["status"] == "too few samples"
    for name in ("ann", "bob"):
        alone = run(
            "threshold", files / "model.ogcn", users / f"{name}.npy", "--tpr", 0.5, "--json"
        )
        assert alone.code == 0, alone.err
        answer = json.loads(alone.out)
        for column in ("distance", "cosine", "squared_l2", "tpr", "tnr", "tpr_low", "tnr_high"):
            assert found[name][column] == pytest.approx(answer[column], abs=1e-6)


def test_json_and_curves(run: Run, files: Path, users: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    ran = run(
        *("tenants", files / "model.ogcn", users, "--reject", "99%", "--confidence", 0.9),
        *("--curves", "--json", "--workers", 1, "-o", out),
    )
    answer = json.loads(ran.out)
    assert answer["status"] == {"ok": 2, "too few samples": 1}
    assert (answer["tenants"], answer["output"]) == (3, str(out))
    row = rows(out)["ann"]
    curve = og.OperatingCurve(row["curve_tpr"], row["curve_tnr"])
    assert curve.threshold(tnr=0.99).distance > row["distance"]  # confidence costs


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("DATA", "-o", "t.parquet"), 2, "expected one target, --find SHARE (--tpr) or"),
        (("DATA", "--tpr", "90", "-o", "t.parquet"), 2, "did you mean 90%?"),
        (("DATA", "--tpr", "0.9"), 2, "Missing option '--output'"),
        (("nowhere", "--tpr", "0.9", "-o", "t.parquet"), 1, "expected a file or a folder"),
        (("DATA", "--tpr", "0.9", "-o", "t.csv"), 1, "t.csv: expected a name in .parquet"),
        (("DATA", "--tpr", "0.9", "-o", "t.parquet", "--engine", "dask"), 2, "'dask'"),
        (
            ("DATA", "--tpr", "0.9", "-o", "t.parquet", "--address", "auto"),
            1,
            "address: expected with engine 'ray' only",
        ),
        (
            ("FILE", "--tpr", "0.9", "-o", "t.parquet"),
            1,
            "expected a column 'tenant', received 'embedding', 'label'",
        ),
    ],
)
def test_errors_are_one_line(
    arguments: tuple[str, ...],
    code: int,
    message: str,
    run: Run,
    files: Path,
    users: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    known = {"DATA": str(users), "FILE": str(files / "test.parquet")}
    ran = run("tenants", files / "model.ogcn", *(known.get(a, a) for a in arguments))
    assert ran.code == code
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_help_has_examples(run: Run) -> None:
    text = run("tenants", "--help").out
    assert "opengcn tenants model.ogcn users.parquet --tpr 0.90 -o thresholds.parquet" in text
    assert "--address" in text


@pytest.fixture
def many(files: Path, tmp_path: Path) -> Path:
    """Tenants that take some seconds."""
    folder = tmp_path / "many"
    folder.mkdir()
    test = np.load(files / "test.npy")
    for k in range(24):
        noise = np.random.default_rng(k).standard_normal((4000, 16), np.float32)
        np.save(folder / f"{k:02}.npy", np.resize(test, (4000, 16)) + 0.05 * noise)
    return folder


def started(*arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "opengcn", *map(str, arguments)], stderr=subprocess.PIPE
    )


def wait_for(happens: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.02)


def wait_for_parts(out: Path, count: int) -> None:
    parts = out.with_name(f"{out.name}.parts")
    wait_for(lambda: len(list(parts.glob("part-*"))) >= count)


def workers_of(driver: subprocess.Popen[bytes]) -> list[str]:
    children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
    return [pid for pid in children if b"LokyProcess" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.slow
def test_a_killed_driver_goes_on_where_it_was(
    process: Run, files: Path, many: Path, tmp_path: Path
) -> None:
    out = tmp_path / "t.parquet"
    command = ("tenants", files / "model.ogcn", many, "--tpr", 0.9, "-o", out)
    with started(*command) as first:
        wait_for_parts(out, 1)
        workers = workers_of(first)
        os.kill(first.pid, signal.SIGKILL)
    assert not out.exists()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    parts = list(out.with_name("t.parquet.parts").glob("part-*"))
    kept = {row["tenant"]: row for part in parts for row in pq.read_table(part).to_pylist()}
    assert 0 < len(kept) < 24
    done = process(*command)
    assert (done.returncode, done.stderr) == (0, b"")
    found = rows(out)
    assert len(found) == 24
    for name, row in kept.items():
        assert found[name] == row  # to the second: not done again
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many", "t.parquet"]


@pytest.mark.slow
def test_a_killed_worker_is_made_up_for(files: Path, many: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    with started("tenants", files / "model.ogcn", many, "--tpr", 0.9, "-o", out) as driver:
        wait_for_parts(out, 1)
        workers = workers_of(driver)
        assert len(workers) >= 2
        os.kill(int(workers[0]), signal.SIGKILL)
        _, errors = driver.communicate()
    assert (driver.returncode, errors) == (0, b"")
    assert {row["status"] for row in rows(out).values()} == {"ok"}


@pytest.mark.slow
def test_ray_stays_out_of_the_way(process: Run, files: Path, users: Path, tmp_path: Path) -> None:
    before = raylets()
    out = tmp_path / "t.parquet"
    done = process(
        *("tenants", files / "model.ogcn", users, "--tpr", 0.9, "--engine", "ray", "-o", out)
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert rows(out)["ann"]["status"] == "ok"
    assert raylets() <= before


def raylets() -> set[str]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"raylet/raylet" in (process / "cmdline").read_bytes():
                found.add(process.name)
        except OSError:  # gone meanwhile
            continue
    return found
