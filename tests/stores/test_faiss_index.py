"""Embedding sets in FAISS indices."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opengcn as og
from opengcn.errors import OpenGCNWarning
from opengcn.sources import RUN

faiss = pytest.importorskip("faiss")
load = og.EmbeddingSet.load


def write(
    path: Path, spec: str, data: og.EmbeddingSet, ids: Any = None, metric: Any = faiss.METRIC_L2
) -> str:
    index = faiss.index_factory(data.dim, spec, metric)
    with warnings.catch_warnings(action="ignore"):
        index.train(data.embeddings)
    if ids is None:
        index.add(data.embeddings)
    else:
        index.add_with_ids(data.embeddings, ids)
    faiss.write_index(index, str(path))
    return f"faiss:{path}"


@pytest.mark.parametrize("in_memory", [None, False])
@pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
@pytest.mark.parametrize("spec", ["Flat", "HNSW8", "IVF4,Flat", "SQ8,RFlat"])
def test_exact_indices(
    tmp_path: Path,
    birds: og.EmbeddingSet,
    same: Callable[..., None],
    spec: str,
    metric: Any,
    in_memory: Any,
) -> None:
    address = write(tmp_path / "a.index", spec, birds, metric=metric)
    data = load(address, in_memory=in_memory)
    assert data.source == address
    rows = np.array([90, 3, 3, 0])
    np.testing.assert_array_equal(data.take(rows), birds.embeddings[rows])
    same(data, og.EmbeddingSet(birds.embeddings))


@pytest.mark.parametrize("spec", ["IDMap,Flat", "IDMap2,Flat", "IDMap,HNSW8", "IVF4,Flat"])
def test_ids_of_the_index(
    tmp_path: Path, birds: og.EmbeddingSet, same: Callable[..., None], spec: str
) -> None:
    """An IVF index with ids of its own is sorted by them; the others keep their order."""
    ids = np.random.default_rng(1).permutation(10**6)[: len(birds)]
    data = load(write(tmp_path / "a.index", spec, birds, ids))
    order = np.argsort(ids) if spec.startswith("IVF") else np.arange(len(ids))
    same(data, og.EmbeddingSet(birds.embeddings[order], ids=ids[order]))


def test_removed_vectors(tmp_path: Path, birds: og.EmbeddingSet, same: Callable[..., None]) -> None:
    index = faiss.index_factory(birds.dim, "IVF2,Flat")
    with warnings.catch_warnings(action="ignore"):
        index.train(birds.embeddings)
    index.add(birds.embeddings)
    index.remove_ids(np.array([0, 7, 9]))
    faiss.write_index(index, str(tmp_path / "a.index"))
    left = np.setdiff1d(np.arange(len(birds)), [0, 7, 9])
    same(load(f"faiss:{tmp_path}/a.index"), og.EmbeddingSet(birds.embeddings[left], ids=left))


def test_labels_beside_the_index(tmp_path: Path, birds: og.EmbeddingSet) -> None:
    address = write(tmp_path / "a.index", "Flat", birds)
    (tmp_path / "y.txt").write_text("".join(f"{label}\n" for label in birds.labels))
    np.testing.assert_array_equal(
        load(address, labels_file=tmp_path / "y.txt").labels, birds.labels
    )
    np.save(tmp_path / "y.npy", birds.labels)
    np.testing.assert_array_equal(
        load(address, labels_file=str(tmp_path / "y.npy")).labels, birds.labels
    )


@pytest.mark.parametrize(
    "spec", ["SQ8", "PQ2x4", "IVF4,SQ8", "HNSW8_SQ8", "PCA4,Flat", "IDMap,SQ8"]
)
def test_compressed_indices_warn(tmp_path: Path, birds: og.EmbeddingSet, spec: str) -> None:
    ids = birds.ids if "IDMap" in spec else None
    address = write(tmp_path / "a.index", spec, birds, ids)
    with pytest.warns(OpenGCNWarning, match="keeps compressed or transformed vectors") as caught:
        data = load(address)
    assert caught[0].filename == __file__
    assert data.embeddings.shape == birds.embeddings.shape


def test_what_is_not_there(
    tmp_path: Path, birds: og.EmbeddingSet, refuses: Callable[..., None]
) -> None:
    refuses(
        f"faiss:{tmp_path}/no.index", "no.index: expected a file, received a path where there is"
    )
    refuses(f"faiss:{tmp_path}", "expected a file, received a path where there is none")
    address = write(tmp_path / "a.index", "Flat", birds)
    refuses(address, "expected no names of columns, as a FAISS index has none", label="species")
    refuses(address, "z.txt: expected a file", labels_file=tmp_path / "z.txt")
    (tmp_path / "y.txt").write_text("a\nb\n")
    refuses(address, "labels: expected one for each of 100 rows", labels_file=tmp_path / "y.txt")
    faiss.write_index(faiss.IndexFlatL2(4), str(tmp_path / "empty.index"))
    refuses(
        f"faiss:{tmp_path}/empty.index", r"expected at least one vector, received shape \(0, 4\)"
    )


@pytest.mark.parametrize("keep", [0, 10, 0.5])
def test_damaged_files(
    tmp_path: Path, birds: og.EmbeddingSet, refuses: Callable[..., None], keep: float
) -> None:
    address = write(tmp_path / "a.index", "Flat", birds)
    content = (tmp_path / "a.index").read_bytes()
    (tmp_path / "a.index").write_bytes(content[: int(keep if keep >= 1 else keep * len(content))])
    refuses(address, "a.index: expected a FAISS index of float vectors, received RuntimeError")


def test_indices_that_cannot_give_vectors_back(
    tmp_path: Path, birds: og.EmbeddingSet, refuses: Callable[..., None]
) -> None:
    address = write(tmp_path / "a.index", "ITQ4,LSH", birds)
    refuses(address, "expected vectors from IndexPreTransform, received RuntimeError: .*not implem")
    binary = faiss.IndexBinaryFlat(16)
    binary.add(np.zeros((3, 2), np.uint8))
    faiss.write_index_binary(binary, str(tmp_path / "b.index"))
    refuses(f"faiss:{tmp_path}/b.index", "expected a FAISS index of float vectors")


def test_bad_vectors_are_named(
    tmp_path: Path, birds: og.EmbeddingSet, refuses: Callable[..., None]
) -> None:
    index = faiss.IndexFlatL2(birds.dim)
    X = birds.embeddings.copy()
    X[7] = 0
    index.add(X)
    faiss.write_index(index, str(tmp_path / "a.index"))
    refuses(f"faiss:{tmp_path}/a.index", "a.index: row 7: expected a vector with a direction")


def test_more_rows_than_are_read_at_once(
    tmp_path: Path, same: Callable[..., None], refuses: Callable[..., None]
) -> None:
    X = np.random.default_rng(0).standard_normal((RUN * 2 + 5, 2)).astype(np.float32)
    index = faiss.IndexFlatL2(2)
    index.add(X)
    faiss.write_index(index, str(tmp_path / "a.index"))
    same(load(f"faiss:{tmp_path}/a.index"), og.EmbeddingSet(X))
    index.reset()
    X[RUN + 7, 1] = np.nan
    index.add(X)
    faiss.write_index(index, str(tmp_path / "a.index"))
    refuses(f"faiss:{tmp_path}/a.index", f"row {RUN + 7}: expected finite numbers, received nan")
