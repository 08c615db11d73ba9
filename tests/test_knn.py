import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opengcn.knn
from opengcn.errors import DataError, OpenGCNError
from opengcn.knn import knn


def unit(X):
    X = np.asarray(X, np.float64)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def naive(X, k):
    wide = X.astype(np.float64)
    n = len(X)
    index, similarity = np.empty((n, k), np.int64), np.empty((n, k), np.float32)
    for i in range(n):
        s = np.clip([np.float32(np.sum(wide[i] * row)) for row in wide], -1, 1)
        s[i] = 2  # the row itself comes first
        index[i] = sorted(range(n), key=lambda j: (-s[j], j))[:k]
        similarity[i] = np.minimum(s[index[i]], 1)
    return index, similarity


def same_up_to_float64_rounding(found, expected):
    """One float32 step of slack in the values; where values differ, order may too."""
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=2**-23)
    agree = found[1] == expected[1]
    assert (found[0] == expected[0])[agree.all(axis=1)].all()


@st.composite
def vectors(draw):
    n = draw(st.integers(1, 60))
    dimension = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):  # few distinct directions: ties everywhere
        X = rng.integers(-1, 2, (n, dimension)).astype(float)
        X[~X.any(axis=1), 0] = 1
    else:
        X = rng.standard_normal((n, dimension))
    copies = draw(st.integers(1, 10))
    return unit(X[rng.integers(0, max(1, n // copies), n)]), draw(st.integers(1, n))


@given(vectors(), st.sampled_from([1, 3, 8, 1024]), st.integers(1, 3))
def test_equals_the_naive_search_on_any_tiling(data, panel, threads):
    X, k = data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opengcn.knn, "PANEL", panel)
        same_up_to_float64_rounding(knn(X, k, threads=threads), naive(X, k))


def test_duplicated_rows_tie_exactly_whatever_the_tiling_and_the_threads(monkeypatch):
    rng = np.random.default_rng(0)
    X = unit(np.repeat(rng.standard_normal((300, 128)), 10, axis=0))[rng.permutation(3000)]
    index, similarity = knn(X, 25)
    assert (np.diff(similarity) <= 0).all()
    ties = similarity[:, 1:-1] == similarity[:, 2:]
    assert (index[:, 1:-1] < index[:, 2:])[ties].all()
    np.testing.assert_array_equal(similarity[:, 1], similarity[:, 9])  # nine copies of each row
    for panel, threads in ((257, 3), (130, 1), (1024, 2)):
        monkeypatch.setattr(opengcn.knn, "PANEL", panel)
        again = knn(X, 25, threads=threads)
        np.testing.assert_array_equal(index, again[0])
        np.testing.assert_array_equal(similarity, again[1])


def test_all_rows_identical():
    X = unit(np.ones((700, 5)))
    index, similarity = knn(X, 4)
    np.testing.assert_array_equal(index[5], [5, 0, 1, 2])
    np.testing.assert_array_equal(index[0], [0, 1, 2, 3])
    assert (similarity <= 1).all()


def test_smallest_inputs():
    X = unit([[1.0, 0.0], [-1.0, 0.0]])
    np.testing.assert_array_equal(knn(X[:1], 1)[0], [[0]])
    index, similarity = knn(X, 2)
    np.testing.assert_array_equal(index, [[0, 1], [1, 0]])
    np.testing.assert_array_equal(similarity, [[1, -1], [1, -1]])


@pytest.mark.parametrize("k", [0, 4])
def test_k_out_of_range(k):
    with pytest.raises(OpenGCNError, match=f"expected 1 to 3.*received {k}"):
        knn(unit(np.eye(3)), k)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0, 3.0])
def test_rows_must_be_unit_vectors(bad):
    X = unit(np.eye(4))
    X[2, 2] = bad
    with pytest.raises(DataError, match="row 2"):
        knn(X, 2)


def test_import_leaves_torch_alone():
    code = "import sys, opengcn.knn; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
