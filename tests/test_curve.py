from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcn import OpenGCNError, OpenGCNWarning, OperatingCurve, Threshold
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError
from opengcn.pairs import GRID


def random_curve(seed: int) -> OperatingCurve:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 60))
    y = np.r_[0, 0, 1, rng.integers(4, size=n - 3)]
    X = rng.standard_normal((4, 6))[y] + rng.random() * rng.standard_normal((n, 6))
    return OperatingCurve.from_labels(X, y)


@given(st.integers(0, 10_000))
def test_curve_is_monotone_and_in_the_unit_interval(seed: int) -> None:
    curve = random_curve(seed)
    for rate, sign in ((curve.tpr, 1), (curve.tnr, -1)):
        assert rate.shape == (201,)
        assert ((rate >= 0) & (rate <= 1)).all()
        assert (sign * np.diff(rate) >= 0).all()
    assert curve.tpr[0] == 0
    assert curve.tnr[0] == 1


@given(st.integers(0, 10_000))
def test_exact_curve_ignores_order_and_rotation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.r_[0, 0, 1, rng.integers(5, size=57)]
    X = EmbeddingSet(rng.standard_normal((5, 8))[y] + 0.5 * rng.standard_normal((60, 8))).embeddings
    curve = OperatingCurve.from_labels(X, y)
    order = rng.permutation(60)
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    for other in (
        OperatingCurve.from_labels(X[order], y[order]),
        OperatingCurve.from_labels(X @ Q, y),
        OperatingCurve.from_labels(7.0 * X, np.array(list("abcde"))[y]),
    ):
        # Rounding may carry a pair over an edge, no more.
        assert np.abs(other.tpr - curve.tpr).max() <= 3 / (curve_pairs(y)[0])
        assert np.abs(other.tnr - curve.tnr).max() <= 3 / (curve_pairs(y)[1])


