from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--tpr", "1.5"), 2, "expected a share such as 90% or 0.9, received '1.5'"),
        (("--find", "0%"), 2, "expected a share such as 90% or 0.9, received '0%'"),
        (("--out", "picture.xyz"), 1, "picture.xyz: expected a picture in .png, .svg or .pdf"),
        (("--out", "picture"), 1, "picture: expected a picture in .png, .svg or .pdf"),
        (("--out", "."), 1, "received a folder"),
    ],
)
def test_errors_are_one_line(
    run,
    arguments: tuple[str, ...],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("demo", *arguments)
    assert ran.code == code
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_demo_tells_the_story(process, tmp_path: Path) -> None:
    ran = process("demo", "--out", tmp_path / "new.png", "--json")
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    for test in ("sharp", "blurred"):
        rows = answer["tests"][test]
        assert rows["truth"]["tpr"] == pytest.approx(0.9, abs=0.01)
        assert len(rows) == 9
    blurred = answer["tests"]["blurred"]
    # What the demonstration is there to show.
    assert blurred["OpenGCN"]["mae"] < min(
        row["mae"] for name, row in blurred.items() if name not in ("OpenGCN", "truth")
    )
    told = ran.stderr.decode().replace("\N{NO-BREAK SPACE}", " ")
    for expected in (
        "truth (needs labels)",
        "the calibration set would have found",
        "instead of 90 %",
    ):
        assert expected in " ".join(told.split())
    assert (tmp_path / "new.png").stat().st_size > 10_000
    assert (tmp_path / "new.html").read_text(encoding="utf-8").startswith("<!doctype html>")
