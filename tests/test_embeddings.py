"""Embedding sets in memory: checks, normalisation, choosing rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import opengcn as og
from opengcn.errors import DataError
from opengcn.open_world import check_open_world

floats = hnp.arrays(
    st.sampled_from([np.float16, np.float32, np.float64]),
    st.tuples(st.integers(1, 8), st.integers(1, 8)),
    elements=st.floats(-1000, 1000, width=16),
)


@given(floats)
def test_every_float_becomes_a_float32_unit_vector(X: NDArray[np.floating]) -> None:
    X[np.abs(X).sum(axis=1) == 0, 0] = 1
    unit = og.EmbeddingSet(X).embeddings
    assert unit.dtype == np.float32
    E = X.astype(np.float64)
    np.testing.assert_allclose(unit, E / np.linalg.norm(E, axis=1, keepdims=True), atol=1e-6)


@given(floats)
def test_normalising_twice_changes_no_bit(X: NDArray[np.floating]) -> None:
    X[np.abs(X).sum(axis=1) == 0, 0] = 1
    once = og.EmbeddingSet(X).embeddings
    np.testing.assert_array_equal(og.EmbeddingSet(once).embeddings, once)


@pytest.mark.parametrize("scale", [1e-300, 1e-40, 1.0, 1e40, 1e300])
def test_very_large_and_very_small_vectors(scale: float) -> None:
    unit = og.EmbeddingSet(np.array([[3.0, 4.0]]) * scale).embeddings
    np.testing.assert_allclose(unit, [[0.6, 0.8]], rtol=1e-6)


def test_the_input_is_left_alone(rng: np.random.Generator) -> None:
    X = rng.standard_normal((5, 3)).astype(np.float32)
    before = X.copy()
    kept = og.EmbeddingSet(X)
    X[:] = 7  # nor does the set change when the input does
    np.testing.assert_array_equal(kept.embeddings, og.EmbeddingSet(before).embeddings)
    with pytest.raises(ValueError, match="read-only"):
        kept.embeddings[:] = 0


def bad(row: int, value: float) -> NDArray[np.float64]:
    X = np.ones((9000, 3))
    X[row, 1] = value
    return X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (bad(4, np.nan), "embeddings: row 4: expected finite numbers, received nan in dimension 1"),
        (bad(8999, np.inf), "embeddings: row 8999: expected finite numbers, received inf"),
        (
            np.r_[np.ones((5000, 2)), np.zeros((2, 2))],
            "row 5000: expected a vector with a direction.*1 more",
        ),
        (np.ones(3), r"expected an array of shape \(n, D\), received shape \(3,\)"),
        (
            np.ones((2, 2), int),
            "expected embeddings as float16, float32 or float64, received int64",
        ),
        (np.ones((0, 4)), r"expected at least one vector, received shape \(0, 4\)"),
        (np.ones((4, 0)), r"expected at least one vector, received shape \(4, 0\)"),
        ([[1.0, 2.0], [3.0, 4.0], [5.0]], "row 2: expected 2 numbers as in row 0, received 1"),
    ],
)
def test_bad_vectors(X: NDArray[np.float64], message: str) -> None:
    with pytest.raises(DataError, match=message):
        og.EmbeddingSet(X)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 2], r"embeddings: labels: expected one for each of 3 rows, received shape \(2,\)"),
        ([0.5, 1.0, 2.0], "expected integers or strings, received float64"),
        ([[1], [2], [3]], r"received shape \(3, 1\)"),
        (np.array([1, "a", None], object), "expected all integers .* or all strings.*row 2: None"),
        (
            np.array([1, "a", 2], object),
            "expected all integers .* or all strings, received int and str",
        ),
    ],
)
def test_bad_labels(labels: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        og.EmbeddingSet(np.eye(3), labels)  # type: ignore[arg-type]


def test_labels_of_every_kind() -> None:
    X = np.eye(3)
    for labels in (
        [3, 1, 2],
        ["c", "a", "b"],
        np.array([b"c", b"a", b"b"]),
        np.array(["c", "a", "b"], object),
        np.array([3, 1, 2], object),
        np.array([True, False, True]),
    ):
        kept = og.EmbeddingSet(X, labels).labels  # type: ignore[arg-type]
        assert kept is not None
        assert kept.dtype.kind in "iU"
    huge = np.array([2**63 + 1, 2**63 + 2, 1], np.uint64)
    np.testing.assert_array_equal(og.EmbeddingSet(X, ids=huge).ids, huge)


@pytest.mark.parametrize(
    "labels", [["a", np.nan, "b"], [0, 0, "a"], ["a", 1.5, "b"], ["a", None, "b"]]
)
def test_lists_of_mixed_labels_are_not_turned_into_strings(labels: list[object]) -> None:
    with pytest.raises(DataError, match="expected all integers .* or all strings"):
        og.EmbeddingSet(np.eye(3), labels)  # type: ignore[arg-type]


def test_labels_that_cannot_be_read() -> None:
    for labels, message in (
        (np.array([b"\xff", b"a", b"b"]), "expected text in UTF-8"),
        (np.array([2**63 + 1, 1, 2], object), "of 64 bits"),
        (
            np.ma.masked_array([1, 2, 3], [0, 1, 0]),
            "expected a value in row 1, received a masked one",
        ),
    ):
        with pytest.raises(DataError, match=message):
            og.EmbeddingSet(np.eye(3), labels)


def test_labels_are_copied_and_cannot_be_changed() -> None:
    y = np.array([0, 0, 1])
    kept = og.EmbeddingSet(np.eye(3), y)
    y[:] = 5
    assert kept.labels.tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="read-only"):
        kept.labels[0] = 1


def test_arrays_of_other_libraries() -> None:
    import pandas as pd
    import torch

    X = torch.eye(3)
    kept = og.EmbeddingSet(X, pd.Series(["a", "b", "b"]))
    assert kept.labels.tolist() == ["a", "b", "b"]
    for bad in (
        X.bfloat16(),
        torch.eye(3, requires_grad=True),
        np.ma.masked_array(np.eye(3), np.eye(3)),
    ):
        with pytest.raises(DataError, match="embeddings: expected"):
            og.EmbeddingSet(bad)


def test_subset_keeps_everything_together(rng: np.random.Generator) -> None:
    X = rng.standard_normal((6, 4))
    whole = og.EmbeddingSet(
        X, list("aabbcc"), ids=range(6), tenants=[0, 0, 0, 1, 1, 1], label_space="s"
    )
    part = whole.subset([4, -6])
    np.testing.assert_array_equal(part.embeddings, whole.embeddings[[4, 0]])
    assert part.labels.tolist() == ["c", "a"]
    assert part.ids.tolist() == [4, 0]
    assert part.tenants.tolist() == [1, 0]
    assert part.label_space == "s"
    assert len(whole.subset(whole.labels == "b")) == 2
    assert repr(part) == "EmbeddingSet(n=2, dim=4, classes=2)"
    with pytest.raises(DataError, match=r"expected a mask of shape \(6,\), received \(3,\)"):
        whole.subset([True, False, True])
    with pytest.raises(IndexError):
        whole.subset([6])
    for nothing in (whole.labels == "z", []):
        with pytest.raises(DataError, match="expected at least one vector"):
            whole.subset(nothing)
    with pytest.raises(DataError, match="expected a list of row numbers, received float64"):
        whole.subset([0.5])


def test_sample(rng: np.random.Generator) -> None:
    whole = og.EmbeddingSet(rng.standard_normal((50, 3)), ids=np.arange(50))
    a, b = whole.sample(10, seed=3), whole.sample(10, seed=3)
    np.testing.assert_array_equal(a.ids, b.ids)
    assert len(np.unique(a.ids)) == 10
    assert len(whole.sample(100)) == 50
    with pytest.raises(DataError, match="expected a sample of 1 row or more, received 0"):
        whole.sample(0)
    labelled = og.EmbeddingSet(rng.standard_normal((50, 3)), np.arange(50) % 5)
    with pytest.raises(DataError, match="expected a share in"):
        labelled.split_classes(1.5)


def test_split_classes_as_the_data_sets_do(rng: np.random.Generator) -> None:
    y = rng.integers(30, size=400)
    cal, test = og.EmbeddingSet(rng.standard_normal((400, 3)), y).split_classes(0.1, seed=5)
    q = np.random.default_rng(5).permutation(np.unique(y))
    assert set(cal.labels) == set(q[:3])
    assert set(test.labels) == set(q[3:])
    assert len(cal) + len(test) == 400
    with pytest.raises(DataError, match="expected more than 2 classes to split, received 2"):
        og.EmbeddingSet(np.eye(4), [0, 0, 1, 1]).split_classes()


def test_blocks_are_the_set_in_order(rng: np.random.Generator) -> None:
    s = og.EmbeddingSet(rng.standard_normal((10, 3)))
    blocks = list(s.blocks(4))
    assert [len(b) for b in blocks] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate(blocks), s.embeddings)


def labelled(labels: list[object], dim: int = 3, **kwargs: str) -> og.EmbeddingSet:
    return og.EmbeddingSet(np.ones((len(labels), dim)), labels, **kwargs)  # type: ignore[arg-type]


def test_open_world_accepts_disjoint_sets() -> None:
    check_open_world(labelled([0, 0, 1]), labelled([2, 2, 3]), labelled([4, 5, 5]))
    check_open_world(labelled([0, 0, 1]), labelled([2, 2, 3]), og.EmbeddingSet(np.ones((2, 3))))
    check_open_world(
        labelled([0, 0, 1]), labelled([2, 2, 3]), labelled([0, 2, 2], label_space="birds")
    )


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (
            ([0, 0, 1], [1, 1, 2]),
            r"cal: expected classes of D_cal that are not in D_train, received 1 shared \(1\).*label_space",
        ),
        (
            ([0, 0, 1], [2, 2, 3], [3, 3, 5]),
            "test: expected classes of D_test that are not in D_cal",
        ),
        (([0, 0, 1], [2, 2, 3], [0, 1, 5]), r"not in D_train, received 2 shared \(0, 1\)"),
        (([0, 0, 1], ["1", "1", "2"]), r"not in D_train, received 1 shared \('1'\)"),
        (([0, 0, 0], [2, 2, 3]), "train: expected two classes or more, received 1"),
        (([0, 0, 1], [2, 3, 4]), "cal: expected a class with two rows or more"),
    ],
)
def test_open_world_refuses(sets: tuple[list[int], ...], message: str) -> None:
    names = ("train", "cal", "test")
    built = [labelled(list(y), source=name) for y, name in zip(sets, names, strict=False)]
    with pytest.raises(DataError, match=message):
        check_open_world(*built)


def test_open_world_refuses_another_dimension_and_missing_labels() -> None:
    train, cal = labelled([0, 0, 1]), labelled([2, 2, 3], dim=4, source="cal.npz")
    with pytest.raises(
        DataError, match="cal.npz: expected dimension 3 as in embeddings, received 4"
    ):
        check_open_world(train, cal)
    with pytest.raises(DataError, match="expected labels, received a set without them"):
        check_open_world(og.EmbeddingSet(np.ones((2, 3))), train)
