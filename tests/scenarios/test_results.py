from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from opengcn.errors import DataError
from opengcn.scenarios.results import Result, append_results, read_results

MakeResult = Callable[..., Result]


def test_what_was_written_is_read(tmp_path: Path, result: MakeResult) -> None:
    file = tmp_path / "new" / "results.jsonl"
    first, second = result("platt", ae_tpr_95=float("nan")), result("beta", failure="no pair")
    append_results(file, [first])
    append_results(file, [second])
    read = read_results(file)
    assert list(read) == [first.cell, second.cell]
    assert read[second.cell] == second
    assert np.isnan(read[first.cell].values["ae_tpr_95"])
    assert read[first.cell].curves == first.curves


def test_no_file_is_no_result(tmp_path: Path) -> None:
    assert read_results(tmp_path / "results.jsonl") == {}


def test_the_last_line_of_a_cell_counts(tmp_path: Path, result: MakeResult) -> None:
    file = tmp_path / "results.jsonl"
    append_results(file, [result("platt", failure="killed"), result("platt", 0.2)])
    (read,) = read_results(file).values()
    assert read.values["mae"] == 0.2


def test_results_of_replaced_data_are_left_out(tmp_path: Path, result: MakeResult) -> None:
    file = tmp_path / "results.jsonl"
    platt, beta = result("platt"), result("beta")
    for name, ones in (("old", [platt, beta]), ("new", [beta])):
        truth = Result(beta.cell.truth, curves=beta.curves)
        append_results(file, [replace(r, fingerprint=name) for r in (truth, *ones)])
    assert list(read_results(file)) == [beta.cell.truth, beta.cell]


@pytest.mark.parametrize("kept", [1, 5, 300, -1])
def test_a_cut_line_is_passed_over_and_then_removed(
    tmp_path: Path, result: MakeResult, kept: int
) -> None:
    file = tmp_path / "results.jsonl"
    append_results(file, [result("platt")])
    whole = file.read_bytes()
    append_results(file, [result("beta")])
    cut = file.read_bytes()[len(whole) :][:kept]
    file.write_bytes(whole + cut)
    assert [cell.method for cell in read_results(file)] == ["platt"]
    append_results(file, [result("isotonic")])
    assert [cell.method for cell in read_results(file)] == ["platt", "isotonic"]


def test_a_cut_first_line(tmp_path: Path, result: MakeResult) -> None:
    file = tmp_path / "results.jsonl"
    append_results(file, [result("platt")])
    file.write_bytes(file.read_bytes()[:200])
    assert read_results(file) == {}
    append_results(file, [result("beta")])
    assert [cell.method for cell in read_results(file)] == ["beta"]


def test_a_cut_line_longer_than_a_block(tmp_path: Path, result: MakeResult) -> None:
    file = tmp_path / "results.jsonl"
    append_results(file, [result("platt")])
    with file.open("ab") as handle:
        handle.write(b'{"cell":' + b" " * 200_000)
    append_results(file, [result("beta")])
    assert [cell.method for cell in read_results(file)] == ["platt", "beta"]


def test_damage_elsewhere_is_an_error(tmp_path: Path, result: MakeResult) -> None:
    file = tmp_path / "results.jsonl"
    append_results(file, [result("platt"), result("beta")])
    lines = file.read_bytes().split(b"\n")
    file.write_bytes(b"\n".join([lines[0][:50], *lines[1:]]))
    with pytest.raises(DataError, match=r"results.jsonl: line 1: expected a result"):
        read_results(file)


@pytest.mark.parametrize("text", ["my notes", "my notes\n", "{}\n", "[1, 2]"])
def test_another_file_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(text)
    with pytest.raises(DataError, match=r"notes.txt"):
        read_results(file)
    assert file.read_text() == text
