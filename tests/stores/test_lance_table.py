"""Embedding sets in LanceDB tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import opengcn as og
from opengcn.errors import DataError

lancedb = pytest.importorskip("lancedb")
load = og.EmbeddingSet.load


def vectors(X: np.ndarray[Any, Any]) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])


def as_table(data: og.EmbeddingSet, vector: str = "vector", label: str = "label") -> pa.Table:
    return pa.table(
        {
            vector: vectors(data.embeddings),
            label: pa.array(data.labels.tolist()),
            "id": pa.array(data.ids),
            "tenant": pa.array(data.tenants.tolist()).dictionary_encode(),
            "image": pa.array([b"..."] * len(data)),
        }
    )


@pytest.fixture
def folder(tmp_path: Path, birds: og.EmbeddingSet) -> Path:
    table = lancedb.connect(tmp_path).create_table("birds", as_table(birds).slice(0, 40))
    table.add(as_table(birds).slice(40))
    return tmp_path


@pytest.mark.parametrize("in_memory", [None, False])
@pytest.mark.parametrize("name", ["birds", "birds.lance"])
def test_a_table_is_read_whole(
    folder: Path, birds: og.EmbeddingSet, same: Callable[..., None], in_memory: Any, name: str
) -> None:
    data = load(f"lancedb:{folder}/{name}", in_memory=in_memory)
    assert data.source == f"lancedb:{folder}/{name}"
    rows = np.array([90, 3, 3, 0])
    np.testing.assert_array_equal(data.take(rows), birds.embeddings[rows])
    same(data.subset(rows), birds.subset(rows))
    same(data, birds)


def test_other_names_and_a_relative_folder(
    tmp_path: Path,
    birds: og.EmbeddingSet,
    same: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lancedb.connect(tmp_path / "db").create_table("b", as_table(birds, "face", "species"))
    monkeypatch.chdir(tmp_path)
    same(load("lancedb:db/b", embedding="face", label="species"), birds)
    same(load(Path("lancedb:db/b"), embedding="face"), birds.unlabelled())
    by_tenant = load("lancedb:db/b", embedding="face", label="tenant")
    np.testing.assert_array_equal(by_tenant.labels, birds.tenants)


def test_vectors_of_other_kinds(tmp_path: Path, birds: og.EmbeddingSet) -> None:
    database = lancedb.connect(tmp_path)
    X = birds.embeddings
    kinds = {
        "half": vectors(X.astype(np.float16)),
        "double": vectors(X.astype(np.float64)),
        "lists": pa.array(X.tolist(), pa.list_(pa.float32())),
    }
    for name, array in kinds.items():
        database.create_table(name, pa.table({"embedding": array}))
        data = load(f"lancedb:{tmp_path}/{name}")
        np.testing.assert_allclose(data.embeddings, X, atol=1e-3 if name == "half" else 1e-7)
        assert data.labels is data.ids is data.tenants is None


@pytest.mark.parametrize("in_memory", [True, False])
def test_deleted_and_changed_rows(
    folder: Path, birds: og.EmbeddingSet, same: Callable[..., None], in_memory: bool
) -> None:
    table = lancedb.connect(folder).open_table("birds")
    table.delete("id % 7 = 0")
    table.update(where="id = 6", values={"label": "changed"})  # moves the row to the end
    data = load(f"lancedb:{folder}/birds", in_memory=in_memory)
    assert len(data) == sum(birds.ids % 7 != 0)
    order = data.ids - 5
    np.testing.assert_array_equal(data.embeddings, birds.embeddings[order])
    changed = np.where(birds.ids == 6, "changed", birds.labels)
    np.testing.assert_array_equal(data.labels, changed[order])


def test_rows_written_later_are_not_seen(
    folder: Path, birds: og.EmbeddingSet, same: Callable[..., None]
) -> None:
    data = load(f"lancedb:{folder}/birds", in_memory=False)
    table = lancedb.connect(folder).open_table("birds")
    table.delete("id < 50")
    table.add(as_table(birds))
    same(data, birds)


def test_what_is_not_there(folder: Path, refuses: Callable[..., None]) -> None:
    refuses(
        f"lancedb:{folder}/fish", "lancedb:.*fish: expected a table 'fish' in .*, received 'birds'"
    )
    refuses(f"lancedb:{folder}/no/fish", "expected a folder '.*no', received no such folder")
    assert not (folder / "no").exists()  # lancedb.connect would make it
    (folder / "empty").mkdir()
    refuses(f"lancedb:{folder}/empty/fish", "expected a table 'fish' in .*, received no table")
    refuses(
        f"lancedb:{folder}/birds",
        "expected a column 'species', received 'vector', 'label', 'id', 'tenant', 'image'",
        label="species",
    )
    refuses(f"lancedb:{folder}/birds", "expected a column 'x', received 'vector'", embedding="x")
    database = lancedb.connect(folder)
    database.create_table("nothing", schema=pa.schema({"vector": pa.list_(pa.float32(), 4)}))
    refuses(f"lancedb:{folder}/nothing", "expected at least one vector, received shape")
    database.create_table("names", pa.table({"name": ["a"]}))
    refuses(f"lancedb:{folder}/names", "expected a column 'vector' or 'embedding', received 'name'")


def test_bad_rows_are_named(
    tmp_path: Path, birds: og.EmbeddingSet, refuses: Callable[..., None]
) -> None:
    database = lancedb.connect(tmp_path)

    def table(name: str, **columns: Any) -> str:
        database.create_table(name, pa.table(columns))
        return f"lancedb:{tmp_path}/{name}"

    floats = pa.list_(pa.float32())
    X = birds.embeddings[:4].copy()
    X[2, 1] = np.nan
    refuses(
        table("nan", v=vectors(X), id=pa.array(range(4))),
        "nan: row 2, column 'v': expected finite numbers, received nan in dimension 1",
        embedding="v",
    )
    refuses(
        table("ragged", v=pa.array([[1.0, 2], [3.0]], floats)),
        "row 1, column 'v': expected 2 numbers as in row 0, received 1",
        embedding="v",
    )
    refuses(
        table("null", v=pa.array([[1.0, 2], None], floats)),
        "row 1, column 'v': expected a vector, received null",
        embedding="v",
    )
    refuses(table("text", v=["a", "b"]), "expected a list of floats a row", embedding="v")
    refuses(
        table("label", v=vectors(np.eye(2)), label=["a", None]),
        "label: row 1, column 'label': expected a value, received null",
        embedding="v",
    )
    refuses(
        table("float", v=vectors(np.eye(2)), label=[0.5, 1.5]),
        "column 'label': expected integers or strings, received float64",
        embedding="v",
    )
    bare = load(f"lancedb:{tmp_path}/float", embedding="v", beside=())
    assert bare.labels is None
    lazy = load(f"lancedb:{tmp_path}/nan", embedding="v", in_memory=False)
    with pytest.raises(DataError, match="nan: row 2, column 'v': expected finite"):
        lazy.take(np.array([3, 2, 0]))


def test_a_damaged_table(folder: Path, refuses: Callable[..., None]) -> None:
    for file in folder.rglob("*.lance"):
        if file.is_file():
            file.write_bytes(b"")
    refuses(f"lancedb:{folder}/birds", "lancedb:.*birds: expected a LanceDB table, received")
