from __future__ import annotations

import json
from pathlib import Path

import pytest

import opengcn as og


@pytest.fixture
def sets(files: Path) -> tuple[str, ...]:
    return tuple(
        str(part)
        for name in ("train", "cal", "test")
        for part in (f"--{name}", files / f"{name}.parquet")
    )


def test_table_begins_with_the_best(run, sets: tuple[str, ...]) -> None:
    ran = run("compare", *sets, "--methods", "platt, hard,dbscan")
    assert ran.code == 0, ran.err
    names = [
        line.split()[0]
        for line in ran.out.splitlines()
        if line.split()[1:2] in (["1"], ["2"], ["3"])
    ]
    assert sorted(names) == ["dbscan", "hard", "platt"]
    assert "MAE_comb" in ran.out


def test_json_is_a_comparison(run, sets: tuple[str, ...]) -> None:
    ran = run("compare", *sets, "--methods", "isotonic,hard", "--json")
    found = og.Comparison.from_json(ran.out)
    assert [row.method for row in found.rows()] == ["isotonic", "hard"]
    assert json.loads(ran.out)["rows"][0]["mean"]["mae"] > 0


def test_every_name_in_the_help_is_known(run, files: Path) -> None:
    """The list of names in --help is text: it must not lag behind."""
    wrong = run("compare", "--train", "a", "--cal", "b", "--test", "c", "--methods", "x")
    assert wrong.code == 2
    known = wrong.err.partition("expected methods of ")[2].partition(", received")[0].split(", ")
    assert len(known) == 9
    text = run("compare", "--help").out
    for name in known:
        assert name in text


def test_sets_must_not_share_a_class(run, files: Path) -> None:
    same = ("--cal", files / "cal.npz", "--test", files / "cal.npz")
    ran = run("compare", "--train", files / "train.npz", *same, "--methods", "hard")
    assert ran.code == 1
    assert "expected classes of D_test that are not in D_cal" in ran.err
