import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

from opengcn.calibrators.lander import Lander
from opengcn.clustering_metrics import bcubed_f
from opengcn.errors import DataError, OpenGCNError

SMALL = {"hidden": 64, "rounds": 40, "batch_size": 256, "learning_rate": 3e-3}


@pytest.fixture(scope="module")
def model(clumps):
    return Lander(**SMALL).fit(*clumps(40, 20))


def test_unseen_classes_are_found(model, clumps):
    X, y = clumps(30, 20, seed=1)
    scores = [bcubed_f(y, cluster).f for cluster in model.cluster_many(X, [0.3, 0.5, 0.7])]
    assert max(scores) > 0.8


@pytest.mark.parametrize("variant", [{"convolution": "mean"}, {"cluster_features": True}])
def test_variants_find_them_too(clumps, variant):
    model = Lander(**SMALL, **variant).fit(*clumps(40, 20))
    X, y = clumps(30, 20, seed=1)
    scores = [bcubed_f(y, cluster).f for cluster in model.cluster_many(X, [0.3, 0.5, 0.7])]
    assert max(scores) > 0.6


def test_many_thresholds_give_what_one_at_a_time_gives(model, clumps):
    X, _ = clumps(10, 20, seed=2)
    taus = [0.0, 0.2, 0.5, 0.9, 1.0]
    for tau, cluster in zip(taus, model.cluster_many(X, taus), strict=True):
        np.testing.assert_array_equal(cluster, model.cluster(X, tau))
        np.testing.assert_array_equal(np.unique(cluster), np.arange(cluster.max() + 1))
    np.testing.assert_array_equal(model.cluster(X, 1.0), np.arange(len(X)))


def test_same_seed_same_bits_and_the_global_random_state_stays(clumps):
    X, y = clumps(10, 20)
    before = torch.random.get_rng_state()
    first, again, other = (Lander(**SMALL, seed=seed).fit(X, y).to_arrays() for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), before)
    for name, array in first.items():
        np.testing.assert_array_equal(array, again[name])
    assert (first["merge.weight"] != other["merge.weight"]).any()


@pytest.mark.parametrize("variant", [{}, {"convolution": "mean", "cluster_features": True}])
def test_arrays_restore_the_model(clumps, variant):
    X, y = clumps(10, 20)
    model = Lander(**SMALL, **variant).fit(X, y)
    before = torch.random.get_rng_state()
    restored = Lander.from_arrays(model.to_arrays(), **SMALL, **variant)
    assert torch.equal(torch.random.get_rng_state(), before)
    np.testing.assert_array_equal(restored.cluster(X, 0.5), model.cluster(X, 0.5))


def test_arrays_of_another_model_are_refused(model):
    arrays = model.to_arrays()
    with pytest.raises(OpenGCNError, match="expected the weights of Lander"):
        Lander.from_arrays(arrays, hidden=128)
    del arrays["merge.bias"]
    with pytest.raises(OpenGCNError, match=r"merge\.bias"):
        Lander.from_arrays(arrays, **SMALL)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 11, 50])
def test_small_sets_are_clustered(model, clumps, n):
    X, _ = clumps(5, 10, seed=3)
    cluster = model.cluster(X[:n], 0.5)
    assert cluster.shape == (n,)
    np.testing.assert_array_equal(np.unique(cluster), np.arange(cluster.max() + 1))


@pytest.mark.parametrize("n", [2, 5, 10, 11, 300])
def test_identical_rows_are_one_cluster(model, clumps, n):
    X = np.tile(clumps(1, 1, seed=4)[0], (n, 1))
    np.testing.assert_array_equal(model.cluster(X, 0.5), np.zeros(n))


def test_copies_change_nothing(model, clumps):
    X, _ = clumps(10, 10, seed=5)
    copy_of = np.random.default_rng(0).permutation(np.repeat(np.arange(100), 10))
    _, first = np.unique(copy_of, return_index=True)
    order = np.argsort(np.sort(first).searchsorted(first))  # samples by their first copy
    once = model.cluster(X[order], 0.5)
    expected = once[np.argsort(order)[copy_of]]
    np.testing.assert_array_equal(model.cluster(X[copy_of], 0.5), expected)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
@pytest.mark.parametrize("kind", ["one class", "singletons", "identical rows"])
def test_any_training_set_gives_a_finite_model(clumps, n, kind):
    X, y = clumps(20, 2)
    X, y = X[:n], {"one class": np.zeros(n, int), "singletons": np.arange(n)}.get(kind, y[:n])
    if kind == "identical rows":
        X = np.tile(X[:1], (n, 1))
    model = Lander(**SMALL | {"rounds": 2}).fit(X, y)
    assert np.isfinite(model.loss_).all()
    assert all(np.isfinite(array).all() for array in model.to_arrays().values())
    assert model.cluster(clumps(5, 4)[0], 0.5).shape == (20,)


def test_read_only_input_is_fine(clumps):
    X, y = clumps(5, 4)
    X.flags.writeable = y.flags.writeable = False
    Lander(**SMALL | {"rounds": 1}).fit(X, y).cluster(X, 0.5)


def test_errors_name_what_was_expected_and_received(model, clumps):
    X, y = clumps(5, 4)
    with pytest.raises(NotFittedError):
        Lander().cluster(X, 0.5)
    with pytest.raises(DataError, match="expected 20 integers, received int64 of shape"):
        Lander(**SMALL).fit(X, y[:-1])
    with pytest.raises(DataError, match="expected 20 integers, received float64"):
        Lander(**SMALL).fit(X, y / 2)
    with pytest.raises(DataError, match="expected dimension 16 as in training, received 8"):
        model.cluster(np.eye(8, dtype=np.float32), 0.5)
    with pytest.raises(OpenGCNError, match="tau: expected 0 to 1, received nan"):
        model.cluster(X, np.nan)
    with pytest.raises(OpenGCNError, match="expected 'gat' or 'mean', received 'gcn'"):
        Lander(convolution="gcn").fit(X, y)
    with pytest.raises(DataError, match="norm"):
        model.cluster(2 * X, 0.5)


def test_package_import_leaves_torch_alone():
    code = "import sys, opengcn; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
