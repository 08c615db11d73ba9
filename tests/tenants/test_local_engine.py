from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opengcn as og
from opengcn.tenants.engine import Failure, open_engine

SCRIPT = """
from opengcn.tenants.engine import open_engine

print("once")  # a script without `if __name__ == "__main__"` must not run twice
results = dict(open_engine("local", workers=2).run(pow, 3, range(5)))
assert results == {k: 3**k for k in range(5)}, results
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_has_its_result(workers: int, scaled: Callable[..., Any]) -> None:
    by = np.arange(300_000.0)
    found = dict(open_engine("local", workers=workers).run(scaled, by, iter(range(6))))
    assert [found[k][0] for k in (0, 1, 2, 5)] == [0, 1, 2, 5]
    assert found[3] == Failure("three: expected another number")
    assert found[4] == Failure("unexpected RuntimeError('bug')")
    assert found[0][1] is (workers == 1)  # large arrays are shared, not copied


def test_a_killed_worker_costs_nothing_but_time(tmp_path: Path, dies: Callable[..., Any]) -> None:
    tasks = ["a", "b", "once", "c", "always", *"defgh"]
    found = dict(open_engine("local", workers=2).run(dies, tmp_path, tasks))
    assert found.pop("always") == Failure("the worker process died (killed, or out of memory)")
    assert found == {task: task for task in tasks if task != "always"}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_uses_one_core(workers: int) -> None:
    def work(shared: None, task: int) -> tuple[int, int]:
        import threadpoolctl

        from opengcn.threads import cores

        return cores(), max(one["num_threads"] for one in threadpoolctl.threadpool_info())

    found = dict(open_engine("local", workers=workers).run(work, None, range(3)))
    assert {count for count, _ in found.values()} == {1}
    if workers > 1:
        assert {threads for _, threads in found.values()} == {1}


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "once\n", "")


def test_settings_are_checked() -> None:
    with pytest.raises(og.OpenGCNError, match="workers: expected 1 or more, received 0"):
        open_engine("local", workers=0)
    with pytest.raises(og.OpenGCNError, match="engine: expected 'local' or 'ray', received 'dask'"):
        open_engine("dask")  # type: ignore[arg-type]
    with pytest.raises(og.OpenGCNError, match="address: expected with engine 'ray' only"):
        open_engine("local", address="auto")
