from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pytest

from opengcn.scenarios.details import cost_table, opengcn_table
from opengcn.scenarios.results import Cell, Result
from opengcn.scenarios.summary import Column, columns_of, entries
from opengcn.scenarios.tables import (
    as_printed,
    global_table,
    loss_table,
    pointwise_table,
    stage_table,
)

MakeResult = Callable[..., Result]


def by_cell(results: Iterable[Result]) -> dict[Cell, Result]:
    return {r.cell: r for r in results}


def row(table: str, title: str) -> list[str]:
    (line,) = (x for x in table.split("\n") if re.match(rf"\| \**{re.escape(title)}", x))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture
def two_sets(result: MakeResult) -> dict[Cell, Result]:
    """Three methods on two data sets and two splits."""
    errors = {
        ("platt", "cub"): (0.04, 0.06),
        ("platt", "cars"): (0.02, 0.02),
        ("hard", "cub"): (0.02, 0.04),
        ("hard", "cars"): (0.03, 0.03),
        ("opengcn", "cub"): (0.01, 0.01),
        ("opengcn", "cars"): (0.01, 0.03),
    }
    return by_cell(
        result(method, error, data=data, split=split)
        for (method, data), pair in errors.items()
        for split, error in enumerate(pair)
    )


def test_mean_spread_and_marks(two_sets: dict[Cell, Result]) -> None:
    columns = columns_of(two_sets, "samedist")
    assert columns == [Column("cars", "same"), Column("cub", "same")]
    table = global_table(two_sets, "samedist", columns)
    assert row(table, "method")[:3] == ["method", "Cars", "CUB"]
    assert row(table, "Platt")[1:3] == ["**2.00 ± 0.00**", "5.00 ± 1.41"]
    assert row(table, "OpenGCN*")[1:3] == ["**2.00 ± 1.41**", "**1.00 ± 0.00**"]  # a tie
    assert row(table, "Hard")[1:3] == ["*3.00 ± 0.00*", "*3.00 ± 1.41*"]


def test_ranks_by_mean_and_by_column(two_sets: dict[Cell, Result]) -> None:
    table = global_table(two_sets, "samedist", columns_of(two_sets, "samedist"))
    # Means over the columns: OpenGCN 1.5, hard 3, Platt 3.5.
    assert row(table, "OpenGCN*")[3:] == ["1", "1.0"]
    assert row(table, "Hard")[3:] == ["2", "2.5"]
    assert row(table, "Platt")[3:] == ["3", "2.0"]


def test_improvement_over_the_best_baseline(two_sets: dict[Cell, Result]) -> None:
    table = global_table(two_sets, "samedist", columns_of(two_sets, "samedist"))
    assert row(table, "OpenGCN: below the best")[1:4] == ["0%", "80%", "40% (avg.)"]
    assert row(table, "OpenGCN: below the hard")[1:4] == ["33%", "67%", "50% (avg.)"]


def test_a_method_with_fewer_splits_is_noted(
    two_sets: dict[Cell, Result], result: MakeResult
) -> None:
    failed = result("platt", data="cub", split=1, failure="no pair | at all")
    table = global_table(two_sets | by_cell([failed]), "samedist", columns_of(two_sets, "samedist"))
    assert row(table, "Platt")[1:3] == ["**2.00 ± 0.00**", "4.00"]
    assert "Platt scaling has 1 of 2 splits on CUB: no pair | at all" in table


def test_a_method_with_fewer_seeds_is_noted(
    two_sets: dict[Cell, Result], result: MakeResult
) -> None:
    more = by_cell(
        [
            result("opengcn", 0.05, data="cub", split=0, seed=1),
            result("opengcn", data="cub", split=0, seed=2, failure="no memory"),
        ]
    )
    table = global_table(two_sets | more, "samedist", columns_of(two_sets, "samedist"))
    assert "OpenGCN has 3 of 4 runs on CUB: no memory" in table
    assert table.count(" runs on ") == 1


def test_a_method_that_always_failed(result: MakeResult) -> None:
    results = by_cell([result("platt", failure="no pair"), result("hard", 0.02)])
    table = global_table(results, "samedist", columns_of(results, "samedist"))
    assert row(table, "Platt")[1:] == ["failed", "2", "2.0"]


