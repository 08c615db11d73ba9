"""What is an address of a store and what is a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opengcn as og
from opengcn.errors import MissingDependencyError
from opengcn.stores import store_address


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("birds.npz", None),
        ("faiss", None),
        ("./faiss:birds", None),
        ("C:/data/birds.npz", None),
        ("qdrantx:a/b", None),
        ("faiss:birds.index", "faiss:birds.index"),
        ("lancedb:C:/data/birds", "lancedb:C:/data/birds"),
        ("qdrant:http://localhost:6333/birds", "qdrant:http://localhost:6333/birds"),
        (Path("qdrant:http://localhost:6333/birds"), "qdrant:http://localhost:6333/birds"),
        (Path("lancedb:s3://bucket/db/birds"), "lancedb:s3://bucket/db/birds"),
    ],
)
def test_addresses(given: str | Path, address: str | None) -> None:
    assert store_address(given) == address


@pytest.mark.parametrize("kind", ["faiss", "lancedb", "qdrant"])
def test_an_address_without_a_place(kind: str, refuses: Callable[..., None]) -> None:
    refuses(f"{kind}:", f"{kind}:: expected an address {kind}:F.*, received '{kind}:'")
    refuses(f"{kind}:/", "expected an address")


def test_a_file_named_like_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    og.EmbeddingSet(np.eye(3)).save(tmp_path / "faiss:a.npz")
    assert len(og.EmbeddingSet.load("./faiss:a.npz")) == 3


def test_a_store_among_several_files(refuses: Callable[..., None]) -> None:
    refuses(["faiss:a", "b.parquet"], "expected several files to be .parquet")


@pytest.mark.parametrize("kind", ["lancedb", "qdrant"])
def test_a_labels_file_has_no_use_where_labels_are(
    kind: str, tmp_path: Path, refuses: Callable[..., None]
) -> None:
    refuses(
        f"{kind}:{tmp_path}/a",
        "expected a labels file beside a .npy file or a FAISS",
        labels_file="y",
    )


@pytest.mark.parametrize(
    ("module", "extra"), [("faiss", "faiss"), ("lancedb", "lancedb"), ("qdrant_client", "qdrant")]
)
def test_a_missing_library_is_named_with_its_extra(
    module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"pip install 'opengcn\[{extra}\]'"):
        og.EmbeddingSet.load(f"{extra}:data/birds")
