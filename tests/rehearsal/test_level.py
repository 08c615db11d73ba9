from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import opengcn as og
from opengcn.rehearsal import level as module
from opengcn.rehearsal.level import Level, Said
from opengcn.rehearsal.reference import Reference
from opengcn.rehearsal.worlds import World

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

D = 24


def classes(
    count: int, size: int, seed: int, *, width: float = 0.5, apart: float = 1.0
) -> tuple[Floats, Ints]:
    """Return classes that differ along the first eight axes, and vary along all."""
    rng = np.random.default_rng(seed)
    means = np.zeros((count, D))
    means[:, :8] = apart * rng.standard_normal((count, 8))
    X = np.repeat(means, size, axis=0) + width * rng.standard_normal((count * size, D))
    X[:, -1] += 3  # not all round the sphere
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X.astype(np.float32), np.repeat(np.arange(count), size)


def learned(rotation: Floats | None = None) -> Level:
    X, y = classes(60, 20, seed=0)
    if rotation is not None:
        X = X @ rotation
    return Level.learn(World.of(og.EmbeddingSet(X, y), np.random.default_rng(0)))


LEVEL = learned()
CAL = Reference.of_rows(*classes(30, 20, seed=1))


def truth(X: Floats, y: Ints) -> float:
    """Return how much larger same-class distances are than D_cal's."""
    return float(Reference.of_rows(X, y).quantiles.mean() - CAL.quantiles.mean())


def told(level: Level, X: Floats, cal: Reference = CAL, prior: float = 0.0) -> Said:
    said = level.of(X, cal, prior)
    assert said is not None
    return said


def found(X: Floats) -> float:
    return told(LEVEL, X).still


def test_wider_classes_are_seen() -> None:
    """Most of it: half of what is between classes counts as well, and has not changed."""
    assert found(classes(60, 20, seed=2)[0]) == pytest.approx(0, abs=0.02)
    for width in (0.4, 0.65):
        X, y = classes(60, 20, seed=2, width=width)
        assert 0.5 < found(X) / truth(X, y) < 1


def test_dcal_may_be_small_or_uneven() -> None:
    """On average over D_cals of one world, a set of that world is as far apart as they are."""
    X, y = classes(400, 20, seed=8)
    test, rng = X[4000:], np.random.default_rng(0)
    for sizes in ([5] * 4, [20] + [3] * 8):
        off = []
        for _ in range(40):
            chosen = rng.permutation(200)[: len(sizes)]
            rows = np.concatenate(
                [20 * c + np.arange(s) for c, s in zip(chosen, sizes, strict=True)]
            )
            cal = Reference.of_rows(X[rows], np.unique(y[rows], return_inverse=True)[1])
            off.append(told(LEVEL, test, cal)[:2])
        np.testing.assert_allclose(np.mean(off, 0), 0, atol=0.02)


def test_a_handful_of_rows_is_not_put_too_low() -> None:
    X, _ = classes(300, 1, seed=9)
    rng = np.random.default_rng(0)
    assert np.mean([found(X[rng.permutation(300)[:8]]) for _ in range(60)]) == pytest.approx(
        found(X), abs=0.02
    )


def test_few_classes_that_are_known_are_not_put_too_low() -> None:
    off = {prior: np.zeros(2) for prior in (0.0, 0.5)}  # of either level
    for seed in range(20):
        X, y = classes(2, 100, seed=50 + seed)
        for prior in off:
            off[prior] += (np.array(told(LEVEL, X, CAL, prior)[:2]) - truth(X, y)) / 20
    assert (off[0.0] < off[0.5]).all()
    assert (off[0.5] < 0.02).all()
    assert (np.abs(off[0.5]) < 0.7 * np.abs(off[0.0])).all()


def test_neither_rows_nor_classes_matter() -> None:
    X, _ = classes(200, 20, seed=3, width=0.65)
    rng = np.random.default_rng(0)
    for rows in (rng.permutation(4000)[:400], np.arange(400)):  # two of a class; twenty classes
        assert found(X[rows]) == pytest.approx(found(X), abs=0.03)


def test_it_lies_between_weaker_axes_and_closer_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """Class means half as far apart: 1 is right about that, and 0 takes some for tighter classes."""
    X, y = classes(200, 20, seed=4, apart=0.5)
    still, moved, _ = told(LEVEL, X)
    monkeypatch.setattr(module, "STILL", 0.0)
    assert told(learned(), X).still < still < moved
    assert moved == pytest.approx(truth(X, y), abs=0.03)


