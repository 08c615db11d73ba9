"""A small model and files of every kind, and two ways to run a command: here, or for real."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import opengcn as og
from opengcn.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, which saves importing torch each time."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main changes it
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")

    def run_here(*arguments: object, given: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "argv", ["opengcn", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return Ran(int(stop.value.code or 0), out, err)

    return run_here


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run a command as a user does, in a process of its own."""

    def run_for_real(
        *arguments: object, given: bytes = b"", **environment: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "opengcn", *map(str, arguments)],
            input=given,
            capture_output=True,
            env=os.environ | {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"} | environment,
            check=False,
        )

    return run_for_real


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sets in every format, and a model fitted on two of them."""
    folder = tmp_path_factory.mktemp("files")
    data = og.datasets.synthetic(n_classes=60, samples=12, dim=16, concentration=30, seed=0)
    train, rest = data.split_classes(0.5)
    cal, test = rest.split_classes(0.3)
    for name, one in (("train", train), ("cal", cal), ("test", test)):
        one.save(folder / f"{name}.parquet")
        one.save(folder / f"{name}.npz")
        np.save(folder / f"{name}.npy", one.embeddings)
        lines = "\n".join(map(str, one.require_labels()))
        (folder / f"{name}.txt").write_text(f"{lines}\n", encoding="utf-8")
    half = len(test) // 2
    for name, rows in (("a", np.arange(half)), ("b", np.arange(half, len(test)))):
        test.unlabelled().subset(rows).save(folder / "parts" / f"{name}.parquet")
    og.OpenGCN(episodes=20).fit(train, cal).save(folder / "model.ogcn")
    return folder
