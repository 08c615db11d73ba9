from __future__ import annotations

from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcn import Threshold
from opengcn.report.target import Target
from opengcn.report.wording import interval, percent, strangers, true_share

NAN = float("nan")


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{EN DASH}", "-")


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.9, "90.0 %"),
        (0.9697, "97.0 %"),
        (0.9954, "99.54 %"),
        (0.99954, "99.954 %"),
        (0.9999999, "99.9999 %"),
        (1.0, "100 %"),
        (0.0, "0.0 %"),
        (0.00041, "0.041 %"),
        (NAN, "unknown"),
    ],
)
def test_percent(rate: float, text: str) -> None:
    assert plain(percent(rate)) == text


@given(st.floats(0, 1), st.sampled_from([None, 1, 2]))
def test_percent_is_near_the_rate_and_100_only_for_all(rate: float, digits: int | None) -> None:
    text = percent(rate, digits)
    assert float(text.split("\N{NO-BREAK SPACE}")[0]) == pytest.approx(100 * rate, abs=0.101)
    assert text.startswith("100") == (rate == 1)


def test_interval_gives_both_ends_the_same_decimals() -> None:
    assert plain(interval(0.704, 0.9954)) == "70.40-99.54 %"
    assert plain(interval(0.9, 1.0)) == "90.0-100 %"
    assert interval(NAN, NAN) == "none"


@pytest.mark.parametrize(
    ("tnr", "text"),
    [
        (0.9697, "about 1 in 33 strangers gets through"),
        (0.99988, "about 1 in 8,300 strangers gets through"),
        (0.75, "25.0 % of the strangers get through"),
        (1.0, "no stranger gets through"),
        (NAN, "how many strangers get through is unknown"),
    ],
)
def test_strangers(tnr: float, text: str) -> None:
    assert plain(strangers(tnr)) == text


def test_share_of_true_matches_among_the_matches() -> None:
    # Of 1,000 pairs 10 are same-class: 9 of them match, and 99 of the 990 others.
    assert true_share(Threshold(1.0, 0.9, 0.9), 0.01) == pytest.approx(9 / (9 + 99))
    assert isnan(true_share(Threshold(0.0, 0.0, 1.0), 0.01))  # nothing matches
    assert isnan(true_share(Threshold(1.0, 0.9, 0.9), None))


@pytest.mark.parametrize(
    ("asked", "target", "task"),
    [
        ("tpr >= 0.9", Target("tpr", 0.9), "find 90 % of the true matches"),
        ("tnr >= 0.9999", Target("tnr", 0.9999), "reject 99.99 % of the strangers"),
        (
            "tnr >= 0.999 with confidence 0.95",
            Target("tnr", 0.999, 0.95),
            "reject 99.9 % of the strangers, with a confidence of 95 %",
        ),
    ],
)
def test_target_is_read_from_a_threshold(asked: str, target: Target, task: str) -> None:
    found = Target.of(Threshold(1.0, target=asked))
    assert found == target
    assert plain(found.task) == task


@pytest.mark.parametrize("asked", ["", "by eye", "tpr >= 0.9 or so", "fnr >= 0.1"])
def test_what_is_no_target_is_none(asked: str) -> None:
    assert Target.of(Threshold(1.0, target=asked)) is None


def test_targets_of_real_thresholds_are_read(estimate) -> None:
    for options in ({"tpr": 0.9}, {"tnr": 0.999}, {"tpr": 1e-05}, {"tnr": 0.9, "confidence": 0.8}):
        found = Target.of(estimate.threshold(**options))
        assert found is not None
        assert found.value == pytest.approx(options.get(found.rate))
        assert found.confidence == options.get("confidence")