def test_axes_that_have_changed_unevenly_say_less() -> None:
    X, _ = classes(200, 20, seed=10)
    other = X.copy()
    other[:, :4] *= 3
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    assert told(LEVEL, other).error > 2 * told(LEVEL, X).error
    nearer = X.mean(0) + 0.5 * (X - X.mean(0))  # all axes alike
    uneven = [LEVEL._uneven(LEVEL._along(rows - rows.mean(0), len(X))[1]) for rows in (X, nearer)]
    assert uneven[1] == pytest.approx(uneven[0], abs=1e-3)


def test_the_error_is_what_is_hidden_and_how_uneven_axes_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The latter is a deviation weighted by D_train's variance, to the eighth power."""
    X, _ = classes(40, 10, seed=11)
    X[:, :2] *= 2
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    more, weight = [], []
    for axis, variance in zip(LEVEL.axes.T, LEVEL.variances, strict=True):
        more.append(float(np.log(np.var(X @ axis, ddof=1) / variance)))
        weight.append(float(variance))
    mean = sum(w * m for w, m in zip(weight, more, strict=True)) / sum(weight)
    slow = sum(w * (m - mean) ** 2 for w, m in zip(weight, more, strict=True)) / sum(weight)
    monkeypatch.setattr(module, "HIDDEN", 0.1)  # or else little of it here
    hidden = module.HIDDEN * (1 / LEVEL.left[0] - 1) ** 2
    unsure = replace(CAL, error=0.03)
    classes_ = module.CLASSES * 0.03 / CAL.quantiles.mean()
    chance = [module.SURE, classes_, module.ROWS / np.sqrt(len(X))]
    said = told(LEVEL, X, unsure)
    apart = abs(said.moved - said.still) / CAL.quantiles.mean()
    parts = [*chance, apart, hidden, (slow**0.5 / module.FOREIGN) ** 8]
    error = np.sqrt(np.square(parts).sum())
    assert min(parts) > 0.05 * error  # all matter
    assert said.error == pytest.approx(error, rel=1e-3)


