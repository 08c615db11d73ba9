"""Real processes, and one of them killed."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pytest

from opengcn.scenarios.folder import find_sources
from opengcn.scenarios.plan import plan_cells, plan_jobs
from opengcn.scenarios.results import Result
from opengcn.scenarios.runner import run_jobs


def test_a_killed_process_costs_one_cell(pack: Callable[..., Path]) -> None:
    (source,) = find_sources(pack("birds", "snow", "fog"))
    cells = plan_cells(
        source, scenarios=["samedist", "shiftdist"], methods=["hard"], splits=4, seeds=1
    )
    kept: list[Result] = []
    others = multiprocessing.active_children()  # of other tests, as joblib's

    def keep(results: list[Result]) -> None:
        kept.append(results[0])
        if len(kept) == 2:
            (worker,) = set(multiprocessing.active_children()) - set(others)
            worker.kill()

    run_jobs(plan_jobs(source, cells), 1, keep)
    assert {r.cell for r in kept} == set(cells)
    assert len(kept) == len(cells)
    failed = [r for r in kept if r.failure]
    assert len(failed) <= 1  # none, if all results were on their way when it was killed
    for result in failed:
        assert result.failure.startswith("its process ended with exit code -9")
    assert set(multiprocessing.active_children()) <= set(others)


def test_an_interrupt_leaves_no_process_behind(pack: Callable[..., Path]) -> None:
    (source,) = find_sources(pack())
    cells = plan_cells(source, scenarios=["samedist"], methods=["hard"], splits=3, seeds=1)

    others = multiprocessing.active_children()

    def keep(results: list[Result]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs(plan_jobs(source, cells), 2, keep)
    assert set(multiprocessing.active_children()) <= set(others)
