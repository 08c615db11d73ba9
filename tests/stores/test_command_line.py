"""Stores on the command line, as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import opengcn as og

lancedb = pytest.importorskip("lancedb")


def opengcn(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opengcn", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)


def put(folder: Path, name: str, data: og.EmbeddingSet) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(data.embeddings.ravel()), data.dim)
    table = pa.table({"vector": vectors, "species": pa.array(data.labels)})
    lancedb.connect(folder / "data").create_table(name, table)


def test_inspect_reads_a_store(tmp_path: Path, birds: og.EmbeddingSet) -> None:
    put(tmp_path, "birds", birds)
    done = opengcn(tmp_path, "inspect", "lancedb:data/birds", "--label-column", "species", "--json")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["file"] == "lancedb:data/birds"
    assert 100 in seen.values()  # rows
    wrong = opengcn(tmp_path, "inspect", "lancedb:data/fish")
    assert wrong.returncode == 1
    assert wrong.stderr == (
        "opengcn: lancedb:data/fish: expected a table 'fish' in data, received 'birds'\n"
    )


@pytest.mark.slow
def test_from_a_store_to_a_snippet_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fit on tables, find a threshold for a table, and run what is printed."""
    data = og.datasets.synthetic(n_classes=60, samples=10, dim=16, concentration=20, seed=0)
    cal, rest = data.split_classes(0.2)
    train, test = rest.split_classes(0.5)
    for name, part in (("train", train), ("cal", cal), ("new", test)):
        put(tmp_path, name, part)
    read = [
        og.EmbeddingSet.load(f"lancedb:{tmp_path}/data/{n}", label="species")
        for n in ("train", "cal")
    ]
    og.OpenGCN(episodes=10, seed=0).fit(*read).save(tmp_path / "model.ogcn")
    done = opengcn(
        tmp_path,
        "threshold",
        "model.ogcn",
        "lancedb:data/new",
        "--find",
        "90%",
        "--snippet",
        "numpy",
    )
    assert done.returncode == 0, done.stderr
    names: dict[str, Any] = {"X": test.embeddings, "Y": test.embeddings}
    exec(done.stdout, names)
    matches = {tuple(pair) for pair in names["matches"].tolist() if pair[0] < pair[1]}
    model = og.load(tmp_path / "model.ogcn")
    found = model.estimate(test.unlabelled()).threshold(tpr=0.9)
    rows, others = np.triu_indices(len(test), 1)
    d = np.linalg.norm(test.embeddings[rows] - test.embeddings[others], axis=1)
    sure = np.abs(d - found.distance) > 2e-6
    for i, j, below in zip(rows[sure], others[sure], d[sure] < found.distance, strict=True):
        assert ((int(i), int(j)) in matches) == below
