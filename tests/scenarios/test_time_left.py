from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from opengcn.scenarios.results import Result
from opengcn.scenarios.time_left import TimeLeft

MakeResult = Callable[..., Result]


def test_nothing_known(result: MakeResult) -> None:
    assert math.isnan(TimeLeft([]).estimate([result("platt").cell], 2))


def test_cells_of_one_split_share_a_fit(result: MakeResult) -> None:
    known = [
        result("paper", split=0, fit=100, spent=101),
        result("paper", split=1, fit=40, spent=41),
        result("paper", split=1, test="zipf", fit=40, spent=1),
        result("paper", split=2, fit=40, spent=41),
    ]
    left = TimeLeft(known)
    done = [result("paper", split=2, test="zipf").cell]
    assert left.estimate(done, 1) == pytest.approx(1)
    new = [result("paper", split=s, test=t).cell for s in (3, 4) for t in ("same", "zipf")]
    assert left.estimate(new, 1) == pytest.approx(2 * 40 + 4 * 1)
    assert left.estimate(new, 2) == pytest.approx((2 * 40 + 4 * 1) / 2)


def test_the_first_fit_on_a_data_set_takes_longest(result: MakeResult) -> None:
    left = TimeLeft(
        [result("paper", split=s, fit=100 if s == 0 else 40, spent=200) for s in range(3)]
    )
    cells = [result("paper", data="cars", split=s).cell for s in range(2)]
    rest = ((200 - 100) + 2 * (200 - 40)) / 3
    assert left.estimate(cells, 1) == pytest.approx(100 + 40 + 2 * rest)


def test_another_seed_takes_as_long_as_the_first_one_did_on_the_same_data(
    result: MakeResult,
) -> None:
    known = [
        result("paper", data=data, split=s, fit=fit, spent=fit + 1)
        for data, fits in (("cub", (60, 20)), ("cars", (100, 40)))
        for s, fit in enumerate(fits)
    ]
    cells = [result("paper", data="cub", split=0, seed=seed).cell for seed in (1, 2)]
    assert TimeLeft(known).estimate(cells, 1) == pytest.approx(2 * (60 + 1))


def test_a_method_not_seen_yet_is_taken_for_the_others(result: MakeResult) -> None:
    left = TimeLeft([result("platt", fit=1, spent=2), result("beta", fit=3, spent=4)])
    assert left.estimate([result("dbscan").cell], 1) == pytest.approx(3 + 1)


def test_failures_say_nothing(result: MakeResult) -> None:
    assert math.isnan(TimeLeft([result("platt", failure="x")]).estimate([], 1))


def test_the_long_tail_has_a_fit_of_its_own(result: MakeResult) -> None:
    """Of a file that has both, its D_train being known, it must not pass for the first fit."""
    known = [
        result("paper", data="x", test="same", split=0, fit=100, spent=101),
        result("paper", data="x", test="tail", split=0, fit=5, spent=6),
    ]
    cells = [result("paper", data="x", test="tail", split=0, seed=seed).cell for seed in (1, 2)]
    assert TimeLeft(known).estimate(cells, 1) == pytest.approx(2 * (100 + 1))
