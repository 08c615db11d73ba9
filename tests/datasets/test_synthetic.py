from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import opengcn as og
from opengcn.datasets import synthetic, synthetic_truth
from opengcn.errors import DataError

mixtures = st.fixed_dictionaries(
    {
        "n_classes": st.integers(1, 40),
        "samples": st.integers(1, 12),
        "dim": st.integers(2, 40),
        "concentration": st.floats(0, 1e5),
        "size_law": st.sampled_from(["balanced", "zipf"]),
        "seed": st.integers(0, 2**32),
    }
)


def mean_same_class_cosines(data: og.EmbeddingSet, samples: int) -> Any:
    """Return the mean cosine of different vectors of each class, of shape (n_classes,)."""
    X = data.embeddings.astype(np.float64).reshape(-1, samples, data.dim)
    return ((X.sum(axis=1) ** 2).sum(axis=1) - samples) / (samples * (samples - 1))


def bessel_ratio(dim: int, kappa: float) -> float:
    return float(special.ive(dim / 2, kappa) / special.ive(dim / 2 - 1, kappa))


@given(mixtures)
def test_unit_vectors_with_all_labels(mixture: dict[str, Any]) -> None:
    data = synthetic(**mixture)
    assert data.embeddings.shape == (mixture["n_classes"] * mixture["samples"], mixture["dim"])
    np.testing.assert_allclose(np.linalg.norm(data.embeddings, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(np.unique(data.labels), np.arange(mixture["n_classes"]))


@given(mixtures)
def test_sizes(mixture: dict[str, Any]) -> None:
    sizes = np.bincount(synthetic(**mixture).require_labels())
    if mixture["size_law"] == "balanced":
        assert set(sizes) == {mixture["samples"]}
    assert sizes.min() >= 1
    assert sizes.sum() == mixture["n_classes"] * mixture["samples"]
    assert (np.diff(sizes) <= 0).all()


def test_zipf_sizes_fall_as_one_over_the_rank() -> None:
    sizes = np.bincount(synthetic(100, 1000, 2, size_law="zipf").require_labels())
    np.testing.assert_allclose(sizes / sizes[0], 1 / np.arange(1, 101), rtol=0.15)


@given(mixtures)
def test_same_seed_same_bits(mixture: dict[str, Any]) -> None:
    first, again = synthetic(**mixture), synthetic(**mixture)
    assert first.embeddings.tobytes() == again.embeddings.tobytes()
    other = synthetic(**{**mixture, "seed": mixture["seed"] + 1})
    assert first.embeddings.tobytes() != other.embeddings.tobytes()


@pytest.mark.parametrize("dim", [2, 3, 16, 128])
@pytest.mark.parametrize("kappa", [0.0, 2.0, 50.0, 1000.0])
def test_mean_cosines(dim: int, kappa: float) -> None:
    data = synthetic(300, 40, dim, concentration=np.full(300, kappa), seed=1)
    same = mean_same_class_cosines(data, 40)
    error = same.std() / np.sqrt(300)
    assert abs(same.mean() - bessel_ratio(dim, kappa) ** 2 if kappa else same.mean()) < 4 * error
    centres = data.embeddings.astype(np.float64).reshape(300, 40, dim).mean(axis=1)
    different = (centres @ centres.T)[np.triu_indices(300, 1)]
    assert abs(different.mean()) < 4 * different.std() / np.sqrt(300 / 2)


def test_cosine_to_the_mean_has_the_density_of_von_mises_and_fisher() -> None:
    # In three dimensions the share of vectors within a cosine of the mean is elementary.
    kappa = 5.0
    X = synthetic(1, 200_000, 3, concentration=[kappa]).embeddings.astype(np.float64)
    mean = X.mean(axis=0) / np.linalg.norm(X.mean(axis=0))
    cosine = np.linspace(-0.5, 1, 30)
    expected = -np.expm1(-kappa * (1 - cosine)) / -np.expm1(-2 * kappa)
    measured = (X @ mean >= cosine[:, None]).mean(axis=1)
    np.testing.assert_allclose(measured, expected, atol=0.005)


def test_classes_have_their_own_concentration() -> None:
    data = synthetic(200, 50, 64, concentration=100.0, seed=2)
    same = mean_same_class_cosines(data, 50)
    one = synthetic(200, 50, 64, concentration=np.full(200, 100.0), seed=2)
    assert same.std() > 4 * mean_same_class_cosines(one, 50).std()
    # The median class has the concentration asked for.
    assert np.median(same) == pytest.approx(bessel_ratio(64, 100.0) ** 2, abs=0.05)


@pytest.mark.parametrize("size_law", ["balanced", "zipf"])
@pytest.mark.parametrize(("dim", "kappa"), [(2, 30.0), (3, 4.0), (32, 40.0), (128, 300.0)])
def test_truth_is_the_expectation_of_the_curve(dim: int, kappa: float, size_law: Any) -> None:
    mixture: dict[str, Any] = {
        "n_classes": 30,
        "samples": 10,
        "dim": dim,
        "concentration": np.geomspace(kappa / 3, 3 * kappa, 30),
        "size_law": size_law,
    }
    truth = synthetic_truth(**mixture)
    draws = 60
    curves = [
        og.OperatingCurve.from_labels(synthetic(**mixture, seed=seed), threads=1, progress=False)
        for seed in range(draws)
    ]
    for rate in ("tpr", "tnr"):
        rates = np.stack([getattr(curve, rate) for curve in curves])
        error = rates.std(axis=0) / np.sqrt(draws)
        assert error.max() < 0.02  # or the next line would let anything pass
        assert (np.abs(rates.mean(axis=0) - getattr(truth, rate)) < 4 * error + 1e-3).all(), rate


def test_truth_knows_the_concentrations_that_a_seed_draws() -> None:
    mixture: dict[str, Any] = {"n_classes": 200, "samples": 50, "dim": 32, "concentration": 40.0}
    exact = og.OperatingCurve.from_labels(synthetic(**mixture, seed=4), progress=False)
    off = np.abs(exact.tpr - synthetic_truth(**mixture, seed=4).tpr).max()
    assert off < 0.01
    mixture["concentration"] = np.full(200, 40.0)
    assert np.abs(exact.tpr - synthetic_truth(**mixture).tpr).max() > 2 * off


def test_truth_has_the_known_mean_and_tail() -> None:
    dim, kappa = 48, 80.0
    truth = synthetic_truth(2, 10, dim, concentration=[kappa, kappa])
    # The mean of d^2 = 2 - 2 cos, by parts: the integral of 2 d (1 - TPR(d)).
    d = truth.distances
    squared = np.trapezoid(2 * d * (1 - truth.tpr), d)
    assert squared == pytest.approx(2 - 2 * bessel_ratio(dim, kappa) ** 2, abs=2e-4)
    cosine = 1 - d**2 / 2
    half = special.betainc((dim - 1) / 2, 0.5, 1 - cosine**2) / 2
    np.testing.assert_allclose(truth.tnr, np.where(cosine > 0, 1 - half, half), atol=1e-5)


def test_truth_without_pairs_is_nan() -> None:
    assert np.isnan(synthetic_truth(5, 1).tpr).all()
    assert np.isnan(synthetic_truth(1, 5).tnr).all()
    assert not np.isnan(synthetic_truth(1, 5).tpr).any()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"n_classes": 0}, "n_classes: expected 1 or more, received 0"),
        ({"samples": 0}, "samples: expected 1 or more, received 0"),
        ({"dim": 1}, "dim: expected 2 or more, received 1"),
        ({"size_law": "flat"}, "size_law: expected 'balanced' or 'zipf', received 'flat'"),
        ({"concentration": [1.0, 2.0]}, r"one for each of 50 classes, received shape \(2,\)"),
        ({"concentration": -1.0}, "concentration: expected finite .* received -1.0"),
        ({"concentration": float("inf")}, "concentration: expected finite .* received inf"),
    ],
)
def test_wrong_arguments(keywords: dict[str, Any], message: str) -> None:
    for function in (synthetic, synthetic_truth):
        with pytest.raises(DataError, match=message):
            function(**keywords)


@pytest.mark.slow
def test_large_set() -> None:
    assert len(synthetic(1000, 100, 128)) == 100_000
