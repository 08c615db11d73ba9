from __future__ import annotations

import json

import pytest


def test_one_metric_to_another_with_the_direction(run) -> None:
    ran = run("convert", "1", "--from", "l2", "--to", "cosine")
    assert ran.code == 0
    assert ran.out == "match if cosine similarity > 0.5000 (the same as distance < 1.0000)\n"


def test_json_has_all_digits_and_the_rule(run) -> None:
    answer = json.loads(run("convert", "0.93", "--from", "l2", "--json").out)
    assert answer["to"]["cosine"]["value"] == pytest.approx(1 - 0.93**2 / 2, abs=1e-15)
    assert answer["to"]["cosine"]["rule"] == "match if cosine similarity > 0.5675"
    assert set(answer["to"]) == {"l2", "squared_l2", "cosine", "cosine_distance"}


def test_a_number_without_its_metric(run) -> None:
    """1.28 can be no cosine similarity; what it would mean in the others is said."""
    ran = run("convert", "1.28")
    assert "squared_l2" in ran.out
    assert "> 0.3600" in ran.out
    answer = json.loads(run("convert", "1.28", "--json").out)
    assert [one["from"] for one in answer["readings"]] == ["l2", "squared_l2", "cosine_distance"]


def test_a_negative_cosine_is_a_number_not_an_option(run) -> None:
    ran = run("convert", "-0.5", "--from", "cosine", "--to", "squared_l2")
    assert ran.out.startswith("match if squared L2 distance < 3.0000")


def test_a_column_of_numbers(run) -> None:
    ran = run("convert", "-", "--from", "l2", "--to", "cosine", given=b"1\n0.5\n")
    assert ran.out == "0.5\n0.875\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("1.28", "--from", "cosine"), 1, "range of cosine, received 1.28, which can be l2, "),
        (("7",), 1, "expected a number in the range of a metric, received 7"),
        (("nan", "--from", "l2"), 1, "range of l2, received nan"),
        (("many",), 1, "expected a number, received 'many'"),
        (("1", "--from", "euclid"), 2, "'euclid' is not one of 'l2'"),
        (("-",), 2, "expected --from and --to beside -"),
        (("1", "--form", "l2"), 2, "--form"),
    ],
)
def test_errors(run, arguments: tuple[str, ...], code: int, message: str) -> None:
    ran = run("convert", *arguments)
    assert ran.code == code
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.out == ""