def test_severities_are_averaged_before_the_spread(result: MakeResult) -> None:
    results = by_cell(
        result("hard", error, scenario="shiftdist", data="cars", test=f"snow-{s}", split=split)
        for split, errors in enumerate([(0.01, 0.03), (0.03, 0.05)])
        for s, error in zip((1, 5), errors, strict=True)
    )
    (column,) = columns_of(results, "shiftdist")
    entry = entries(results, "shiftdist", column)["hard"]
    assert entry.mean == pytest.approx(0.03)
    assert sorted(entry.runs) == pytest.approx([0.02, 0.04])


def test_corruptions_are_named_as_in_the_paper(result: MakeResult) -> None:
    results = by_cell(
        result("hard", 0.1, scenario="shiftdist", data="cars", test=test)
        for test in ("fog", "gaussian_noise")
    )
    table = global_table(results, "shiftdist", columns_of(results, "shiftdist"))
    assert row(table, "method")[1:3] == ["Noise<br>Gauss", "Weather<br>Fog"]


def test_pointwise(result: MakeResult) -> None:
    results = by_cell([result("hard", 0.1, ae_tnr_90=0.0123), result("platt", 0.2)])
    table = pointwise_table(results, columns_of(results, "samedist"))
    assert row(table, "method")[1:5] == [
        *("TPR=80 %<br>CUB", "TPR=90 %<br>CUB", "TNR=80 %<br>CUB", "TNR=90 %<br>CUB")
    ]
    assert row(table, "Hard")[4] == "**1.23**"
    assert row(table, "Platt")[1] == "*20.00*"


def test_stages_show_the_gain_of_the_second(result: MakeResult) -> None:
    results = by_cell([result("paper-pt", 0.04), result("paper", 0.03)])
    table = stage_table(results)
    assert row(table, "OpenGCN, paper (PT+FT)")[1] == "3.00 (25%)"
    assert stage_table({}) == ""


def test_losses_beside_the_best_baseline_and_the_paper(result: MakeResult) -> None:
    parts = {"paper-conn": 0.01, "paper-avg": 0.02, "paper-nbr": 0.03, "paper-avg-40": 0.04}
    results = by_cell(
        [
            *(result(m, e, scenario="ablation") for m, e in parts.items()),
            *(result("platt", 0.06), result("beta", 0.05), result("paper", 0.07)),
        ]
    )
    table = loss_table(results)
    assert row(table, "CUB")[1:] == [
        *("5.00 (Beta calibration)", "1.00", "2.00", "3.00", "7.00", "4.00")
    ]
    assert row(table, "iNaturalist")[1:] == ["1.18", "0.625", "0.537", "0.512", "0.482", "-"]


def test_printed_tables_are_marked_as_such() -> None:
    table = as_printed("samedist_global")
    assert "paper's figures" in row(table, "method")[0]
    assert row(table, "OpenGCN")[1:] == ["**0.525**", "**0.650**", "**0.482**", "1"]
    assert row(table, "Hi-LANDER")[1:3] == ["*1.29*", "*1.94*"]
    assert row(table, "improvement")[-1] == "69.14 % (avg.)"
    assert row(as_printed("samedist_pointwise"), "Beta")[4] == "**0.0200**"


def test_details_of_the_default(result: MakeResult) -> None:
    extra = {
        "mae_hint": 0.005,
        "fpr_at_tnr_99": 0.011,
        "fpr_at_tnr_99.9": 0.0012,
        **dict.fromkeys(("tpr_covered", "tnr_covered"), 0.9),
        **dict.fromkeys(("tpr_width", "tnr_width"), 0.1),
    }
    results = by_cell(
        [
            *(result("opengcn", e, split=s, **extra) for s, e in enumerate((0.01, 0.03))),
            *(result("hard", 0.025, split=s) for s in range(2)),
            *(result("beta", 0.04, split=s) for s in range(2)),
        ]
    )
    cells = row(opengcn_table(results), "SameDist, CUB")
    assert cells[1:8] == [
        *("0.0200 ± 0.0141", "0.0250", "0.0400 (Beta calibration)", "20%", "50%"),
        *("+0.0050", "0.0050"),
    ]
    assert cells[10:] == ["1.10", "1.20", "90%", "0.100", "90%", "0.100"]
    assert opengcn_table(by_cell([result("hard")])) == ""


def test_cost_counts_a_shared_fit_once(result: MakeResult) -> None:
    results = by_cell(
        [
            result("paper", fit=10, spent=11),
            result("paper", fit=10, spent=1, test="zipf", scenario="diffdist"),
            result("paper", fit=4, spent=5, split=1),
        ]
    )
    assert row(cost_table(results), "OpenGCN, paper")[1:] == ["3", "7.00", "0.10", "17 s"]
