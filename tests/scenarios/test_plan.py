from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from opengcn.scenarios.folder import Source, find_sources
from opengcn.scenarios.methods import METHODS
from opengcn.scenarios.plan import plan_cells, plan_jobs

EVERYTHING = ("samedist", "shiftdist", "diffdist")


def source(path: Path) -> Source:
    (found,) = find_sources(path)
    return found


def test_methods_without_a_seed_run_once(pack: Callable[..., Path]) -> None:
    cells = plan_cells(
        source(pack()), scenarios=["samedist"], methods=["hard", "opengcn"], splits=3, seeds=2
    )
    assert sum(c.method == "hard" for c in cells) == 3
    assert sum(c.method == "opengcn" for c in cells) == 6
    assert len(set(cells)) == len(cells)


def test_the_long_tail_has_one_split(pack: Callable[..., Path]) -> None:
    cells = plan_cells(source(pack()), scenarios=["diffdist"], methods=["hard"], splits=5, seeds=1)
    assert sum(c.test == "tail" for c in cells) == 1
    assert sum(c.test == "zipf" for c in cells) == 5


def test_what_has_fewer_splits_is_run_with_more_seeds(pack: Callable[..., Path]) -> None:
    found = source(pack())
    for splits, seeds in ((5, 1), (3, 2), (1, 1)):
        cells = plan_cells(
            found,
            scenarios=["diffdist"],
            methods=["hi-lander", "dbscan"],
            splits=splits,
            seeds=seeds,
        )
        runs = [(c.split, c.seed) for c in cells if c.test == "tail" and c.method == "hi-lander"]
        assert runs == [(0, seed) for seed in range(splits * seeds)]
        zipf = [(c.split, c.seed) for c in cells if c.test == "zipf" and c.method == "hi-lander"]
        assert zipf == [(split, seed) for split in range(splits) for seed in range(seeds)]
        assert sum(c.test == "tail" and c.method == "dbscan" for c in cells) == 1


def test_as_many_runs_as_elsewhere_or_more(pack: Callable[..., Path]) -> None:
    found = replace(source(pack()), most_splits={"same": 2})
    for splits, seeds, runs in ((5, 1, (2, 3)), (4, 2, (2, 4)), (1, 1, (1, 1)), (2, 3, (2, 3))):
        cells = plan_cells(
            found, scenarios=["samedist"], methods=["opengcn"], splits=splits, seeds=seeds
        )
        assert ({c.split for c in cells}, {c.seed for c in cells}) == tuple(
            set(range(n)) for n in runs
        )
        assert len(cells) == runs[0] * runs[1]


def test_a_job_is_a_method_split_by_split(pack: Callable[..., Path]) -> None:
    found = source(pack("birds", "snow", "fog"))
    cells = plan_cells(found, scenarios=EVERYTHING, methods=["platt", "paper"], splits=3, seeds=1)
    jobs = plan_jobs(found, cells)
    # The slow one first; its further seeds are for the long tail alone.
    assert [job.cells[0].method for job in jobs] == ["paper"] * 3 + ["platt"]
    assert [c.test for job in jobs[1:3] for c in job.cells] == ["tail"] * 2
    for job in (jobs[0], jobs[-1]):
        assert [c.split for c in job.cells] == [0] * 4 + [1] * 4 + [2] * 4 + [0]
        assert job.cells[-1].test == "tail"
    assert {c for job in jobs for c in job.cells} == set(cells)


def test_ablations_run_in_their_scenario_only(pack: Callable[..., Path]) -> None:
    cells = plan_cells(
        source(pack()),
        scenarios=["samedist", "ablation"],
        methods=list(METHODS),
        splits=1,
        seeds=1,
    )
    assert {c.method for c in cells if c.scenario == "ablation"} == {
        *("paper-conn", "paper-avg", "paper-nbr", "paper-avg-40")
    }
    assert "paper-conn" not in {c.method for c in cells if c.scenario == "samedist"}
