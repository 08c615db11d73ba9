"""The transcription, checked against what the paper prints twice."""

from __future__ import annotations

import pytest

from opengcn.scenarios.definitions import CORRUPTIONS
from opengcn.scenarios.methods import BASELINES
from opengcn.scenarios.paper_results import paper_source, paper_table


@pytest.mark.parametrize("name", ["samedist_global", "shiftdist", "diffdist"])
def test_improvements_follow_from_the_rows(name: str) -> None:
    table = paper_table(name)
    for i, printed in enumerate(table.improvement):
        best = min(table.rows[m][i] for m in BASELINES)
        assert 100 * (1 - table.rows["paper"][i] / best) == pytest.approx(printed, abs=0.01)


@pytest.mark.parametrize(
    "name",
    [
        *("samedist_pointwise", "samedist_global", "shiftdist", "diffdist"),
        *("loss_ablation", "two_stage_ablation"),
    ],
)
def test_every_row_fills_its_columns(name: str) -> None:
    table = paper_table(name)
    assert {len(row) for row in table.rows.values()} == {len(table.columns)}
    assert set(table.rank) in (set(), set(table.rows))


def test_columns_of_the_corruptions_are_ours() -> None:
    assert paper_table("shiftdist").columns == list(CORRUPTIONS.values())


def test_numbers_that_several_tables_share() -> None:
    whole = paper_table("samedist_global").rows["paper"]
    assert paper_table("two_stage_ablation").rows["paper"] == whole
    assert paper_table("loss_ablation").rows["paper"] == [whole[2]]
    gains = [
        1 - after / before
        for before, after in zip(*paper_table("two_stage_ablation").rows.values(), strict=True)
    ]
    assert [round(100 * g, 1) for g in gains] == [81.9, 74.2, 86.4]  # printed in brackets


def test_source_is_named() -> None:
    assert "CVPR" in paper_source()
