from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opengcn as og
from opengcn.errors import DataError
from opengcn.scenarios.benchmark import run_benchmark
from opengcn.scenarios.cells import CellRunner
from opengcn.scenarios.methods import METHODS, Method
from opengcn.scenarios.plan import Job
from opengcn.scenarios.results import Result, read_results

MakePack = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run `birds.npz` in this process; return how many lines are added to the results."""

    def here(jobs: list[Job], processes: int, keep: Callable[[list[Result]], None]) -> None:
        runner = CellRunner()
        for job in jobs:
            for results in runner.run(job):
                keep(results)

    monkeypatch.setattr("opengcn.scenarios.benchmark.run_jobs", here)

    def run(*scenarios: str, methods: tuple[str, ...] = ("platt",), splits: int = 1) -> int:
        file = tmp_path / "results.jsonl"
        before = file.read_bytes().count(b"\n") if file.exists() else 0
        run_benchmark(
            tmp_path / "birds.npz",
            file,
            scenarios=scenarios or ("samedist",),
            methods=methods,
            splits=splits,
            seeds=1,
            processes=1,
        )
        return file.read_bytes().count(b"\n") - before

    return run


def test_only_what_is_missing_runs(pack: MakePack, run: Callable[..., int]) -> None:
    pack("birds")
    assert run() == 2  # the cell and the exact curve
    assert run() == 0
    assert run(splits=3) == 4
    assert run(splits=3, methods=("platt", "beta")) == 3  # exact curves are there


def test_results_of_other_data_or_another_version_run_anew(
    pack: MakePack, run: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pack("birds")
    assert run() == 2
    pack("birds", seed=1)
    assert run() == 2
    monkeypatch.setattr("opengcn.scenarios.benchmark.__version__", "9.9")
    assert run() == 1  # the exact curve does not depend on the version


def test_cells_hold_what_tables_and_figures_need(
    pack: MakePack, run: Callable[..., int], tmp_path: Path
) -> None:
    pack("birds", "snow")
    run("samedist", "shiftdist", methods=("hard",))
    results = read_results(tmp_path / "results.jsonl")
    estimates = [r for r in results.values() if not r.is_truth]
    assert {r.cell.test for r in estimates} == {"same", "snow"}
    for result in estimates:
        assert {"mae", "mae_tpr", "mae_tnr", "ae_tpr_80", "fpr_at_tnr_99.9"} <= set(result.values)
        assert result.values["mae"] == pytest.approx(
            result.values["mae_tpr"] + result.values["mae_tnr"], abs=1e-6
        )
        assert {len(rate) for rate in result.curves.values()} == {201}
        assert {"opengcn", "torch", "machine"} <= set(result.made_by)
        assert result.cell.truth in results
    fits = {r.seconds["fit"] for r in estimates}
    assert len(fits) == 1  # one fit for both test sets


def test_a_failing_test_set_does_not_stop_the_others(
    pack: MakePack, run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = np.random.default_rng(0).standard_normal((20, 5)).astype(np.float16)
    pack("birds", test_E=wrong, test_y=np.arange(20) // 4)
    run("samedist", "diffdist", methods=("hard",))
    results = read_results(tmp_path / "results.jsonl")
    failures = {r.cell.test: r.failure for r in results.values() if r.failure}
    assert set(failures) == {"other"}
    assert "expected dimension 16" in failures["other"]
    assert {r.cell.test for r in results.values() if not r.failure} == {"same", "tail", "zipf"}
    assert "failed: diffdist, birds (other)" in capsys.readouterr().err
    assert run("samedist", "diffdist", methods=("hard",)) == 1  # it is tried again


def test_a_failing_fit_is_told_for_each_test_set(
    pack: MakePack, run: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits = 0

    def fail(*_: object) -> None:
        nonlocal fits
        fits += 1
        raise MemoryError("no room\nfor it")

    monkeypatch.setattr("opengcn.calibrators.split_curve.SplitCurve._fit", fail)
    pack("birds", "snow", "fog")
    run("samedist", "shiftdist", methods=("hard",))
    results = read_results(tmp_path / "results.jsonl").values()
    assert [r.failure for r in results] == ["MemoryError: no room for it"] * 3
    assert fits == 1


def test_nothing_to_run_is_an_error(pack: MakePack, run: Callable[..., int]) -> None:
    pack("birds")
    message = r"birds.npz: expected data for shiftdist, received some that allow samedist, diff"
    with pytest.raises(DataError, match=message):
        run("shiftdist")
    with pytest.raises(og.OpenGCNError, match="methods: expected some that run in ablation, rec"):
        run("ablation", methods=("hard",))


def test_an_embedder_needs_images(pack: MakePack, tmp_path: Path) -> None:
    file = pack("birds")
    with pytest.raises(DataError, match=r"birds.npz: expected images for an embedder"):
        run_benchmark(
            file,
            tmp_path / "results.jsonl",
            scenarios=("samedist",),
            methods=("hard",),
            splits=1,
            seeds=1,
            processes=1,
            embedder_file=tmp_path / "e.safetensors",
        )


class Hinted(og.SplitCurve):
    """Answers in another way when it is told the number of classes."""

    def estimate(
        self, test_X: og.EmbeddingSet, *, n_classes: int | None = None
    ) -> og.OperatingCurve:
        assert test_X.labels is None
        curve = super().estimate(test_X)
        if n_classes is None:
            band = {f"{rate}_{side}": getattr(curve, rate) for rate in RATES for side in SIDES}
            return og.OperatingCurve(curve.tpr, curve.tnr, **band)
        assert n_classes == 10
        rates = np.full(201, 0.5)
        return og.OperatingCurve(rates, rates)


RATES, SIDES = ("tpr", "tnr"), ("low", "high")


def test_the_hint_and_the_band_are_measured(
    pack: MakePack, run: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = Method("opengcn", "", lambda seed: Hinted(), seeded=True, hint=True)
    monkeypatch.setitem(METHODS, "opengcn", stand_in)
    pack("birds")
    run(methods=("opengcn",))
    (result,) = (r for r in read_results(tmp_path / "results.jsonl").values() if not r.is_truth)
    truth = read_results(tmp_path / "results.jsonl")[result.cell.truth].curves
    errors = [np.abs(np.array(truth[rate]) - 0.5) for rate in RATES]
    assert result.values["mae_hint"] == pytest.approx(
        0.5 * sum(np.trapezoid(e, dx=0.01) for e in errors), abs=1e-4
    )
    assert result.values["tpr_width"] == 0
    assert result.values["tpr_covered"] < 0.5
    assert len(result.curves["tnr_low"]) == 201