def curve_pairs(y: np.ndarray) -> tuple[int, int]:
    sizes = np.bincount(y)
    same = int((sizes * (sizes - 1) // 2).sum())
    return same, len(y) * (len(y) - 1) // 2 - same


def test_rates_of_a_set_done_by_hand() -> None:
    # Angles of 0 and 50 degrees are one class, 180 degrees is the other.
    angle = np.deg2rad([0, 50, 180])
    curve = OperatingCurve.from_labels(np.c_[np.cos(angle), np.sin(angle)], [1, 1, 2])
    near, far = 2 * np.sin(np.deg2rad(25)), 2 * np.sin(np.deg2rad(65))
    np.testing.assert_array_equal(curve.tpr, (near < GRID).astype(float))
    expected = 1 - ((far < GRID) + 0.0) / 2
    np.testing.assert_array_equal(curve.tnr[:-1], expected[:-1])
    assert curve.source == "exact"


def test_from_labels_takes_a_set_or_arrays(rng: np.random.Generator) -> None:
    X, y = rng.standard_normal((30, 5)), rng.integers(3, size=30)
    assert OperatingCurve.from_labels(EmbeddingSet(X, y)) == OperatingCurve.from_labels(X, y)
    with pytest.raises(OpenGCNError, match="expected none beside an EmbeddingSet"):
        OperatingCurve.from_labels(EmbeddingSet(X, y), y)
    with pytest.raises(DataError, match="expected labels"):
        OperatingCurve.from_labels(X)


def test_weighted_curve_with_true_weights_is_the_exact_curve(rng: np.random.Generator) -> None:
    X, y = rng.standard_normal((60, 5)), rng.integers(3, size=60)
    exact = OperatingCurve.from_labels(X, y)
    weighted = OperatingCurve.from_weights(X, y[:, None] == y[None], source="exact")
    np.testing.assert_allclose(weighted.tpr, exact.tpr, atol=1e-12)
    np.testing.assert_allclose(weighted.tnr, exact.tnr, atol=1e-12)
    with pytest.raises(DataError, match=r"expected shape \(60, 60\)"):
        OperatingCurve.from_weights(X, np.ones((3, 3)))


def test_threshold_hits_its_target_and_no_more() -> None:
    curve = random_curve(3)
    for target in (0.05, 0.5, 0.8, 0.9, 0.999, 1.0):
        found = curve.threshold(tpr=target)
        assert found.tpr == pytest.approx(target, abs=1e-9)
        assert found.target == f"tpr >= {target:g}"
        below = curve.at(max(found.distance - 1e-6, 0)).tpr
        assert below < target  # it is the smallest
        found = curve.threshold(tnr=target)
        assert found.tnr >= target - 1e-12
        if found.distance < 2:
            assert curve.at(min(found.distance + 1e-6, 2)).tnr < target  # it is the largest


def test_threshold_on_the_grid() -> None:
    curve = random_curve(5)
    found = curve.threshold(tpr=0.8, grid=True)
    k = round(found.distance * 100)
    assert found.distance == GRID[k]
    assert curve.tpr[k] >= 0.8 > curve.tpr[k - 1]
    found = curve.threshold(tnr=0.8, grid=True)
    k = round(found.distance * 100)
    assert curve.tnr[k] >= 0.8 > curve.tnr[k + 1]


def test_threshold_on_flat_stretches() -> None:
    tpr = np.where(GRID < 0.5, 0.0, np.where(GRID < 1.0, 0.6, 1.0))
    tnr = np.where(GRID <= 0.7, 1.0, np.where(GRID <= 1.2, 0.9, 0.0))
    curve = OperatingCurve(tpr, tnr)
    assert curve.threshold(tpr=0.6).distance == pytest.approx(0.5)
    assert curve.threshold(tnr=0.9).distance == pytest.approx(1.2)
    assert curve.threshold(tnr=1.0).distance == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({}, "received neither"),
        ({"tpr": 0.9, "tnr": 0.9}, "received both"),
        ({"tpr": 0.0}, r"expected tpr in \(0, 1\], received 0"),
        ({"tnr": 1.5}, r"expected tnr in \(0, 1\], received 1.5"),
        ({"tpr": float("nan")}, r"received nan"),
        ({"tpr": 90}, r"received 90"),
    ],
)
def test_bad_targets(targets: dict[str, float], message: str) -> None:
    with pytest.raises(OpenGCNError, match=message):
        random_curve(0).threshold(**targets)


def test_unreachable_tpr_says_why() -> None:
    curve = OperatingCurve.from_labels([[1.0, 0], [-1, 0], [0, 1]], [0, 0, 1])
    assert curve.tpr[-1] == 0  # the only true match lies at distance 2, and 2 < 2 is false
    with pytest.raises(OpenGCNError, match="received a curve that ends at 0.000000 at distance 2"):
        curve.threshold(tpr=0.5)


def test_no_positive_pair_is_nan_with_a_warning(rng: np.random.Generator) -> None:
    with pytest.warns(OpenGCNWarning, match="no same-class pair") as caught:
        curve = OperatingCurve.from_labels(rng.standard_normal((5, 3)), np.arange(5))
    assert caught[0].filename == __file__
    assert np.isnan(curve.tpr).all()
    assert curve.threshold(tnr=0.9).distance > 0
    with pytest.raises(OpenGCNError, match="without any pair behind it"):
        curve.threshold(tpr=0.9)
    with pytest.raises(OpenGCNError, match="without any pair behind it"):
        random_curve(0).mae(curve)
    assert OperatingCurve.from_json(curve.to_json()) == curve


def test_no_negative_pair_is_nan_with_a_warning(rng: np.random.Generator) -> None:
    with pytest.warns(OpenGCNWarning, match="no different-class pair"):
        curve = OperatingCurve.from_labels(rng.standard_normal((5, 3)), np.zeros(5, int))
    assert np.isnan(curve.tnr).all()
    assert "an unknown share" in str(curve.threshold(tpr=0.9))


