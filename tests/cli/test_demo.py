"""The command line as a user meets it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import opengcn as og


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "opengcn", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"},
        check=False,
    )


def test_version() -> None:
    assert run("--version").stdout.strip() == f"opengcn {og.__version__}"


def test_help_tells_what_the_demo_does() -> None:
    text = run("demo", "--help").stdout
    assert "--tpr" in text
    assert "characters" in text
    assert "OPENGCN_CACHE" in text


def test_no_command_is_help() -> None:
    assert "demo" in run().stdout


def test_unknown_command() -> None:
    result = run("guess")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tpr", "1.5"), "opengcn: tpr: expected a share in (0, 1], received 1.5"),
        (("--tpr", "0"), "opengcn: tpr: expected a share in (0, 1], received 0.0"),
        (
            ("--out", "picture.xyz"),
            "opengcn: picture.xyz: expected a picture in .png, .svg or .pdf",
        ),
        (("--out", "picture"), "opengcn: picture: expected a picture in .png, .svg or .pdf"),
    ],
)
def test_errors_are_one_line(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = run("demo", *arguments, cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.strip() == message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_demo_runs_and_draws(tmp_path: Path) -> None:
    result = run("demo", "--out", str(tmp_path / "new.png"), cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    for expected in ("sharp", "blurred", "OpenGCN", "finds in truth", "truth (needs labels)"):
        assert expected in result.stdout
    assert (tmp_path / "new.png").stat().st_size > 10_000
