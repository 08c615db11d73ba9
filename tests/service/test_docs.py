"""The requests of docs/service.md, sent as they stand there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import opengcn as og

ROOT = Path(__file__).parents[2]


def blocks(language: str, url: str) -> list[str]:
    """Return the code of the page, with the address of a service that runs."""
    text = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [code.replace("http://127.0.0.1:8000", url) for code in found]


@pytest.fixture
def folder(tmp_path: Path, rows: Any) -> Path:
    np.save(tmp_path / "new.npy", rows)
    og.EmbeddingSet(rows).save(tmp_path / "new.parquet")
    return tmp_path


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
def test_curl(service: Any, folder: Path, model: og.OpenGCN, rows: Any) -> None:
    (command,) = [code for code in blocks("sh", service.url) if code.startswith("curl")]
    run = subprocess.run(
        ["sh", "-ec", command], cwd=folder, capture_output=True, text=True, check=True
    )
    unit = og.EmbeddingSet(rows)  # a set that is written holds unit vectors
    expected = model.estimate(unit).threshold(tpr=0.9).to_dict()
    assert json.loads(run.stdout)["threshold"] == expected


def test_python(service: Any, folder: Path, model: og.OpenGCN, rows: Any) -> None:
    (code,) = blocks("python", service.url)
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    rule = model.estimate(rows).threshold(tpr=0.9).rule()
    assert run.stdout == f"alice {rule}\nbob {rule}\n"


def test_what_the_container_copies_is_there_and_not_ignored() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [
        name
        for line in lines
        if line.startswith("COPY") and "--from" not in line
        for name in line.split()[1:-1]
    ]
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert copied
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in allowed, name


def test_the_container_is_not_root_and_checks_a_path_that_exists(service: Any) -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    last = text.rpartition("\nFROM ")[2]
    assert re.search(r"^USER \d+:\d+$", last, re.MULTILINE)
    (path,) = re.findall(r"http://127\.0\.0\.1:8000(/\w+)", last)
    assert httpx.get(service.url + path).status_code == 200