def test_a_single_row_has_neither(rng: np.random.Generator) -> None:
    with pytest.warns(OpenGCNWarning):
        curve = OperatingCurve.from_labels([[1.0, 2.0]], ["a"])
    assert np.isnan(curve.tpr).all()
    assert np.isnan(curve.tnr).all()


@given(st.integers(0, 10_000))
def test_json_round_trip_is_the_identity(seed: int) -> None:
    curve = random_curve(seed)
    assert OperatingCurve.from_json(curve.to_json()) == curve
    assert json.loads(curve.to_json())["distances"][93] == 0.93


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"tpr": [1], "tnr": 3}', '{"tpr": "x", "tnr": 1}']
)
def test_bad_json(text: str) -> None:
    with pytest.raises(DataError, match="operating curve: expected"):
        OperatingCurve.from_json(text)


def test_json_of_another_grid_is_refused() -> None:
    text = json.loads(random_curve(0).to_json())
    text["distances"] = [2 * d for d in text["distances"]]
    with pytest.raises(DataError, match="expected distances 0, 0.01, ..., 2"):
        OperatingCurve.from_json(json.dumps(text))


def test_info_is_plain() -> None:
    curve = OperatingCurve(GRID / 2, 1 - GRID / 2, info={"n": np.int64(3), "error": np.nan})
    assert curve.info == {"n": 3, "error": None}
    assert OperatingCurve.from_json(curve.to_json()) == curve


@given(st.integers(0, 10_000))
def test_weighted_curves_reach_every_target(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.random((20, 20))
    curve = OperatingCurve.from_weights(
        rng.standard_normal((20, 4)), p.astype(rng.choice(["f2", "f4", ">f8"]))
    )
    for target in (0.3, 0.5, 0.7, 0.75, 0.9, 1.0):
        assert curve.threshold(tpr=target).tpr >= target
        assert curve.threshold(tnr=target).tnr >= target


def test_weights_that_are_no_numbers() -> None:
    with pytest.raises(DataError, match="pair weights: expected numbers"):
        OperatingCurve.from_weights(np.eye(3), np.full((3, 3), "a"))


def test_data_frame() -> None:
    curve = random_curve(1)
    frame = curve.to_frame()
    assert list(frame.columns) == ["distance", "cosine", "tpr", "tnr"]
    assert len(frame) == 201
    np.testing.assert_array_equal(frame["tpr"].to_numpy(), curve.tpr)


def test_plot_draws_both_rates() -> None:
    import matplotlib.pyplot as plt

    curve = random_curve(1)
    ax = curve.plot()
    other = random_curve(2).plot(ax, label="other", color="black")
    assert other is ax
    assert len(ax.lines) == 4
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), curve.tpr)
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), curve.tnr)
    assert ax.lines[3].get_color() == "black"
    plt.close(ax.figure)


@pytest.mark.parametrize(
    ("tpr", "tnr", "message"),
    [
        (GRID[:-1] / 2, 1 - GRID / 2, r"expected tpr of shape \(201,\)"),
        (GRID, 1 - GRID / 2, r"expected tpr in \[0, 1\], received 1.01"),
        (1 - GRID / 2, 1 - GRID / 2, "expected tpr never to fall"),
        (GRID / 2, GRID / 2, "expected tnr never to rise"),
        (np.where(GRID > 1, np.nan, 0), 1 - GRID / 2, r"received nan at distance 1.01"),
    ],
)
def test_curves_that_are_none_are_refused(tpr: np.ndarray, tnr: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=message):
        OperatingCurve(tpr, tnr)


def test_repr_is_short() -> None:
    curve = OperatingCurve(GRID / 2, 1 - GRID / 2, "exact")
    assert repr(curve) == "OperatingCurve('exact', TPR 90% at 1.800, TNR 99% at 0.020)"
    nothing = OperatingCurve(np.full(201, np.nan), 1 - GRID / 2)
    assert repr(nothing) == "OperatingCurve('', TNR 99% at 0.020)"


