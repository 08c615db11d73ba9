"""Embedding sets on disk: every format, every way in which a file can be bad."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import opengcn as og
from opengcn import pairs
from opengcn.errors import DataError
from opengcn.sources import ParquetSource

N, D = 12, 5
load = og.EmbeddingSet.load


@pytest.fixture
def birds(rng: np.random.Generator) -> og.EmbeddingSet:
    return og.EmbeddingSet(
        rng.standard_normal((N, D)),
        [f"b{i // 3}" for i in range(N)],
        ids=np.arange(N),
        tenants=["t"] * N,
    )


def same(a: og.EmbeddingSet, b: og.EmbeddingSet) -> None:
    np.testing.assert_array_equal(a.embeddings, b.embeddings)
    for name in ("labels", "ids", "tenants"):
        one, two = getattr(a, name), getattr(b, name)
        assert (one is None) == (two is None), name
        if one is not None:
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize("in_memory", [None, True, False])
def test_save_and_load_is_the_identity(
    birds: og.EmbeddingSet, tmp_path: Path, suffix: str, in_memory: bool | None
) -> None:
    path = tmp_path / "new" / f"birds{suffix}"
    birds.save(path)
    back = load(path, in_memory=in_memory)
    assert back.dim == D
    assert len(back) == N
    np.testing.assert_array_equal(back.take(np.array([7, 0])), birds.embeddings[[7, 0]])
    same(back.subset([9, 3]), birds.subset([9, 3]))
    same(back, birds)
    assert [p.name for p in path.parent.iterdir()] == [path.name]  # no temporary file stays


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_npz_with_short_names(
    tmp_path: Path, rng: np.random.Generator, dtype: type, write: Any
) -> None:
    E = rng.standard_normal((N, D)).astype(dtype)
    write(tmp_path / "a.npz", E=E, y=np.arange(N), other=np.zeros(3))
    for in_memory in (True, False):
        s = load(tmp_path / "a.npz", in_memory=in_memory)
        same(s, og.EmbeddingSet(E, np.arange(N)))


def test_npz_with_given_names(tmp_path: Path, rng: np.random.Generator) -> None:
    E = rng.standard_normal((N, D))
    np.savez(tmp_path / "a.npz", test_E=E, test_y=np.arange(N), E=np.ones((2, 2)))
    same(
        load(tmp_path / "a.npz", embedding="test_E", label="test_y"),
        og.EmbeddingSet(E, np.arange(N)),
    )


@pytest.mark.parametrize("order", ["C", "F"])
def test_npz_in_fortran_order(tmp_path: Path, rng: np.random.Generator, order: Any) -> None:
    E = np.asarray(rng.standard_normal((N, D)), order=order)
    np.savez(tmp_path / "a.npz", E=E)
    same(load(tmp_path / "a.npz", in_memory=False), og.EmbeddingSet(E))


def test_npy_with_labels(tmp_path: Path, rng: np.random.Generator) -> None:
    E = rng.standard_normal((N, D))
    np.save(tmp_path / "a.npy", E)
    np.save(tmp_path / "y.npy", np.arange(N))
    (tmp_path / "y.txt").write_text("".join(f"class {i // 2}\n" for i in range(N)))
    same(load(tmp_path / "a.npy"), og.EmbeddingSet(E))
    same(load(tmp_path / "a.npy", labels_file=tmp_path / "y.npy"), og.EmbeddingSet(E, np.arange(N)))
    texts = [f"class {i // 2}" for i in range(N)]
    same(load(str(tmp_path / "a.npy"), labels_file=tmp_path / "y.txt"), og.EmbeddingSet(E, texts))


def test_a_set_on_disk_is_not_read_until_asked_for(tmp_path: Path) -> None:
    """A sparse file of 4 TB is opened and sampled."""
    n, dim = 2**33, 128
    path = tmp_path / "huge.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (n, dim)}
        )
        start = file.tell()
        try:
            file.truncate(start + 4 * n * dim)
        except OSError:
            pytest.skip("the file system has no sparse files of this size")
    row = 5_000_000_000
    with path.open("r+b") as file:
        file.seek(start + 4 * dim * row)
        file.write(np.ones(dim, np.float32).tobytes())
    huge = load(path)
    assert len(huge) == n
    np.testing.assert_allclose(huge.take(np.array([row])), 1 / np.sqrt(dim), rtol=1e-6)
    with pytest.raises(DataError, match="row 17: expected a vector with a direction"):
        huge.take(np.array([17]))
    assert len(huge.subset([3, row, 5])) == 3  # choosing rows is not reading them
    assert len(huge.sample(100)) == 100


def vectors(E: NDArray[Any]) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(E.ravel()), E.shape[1])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_parquet_of_several_files_and_row_groups(
    tmp_path: Path, rng: np.random.Generator, dtype: type
) -> None:
    E = rng.standard_normal((N, D)).astype(dtype)
    y = np.array([f"b{i // 3}" for i in range(N)])
    for part, rows in enumerate((slice(0, 5), slice(5, 6), slice(6, N))):
        table = pa.table({"embedding": vectors(E[rows]), "label": y[rows]})
        pq.write_table(table, tmp_path / f"part-{part}.parquet", row_group_size=2)
    expected = og.EmbeddingSet(E, y)
    for path in (tmp_path, [tmp_path / f"part-{i}.parquet" for i in range(3)]):
        for in_memory in (True, False):
            s = load(path, in_memory=in_memory)
            rows = rng.permutation(N)[:7]
            np.testing.assert_array_equal(s.take(rows), expected.embeddings[rows])
            np.testing.assert_array_equal(np.concatenate(list(s.blocks(4))), expected.embeddings)
            same(s, expected)
    backwards = load([tmp_path / "part-2.parquet", tmp_path / "part-0.parquet"])
    np.testing.assert_array_equal(backwards.labels, np.r_[y[6:], y[:5]])


def test_parquet_columns_of_other_kinds(tmp_path: Path, rng: np.random.Generator) -> None:
    E = rng.standard_normal((4, D)).astype(np.float32)
    table = pa.table(
        {
            "vec": pa.array(E.tolist(), pa.list_(pa.float32())),
            "label": pa.array(["a", "b", "a", "c"]).dictionary_encode(),
            "id": pa.array([1, 2, 3, 4], pa.int32()),
            "tenant": pa.array(["x", "x", "y", "y"], pa.large_string()),
            "image": pa.array([b"..."] * 4),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    s = load(tmp_path / "a.parquet", embedding="vec")
    same(
        s, og.EmbeddingSet(E, ["a", "b", "a", "c"], ids=[1, 2, 3, 4], tenants=["x", "x", "y", "y"])
    )
    halves = load(tmp_path / "a.parquet", embedding="vec", label="tenant")
    assert halves.labels.tolist() == ["x", "x", "y", "y"]


def refuses(path: Any, message: str, **kwargs: Any) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load(path, **kwargs)
    assert "\n" not in str(caught.value)


def test_missing_and_empty_files(tmp_path: Path) -> None:
    refuses(tmp_path / "no.npz", "no.npz: expected a file, received a path where there is none")
    refuses(tmp_path, "expected a folder with .parquet files, received none in it")
    refuses([], "expected at least one file, received an empty list")
    for suffix in ("npz", "npy", "parquet"):
        (tmp_path / f"e.{suffix}").touch()
        refuses(
            tmp_path / f"e.{suffix}",
            rf"e.{suffix}: expected data, received an empty file \(0 bytes\)",
        )
    (tmp_path / "a.csv").write_text("1,2")
    refuses(tmp_path / "a.csv", "expected a .npz, .npy or .parquet file, received '.csv'")
    refuses([tmp_path / "a.npy", tmp_path / "b.npz"], "expected several files to be .parquet")


@pytest.mark.parametrize("suffix", ["npz", "npy", "parquet"])
@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_truncated_files(birds: og.EmbeddingSet, tmp_path: Path, suffix: str, keep: float) -> None:
    path = tmp_path / f"a.{suffix}"
    if suffix == "npy":
        np.save(path, birds.embeddings)
    else:
        birds.save(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data))])
    refuses(path, rf"a.{suffix}: expected a whole .{suffix} file, received one that is truncated")


@pytest.mark.parametrize("suffix", ["npz", "npy", "parquet"])
def test_files_of_another_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(b"this is no data at all" * 100)
    refuses(path, "truncated, damaged or of another format")


def test_missing_columns(birds: og.EmbeddingSet, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", vectors=np.ones((2, 2)))
    refuses(tmp_path / "a.npz", "expected an array named 'embeddings' or 'E', received 'vectors'")
    refuses(tmp_path / "a.npz", "expected an array named 'x', received 'vectors'", embedding="x")
    birds.save(tmp_path / "a.parquet")
    refuses(
        tmp_path / "a.parquet",
        "expected a column 'vec', received 'embedding', 'label'",
        embedding="vec",
    )
    refuses(tmp_path / "a.parquet", "expected a column 'species', received", label="species")
    og.EmbeddingSet(birds.embeddings).save(tmp_path / "b.parquet")
    refuses(
        tmp_path,
        r"b.parquet: expected the columns .*'label'.* of .*a.parquet, received \['embedding'\]",
    )


def test_label_count_mismatch(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", E=np.ones((4, 2)), y=np.arange(3))
    refuses(
        tmp_path / "a.npz", r"a.npz: labels: expected one for each of 4 rows, received shape \(3,\)"
    )
    np.save(tmp_path / "a.npy", np.ones((4, 2)))
    (tmp_path / "y.txt").write_text("a\nb")
    refuses(tmp_path / "a.npy", "expected one for each of 4 rows", labels_file=tmp_path / "y.txt")
    refuses(
        tmp_path / "a.npz",
        "expected a labels file beside a .npy file only",
        labels_file=tmp_path / "y.txt",
    )
    refuses(tmp_path / "a.npy", "z.npy: expected a file", labels_file=tmp_path / "z.npy")


def test_pickled_labels_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", E=np.ones((2, 2)), y=np.array(["a", "b"], object))
    refuses(tmp_path / "a.npz", r"expected plain integers or strings in 'y', received pickled")


def test_bad_vectors_are_named_by_file_row_and_column(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    E = rng.standard_normal((N, D)).astype(np.float32)
    E[7, 2] = np.nan
    np.savez(tmp_path / "a.npz", E=E)
    refuses(
        tmp_path / "a.npz",
        "a.npz: row 7, column 'E': expected finite numbers, received nan in dimension 2",
    )
    pq.write_table(pa.table({"embedding": vectors(E[:5])}), tmp_path / "p0.parquet")
    pq.write_table(
        pa.table({"embedding": vectors(E[5:])}), tmp_path / "p1.parquet", row_group_size=1
    )
    refuses(
        tmp_path,
        "p1.parquet: row 2, column 'embedding': expected finite numbers, received nan in dimension 2",
    )
    lazy = load(tmp_path, in_memory=False)
    assert len(lazy.take(np.array([0, 11]))) == 2  # the sound rows are there
    with pytest.raises(DataError, match="p1.parquet: row 2, column 'embedding'"):
        lazy.subset([0, 7, 3]).take(np.array([2, 1]))


def test_parquet_vectors_that_are_none(tmp_path: Path) -> None:
    def write(values: Any, kind: Any = None) -> Path:
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table({"embedding": pa.array(values, kind)}), path)
        return path

    floats = pa.list_(pa.float32())
    refuses(
        write([[1.0, 2], [3.0], [4.0, 5]], floats),
        "row 1, column 'embedding': expected 2 numbers as in row 0 of .*a.parquet, received 1",
    )
    refuses(
        write([[1.0, 2], None], floats),
        "row 1, column 'embedding': expected a vector, received null",
    )
    refuses(
        write([[1.0, 2], [3.0, None]], floats),
        "row 1, column 'embedding': expected numbers, received null inside",
    )
    refuses(
        write([[1.0, 2], [3.0, None]], pa.list_(pa.float32(), 2)),
        "row 1, column 'embedding': expected numbers, received null inside",
    )
    refuses(write([[1, 2], [3, 4]]), "expected a list of floats a row, received list")
    refuses(write(["a", "b"]), "expected a list of floats a row, received string")
    refuses(write([], floats), "expected at least one vector, received shape")
    refuses(write([[], []], floats), "expected at least one vector, received shape")


def test_parquet_files_of_different_dimension(tmp_path: Path) -> None:
    for i, dim in enumerate((3, 4)):
        pq.write_table(
            pa.table({"embedding": vectors(np.ones((2, dim)))}), tmp_path / f"p{i}.parquet"
        )
    refuses(
        tmp_path,
        "p1.parquet: row 0, column 'embedding': expected 3 numbers as in row 0 of .*p0.parquet, received 4",
    )


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
def test_rows_are_chosen_alike_in_every_format(
    birds: og.EmbeddingSet, tmp_path: Path, suffix: str, in_memory: bool
) -> None:
    path = tmp_path / f"a{suffix}"
    np.save(path, birds.embeddings) if suffix == ".npy" else birds.save(path)
    s = load(path, in_memory=in_memory)
    mask = np.arange(N) % 3 == 0
    np.testing.assert_array_equal(s.take(mask), birds.embeddings[mask])
    np.testing.assert_array_equal(s.take([-1, 2]), birds.embeddings[[-1, 2]])
    np.testing.assert_array_equal(s.take(slice(None, None, 5)), birds.embeddings[::5])
    with pytest.raises(IndexError, match="expected rows of a set of 12"):
        s.take([12])


def test_empty_parts_are_passed_over(birds: og.EmbeddingSet, tmp_path: Path) -> None:
    birds.save(tmp_path / "b.parquet")
    table = pq.read_table(tmp_path / "b.parquet")
    pq.write_table(table.slice(0, 0), tmp_path / "a.parquet")
    pq.write_table(table.slice(0, 0), tmp_path / "c.parquet")
    same(load(tmp_path), birds)


def test_damage_in_a_later_part_is_named(tmp_path: Path, rng: np.random.Generator) -> None:
    E = rng.standard_normal((3000, 16)).astype(np.float32)
    pq.write_table(pa.table({"embedding": vectors(E)}), tmp_path / "a.parquet")
    path = tmp_path / "b.parquet"
    pq.write_table(pa.table({"embedding": vectors(E)}), path, row_group_size=1000)
    start = pq.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + 200] = bytes(200)
    path.write_bytes(data)
    refuses(tmp_path, "b.parquet: expected a whole .parquet file")
    lazy = load(tmp_path, in_memory=False)
    assert len(lazy.take([0, 3500])) == 2
    with pytest.raises(DataError, match="b.parquet: expected a whole .parquet file"):
        lazy.take([5999])


def test_labels_of_two_kinds_in_two_files(tmp_path: Path) -> None:
    for i, labels in enumerate((["a", "b"], [1, 2])):
        pq.write_table(
            pa.table({"embedding": vectors(np.ones((2, 3))), "label": labels}),
            tmp_path / f"{i}.parquet",
        )
    refuses(
        tmp_path,
        "1.parquet: column 'label': expected values of one kind in all files, received int64",
    )
    table = pa.table(
        {"embedding": vectors(np.ones((2, 3))), "label": pa.array([7, 8], pa.uint64())}
    )
    pq.write_table(table, tmp_path / "0.parquet")
    assert load(tmp_path).labels.tolist() == [7, 8, 1, 2]


def test_hidden_files_are_no_data(birds: og.EmbeddingSet, tmp_path: Path) -> None:
    birds.save(tmp_path / "sub" / "A.PARQUET")
    birds.save(tmp_path / ".old" / "b.parquet")
    birds.save(tmp_path / "_temporary" / "b.parquet")
    assert len(load(tmp_path)) == N


def test_names_and_label_files_that_do_not_fit(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    refuses(tmp_path / "a.npy", "expected no names of columns", label="y")
    np.savez(tmp_path / "y.npz", y=np.arange(2))
    refuses(
        tmp_path / "a.npy",
        "expected labels as a .npy array or as text",
        labels_file=tmp_path / "y.npz",
    )
    (tmp_path / "y.txt").write_bytes("a\nb\n".encode("utf-8-sig"))
    assert load(tmp_path / "a.npy", labels_file=tmp_path / "y.txt").labels.tolist() == ["a", "b"]


def test_exact_curve_of_a_set_on_disk_in_several_strips(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "PANEL", 64)
    monkeypatch.setattr(pairs, "SORTED_COPY", 0)  # as for a set that is too large to sort
    y = rng.integers(20, size=700)
    data = og.EmbeddingSet(rng.standard_normal((700, 8)) + rng.standard_normal((20, 8))[y], y)
    data.save(tmp_path / "a.parquet")
    on_disk = load(tmp_path / "a.parquet", in_memory=False)
    assert og.OperatingCurve.from_labels(on_disk, threads=3) == og.OperatingCurve.from_labels(data)


def test_threads_may_read_one_parquet_file_at_once(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    X = rng.standard_normal((700, 8)).astype(np.float32)
    data = og.EmbeddingSet(X)
    data.save(tmp_path / "a.parquet")
    for _ in range(50):  # without a lock most runs fail, and many end the process
        source = ParquetSource([tmp_path / "a.parquet"], "embedding")
        with ThreadPoolExecutor(8) as pool:
            parts = pool.map(lambda k, source=source: source.read(np.arange(k, 700, 16)), range(16))
            for k, part in enumerate(parts):
                np.testing.assert_array_equal(part, data.embeddings[k::16])


def test_null_labels(tmp_path: Path) -> None:
    table = pa.table({"embedding": vectors(np.ones((3, 2))), "label": ["a", None, "b"]})
    pq.write_table(table, tmp_path / "a.parquet")
    refuses(tmp_path / "a.parquet", "row 1, column 'label': expected a value, received null")


@pytest.mark.parametrize("labels", [["a", None, "b"], [1.5, 2.0, float("nan")]])
def test_columns_that_are_not_asked_for_may_be_anything(tmp_path: Path, labels: list[Any]) -> None:
    X = np.eye(3)
    table = pa.table(
        {"embedding": vectors(X), "label": labels, "id": labels, "tenant": list("xyz")}
    )
    pq.write_table(table, tmp_path / "a.parquet")
    np.savez(tmp_path / "a.npz", embeddings=X, labels=[0.5], ids=[0.5], tenants=list("xyz"))
    for path in (tmp_path / "a.parquet", tmp_path / "a.npz"):
        with pytest.raises(DataError, match="label"):
            load(path)
        same(load(path, beside=()), og.EmbeddingSet(X))
        same(load(path, beside=["tenant"]), og.EmbeddingSet(X, tenants=list("xyz")))
    np.save(tmp_path / "a.npy", X)
    same(load(tmp_path / "a.npy", beside=()), og.EmbeddingSet(X))
    with pytest.raises(DataError, match="beside: expected some of .*, received 'labels'"):
        load(tmp_path / "a.npz", beside=["labels"])


def test_writing_fails_whole(
    birds: og.EmbeddingSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    birds.save(path)
    before = path.read_bytes()

    def broken(rows: int) -> Any:
        yield birds.embeddings[:3]
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(birds, "blocks", broken)
    with pytest.raises(RuntimeError, match="disk on fire"):
        birds.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.parquet"]
    with pytest.raises(DataError, match="expected a name in .npz or .parquet"):
        birds.save(tmp_path / "a.csv")


def test_exact_curve_of_a_set_on_disk(birds: og.EmbeddingSet, tmp_path: Path) -> None:
    birds.save(tmp_path / "a.parquet")
    on_disk = load(tmp_path / "a.parquet", in_memory=False)
    assert og.OperatingCurve.from_labels(on_disk) == og.OperatingCurve.from_labels(birds)