def test_few_rows_and_few_classes_are_an_error() -> None:
    X, _ = classes(40, 25, seed=11)
    for rows in (40, 1000):
        for unsure in (0.01, 0.1):
            parts = [
                module.SURE,
                module.CLASSES * unsure / CAL.quantiles.mean(),
                module.ROWS / np.sqrt(rows),
                module.HIDDEN * (1 / LEVEL.left[0] - 1) ** 2,
            ]
            some = X[:: len(X) // rows]
            uneven = LEVEL._uneven(LEVEL._along(some - some.mean(0), rows - 1)[1])
            said = told(LEVEL, some, replace(CAL, error=unsure))
            apart = (said.moved - said.still) / CAL.quantiles.mean()
            error = np.linalg.norm([*parts, apart, (uneven / module.FOREIGN) ** 8])
            assert said.error == pytest.approx(error)


@pytest.mark.parametrize("axes", [4, D])
def test_what_is_left_of_the_variance_within_classes(
    axes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a shift; of all axes, those that are not looked along keep all of it."""
    monkeypatch.setattr(module, "AXES", axes)
    world = World.of(og.EmbeddingSet(*classes(60, 20, seed=0)), np.random.default_rng(0))
    level, within, kept = Level.learn(world), 0.0, 0.0
    for k in range(D):
        own = float(world.spread[k]) ** 2 * (1 - float(world.telling[k]))
        same = np.abs(level.axes.T @ world.axes[:, k]) > 0.99
        weight = float(level.weights[1][same][0]) if same.any() else 0.0
        within, kept = within + own, kept + (1 - weight) * own
    assert level.left[0] == pytest.approx(kept / within, rel=1e-3)


def test_where_every_axis_tells_classes_apart_little_is_left_to_go_by() -> None:
    """Then the level is but the size of the set, which changes where class means do."""
    rng = np.random.default_rng(0)

    def isotropic(apart: float) -> tuple[Floats, Ints]:
        X = (apart * rng.standard_normal((60, D))).repeat(20, 0)
        X = X + 0.5 * rng.standard_normal(X.shape)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        return X.astype(np.float32), np.repeat(np.arange(60), 20)

    level = Level.learn(World.of(og.EmbeddingSet(*isotropic(1.0)), np.random.default_rng(0)))
    cal, (X, y) = Reference.of_rows(*isotropic(1.0)), isotropic(0.7)
    said, true = told(level, X, cal), Reference.of_rows(X, y).quantiles - cal.quantiles
    off = abs(said.moved - true.mean()) / cal.quantiles.mean()
    assert off > 0.1
    assert said.error > off / 2
    assert level.left[0] < 0.3 < LEVEL.left[0]


def test_rotations_change_nothing() -> None:
    rotation = np.linalg.qr(np.random.default_rng(5).standard_normal((D, D)))[0].astype(np.float32)
    X, _ = classes(40, 10, seed=6)
    cal = classes(30, 20, seed=1)
    turned = Reference.of_rows(cal[0] @ rotation, cal[1])
    assert told(learned(rotation), X @ rotation, turned) == pytest.approx(told(LEVEL, X), abs=1e-3)


def test_it_is_the_variance_along_each_axis_added_up() -> None:
    X, _ = classes(10, 7, seed=7)
    centred = X - X.mean(0)
    slow = np.zeros(2)
    for row in centred.astype(np.float64):
        slow += float(row @ row)
        for axis, weight in zip(LEVEL.axes.T, LEVEL.weights.T, strict=True):
            slow -= weight * float(row @ axis) ** 2
    fast = LEVEL._within(*LEVEL._along(centred, len(X)))
    np.testing.assert_allclose(fast, slow / len(X), rtol=1e-4)


def test_of_many_axes_the_telling_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AXES", 8)
    few = learned()
    assert few.axes.shape == (D, 8)
    assert few.axes.flags.c_contiguous  # as a file has them: products are the same to the bit
    np.testing.assert_allclose(np.square(few.axes[:8]).sum(0), 1, atol=0.1)  # of the first eight
    X, _ = classes(60, 20, seed=2, width=0.65)
    assert told(few, X).still == pytest.approx(found(X), abs=0.02)


def test_a_dcal_that_cannot_tell_says_nothing() -> None:
    X, y = classes(30, 20, seed=1)
    one_each = Reference(CAL.quantiles, CAL.negatives, 30, 1.0, X[::20], y[::20], 30)
    assert LEVEL.of(X, one_each) is None
    few = Reference.of_rows(*classes(4, 4, seed=1))
    assert LEVEL.of(X, few) is None
    assert LEVEL.of(X, Reference.of_rows(*classes(4, 5, seed=1))) is not None
    one_class = Reference(CAL.quantiles, CAL.negatives, 1, 20.0, X[:20], y[:20], 20)
    assert LEVEL.of(X, one_class) is None


def test_strange_sets_stay_within_bounds() -> None:
    same = np.repeat(CAL.rows[:1], 50, axis=0)
    nothing = (1 / module.LIMIT - 1) * CAL.quantiles.mean()
    assert found(same) == pytest.approx(nothing, rel=1e-3)
    round_ = np.random.default_rng(0).standard_normal((500, D)).astype(np.float32)
    round_ /= np.linalg.norm(round_, axis=1, keepdims=True)
    assert 0 < found(round_) <= 2 * CAL.quantiles.mean()
    tight = Reference.of_rows(*classes(30, 20, seed=1, width=1e-3, apart=1e-3))
    most = (module.LIMIT - 1) * tight.quantiles.mean()
    assert told(LEVEL, round_, tight).still == pytest.approx(most, rel=1e-6)


def test_a_set_that_is_much_smaller_is_told() -> None:
    X, y = classes(60, 20, seed=2)
    centre = X.mean(0)
    small = centre + np.float32(0.15) * (X - centre)
    small /= np.linalg.norm(small, axis=1, keepdims=True)
    expected = float(Reference.of_rows(small, y).quantiles.mean())
    assert expected < 0.25 * CAL.quantiles.mean()
    said = CAL.quantiles.mean() + told(LEVEL, small).moved
    assert said == pytest.approx(expected, rel=0.15)


def test_rows_that_are_all_the_same_give_an_error_without_a_warning() -> None:
    assert np.isfinite(told(LEVEL, np.repeat(CAL.rows[:1], 50, axis=0)).error)