def test_curves_cannot_be_changed() -> None:
    curve = random_curve(1)
    with pytest.raises(ValueError, match="read-only"):
        curve.tpr[0] = 1
    assert curve != "a curve"


def banded() -> OperatingCurve:
    rise = np.clip(GRID - 0.5, 0, 1)
    return OperatingCurve(
        rise,
        1 - rise**2,
        "made",
        tpr_low=np.clip(GRID - 0.6, 0, 1),
        tpr_high=np.clip(GRID - 0.4, 0, 1),
        tnr_low=np.minimum(1 - rise**2, 1 - rise),
        tnr_high=np.ones(201),
    )


def test_a_band_goes_into_thresholds() -> None:
    curve = banded()
    found = curve.threshold(tpr=0.5)
    assert found.distance == pytest.approx(1.0)
    assert (found.tpr_low, found.tpr_high) == pytest.approx((0.4, 0.6))
    assert (found.distance_low, found.distance_high) == pytest.approx((0.9, 1.1))
    assert (found.tnr_low, found.tnr_high) == pytest.approx((0.5, 1.0))
    strict = curve.threshold(tnr=0.75)
    assert (strict.distance_low, strict.distance_high) == pytest.approx((0.75, 2.0))
    assert "90 % sure: TPR 40.00 % to 60.00 %" in str(found)
    assert Threshold.from_json(found.to_json()) == found


def test_confidence_moves_to_the_safe_side() -> None:
    curve = banded()
    at = [curve.threshold(tpr=0.5, confidence=c).distance for c in (0.5, 0.8, 0.95, 0.99)]
    assert at[0] == pytest.approx(curve.threshold(tpr=0.5).distance)
    assert at[2] == pytest.approx(1.1)
    assert at == sorted(at)
    safe = curve.threshold(tnr=0.75, confidence=0.95)
    assert safe.distance == pytest.approx(0.75)
    assert safe.target == "tnr >= 0.75 with confidence 0.95"
    weak = OperatingCurve(
        GRID / 2,
        1 - GRID / 2,
        tpr_low=GRID / 4,
        tpr_high=GRID / 2,
        tnr_low=0.9 - 0.9 * GRID / 2,
        tnr_high=1 - GRID / 2,
    )
    assert weak.threshold(tnr=0.95, confidence=0.95).distance == 0  # sure at no distance
    assert weak.threshold(tpr=0.9, confidence=0.95).distance == 2
    with pytest.raises(OpenGCNError, match=r"expected confidence in \[0.5, 1\)"):
        curve.threshold(tpr=0.5, confidence=1.0)
    plain = OperatingCurve(curve.tpr, curve.tnr)
    with pytest.raises(OpenGCNError, match="expected a curve with a band"):
        plain.threshold(tpr=0.5, confidence=0.9)


def test_a_band_is_kept_in_json_and_frames() -> None:
    curve = banded()
    again = OperatingCurve.from_json(curve.to_json())
    assert again == curve
    assert again != OperatingCurve(curve.tpr, curve.tnr, "made")
    frame = curve.to_frame()
    np.testing.assert_array_equal(frame["tpr_low"], curve.tpr_low)
    ax = curve.plot()
    assert len(ax.collections) == 2


def test_a_band_must_hold_the_curve() -> None:
    curve = banded()
    with pytest.raises(DataError, match="expected all of tpr_low"):
        OperatingCurve(curve.tpr, curve.tnr, tpr_low=curve.tpr)
    with pytest.raises(DataError, match="expected tpr_low <= tpr <= tpr_high"):
        OperatingCurve(
            curve.tpr,
            curve.tnr,
            tpr_low=curve.tpr_high,
            tpr_high=curve.tpr_high,
            tnr_low=curve.tnr,
            tnr_high=curve.tnr,
        )
