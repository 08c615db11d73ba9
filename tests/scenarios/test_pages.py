from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from opengcn.scenarios.methods import ABLATIONS
from opengcn.scenarios.pages import write_pages
from opengcn.scenarios.results import Cell, Result

MakeResult = Callable[..., Result]


@pytest.fixture
def everything(result: MakeResult) -> dict[Cell, Result]:
    """Results in every scenario."""
    settings = [
        *(("samedist", "cub", "same"), ("ablation", "cub", "same")),
        *(("shiftdist", "cars", "snow"), ("shiftdist", "cars", "fog")),
        *(("diffdist", "cross_dogs_to_cub", "other"), ("diffdist", "longtail_caltech", "tail")),
    ]
    band = {"tpr_covered": 0.9, "tnr_covered": 0.9, "tpr_width": 0.1, "tnr_width": 0.1}
    strict = {"mae_hint": 0.01, "fpr_at_tnr_99": 0.01, "fpr_at_tnr_99.9": 0.001}
    found = {}
    for scenario, data, test in settings:
        usual = ("platt", "hard", "paper-pt", "paper", "opengcn")
        for method in ABLATIONS if scenario == "ablation" else usual:
            one = result(method, scenario=scenario, data=data, test=test, **band, **strict)
            found[one.cell] = one
            found[one.cell.truth] = Result(one.cell.truth, curves=one.curves)
    return found


def test_pages_hold_every_table_of_the_paper_and_every_figure(
    everything: dict[Cell, Result], tmp_path: Path
) -> None:
    assert write_pages(everything, tmp_path) == tmp_path / "index.md"
    text = {page.stem: page.read_text() for page in tmp_path.glob("*.md")}
    assert set(text) == {"index", "samedist", "shiftdist", "diffdist", "ablations"}
    for page in ("samedist", "shiftdist", "diffdist"):
        assert "paper's own figures, as printed" in text[page]
    assert "At a target" in text["samedist"]
    assert "is a substitute for iNaturalist to CUB" in text["diffdist"]
    assert "substitute for the tail of iNaturalist" in text["diffdist"]
    assert "L_conn" in text["ablations"]
    assert "The default OpenGCN in every setting" in text["index"]

    targets = [t for page in text.values() for t in re.findall(r"\]\(([^)]+)\)", page)]
    assert {"figures/shiftdist-cars.svg", "figures/ablations.svg"} < set(targets)
    for target in targets:
        assert (tmp_path / target).stat().st_size > 0, target
    drawn = {f"figures/{file.name}" for file in (tmp_path / "figures").iterdir()}
    assert drawn <= set(targets)


def test_links_to_figures_of_data_sets_with_spaces(result: MakeResult, tmp_path: Path) -> None:
    one = result("hard", data="my photos", scenario="shiftdist", test="snow")
    truth = Result(one.cell.truth, curves=one.curves)
    write_pages({one.cell: one, truth.cell: truth}, tmp_path)
    targets = re.findall(r"\]\((figures[^)]+)\)", (tmp_path / "shiftdist.md").read_text())
    assert len(targets) == 2
    for target in targets:
        assert " " not in target
        assert (tmp_path / unquote(target)).exists()


def test_splits_and_seeds_are_said(result: MakeResult, tmp_path: Path) -> None:
    found = [result("opengcn", data=data, split=s) for data in ("cub", "cars") for s in range(3)]
    tail = {"scenario": "diffdist", "data": "longtail_caltech", "test": "tail"}
    found += [result("opengcn", seed=seed, **tail) for seed in range(3)]
    found += [Result(r.cell.truth, curves=r.curves) for r in found]
    write_pages({r.cell: r for r in found}, tmp_path)
    text = (tmp_path / "index.md").read_text()
    assert "class splits and seeds: 3 and 1 (Caltech: Long tail 1 and 3);" in text


def test_failures_are_listed(result: MakeResult, tmp_path: Path) -> None:
    failed = result("hard", failure="birds.npz: no pair | at all")
    write_pages({failed.cell: failed}, tmp_path)
    text = (tmp_path / "index.md").read_text()
    assert "samedist, cub (same), split 0, hard, seed 0 | birds.npz: no pair \\| at all |" in text
