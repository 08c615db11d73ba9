from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

import opengcn as og
from opengcn.calibrators import rehearsed
from opengcn.calibrators.rehearsed import _possible, _tnr
from opengcn.pairs import GRID
from opengcn.rehearsal.examples import Examples
from opengcn.rehearsal.mates import Correction, Mates
from opengcn.rehearsal.worlds import World


def make(classes: int, size: int, seed: int, concentration: float = 30.0) -> og.EmbeddingSet:
    data = og.datasets.synthetic(classes, size, 16, concentration=concentration, seed=seed)
    return og.EmbeddingSet(data.embeddings, data.labels, label_space=f"seed {seed}")


TRAIN, CAL, TEST = make(40, 20, 0), make(8, 20, 1, 20), make(60, 15, 2, 20)


@pytest.fixture(scope="module")
def model() -> og.OpenGCN:
    return og.OpenGCN(episodes=300).fit(TRAIN, CAL)


def test_it_is_the_default(model: og.OpenGCN) -> None:
    assert isinstance(model, rehearsed.RehearsedOpenGCN)
    assert isinstance(model, og.OpenGCN)
    assert type(og.OpenGCN(preset="default")) is type(model)
    assert clone(model).get_params() == model.get_params()
    assert model.summary_["cal"] == {"rows": 160, "classes": 8}


def test_it_follows_a_shift_that_the_calibration_set_has_not_seen(model: og.OpenGCN) -> None:
    """Noise on the test set alone: D_cal's curve is wrong, the graph shows it.

    That the classes are not more and narrower, 300 rehearsals do not teach; told so, it follows
    some of the way.
    """
    rng = np.random.default_rng(0)
    X = TEST.embeddings + 0.6 * rng.standard_normal(TEST.embeddings.shape) / 4
    noisy = og.EmbeddingSet(X, TEST.labels)
    truth = og.OperatingCurve.from_labels(noisy)
    hard = og.SplitCurve().fit(TRAIN, CAL).estimate(noisy.unlabelled()).mae(truth)
    assert model.estimate(noisy.unlabelled()).mae(truth) < hard
    assert model.estimate(noisy.unlabelled(), n_classes=60).mae(truth) < 0.9 * hard


def widths(classes: int, size: int, seed: int) -> og.EmbeddingSet:
    """Make classes of different widths."""
    rng = np.random.default_rng(seed)
    means = np.repeat(rng.standard_normal((classes, 16)), size, axis=0)
    width = np.repeat(np.exp(0.4 * rng.standard_normal((classes, 1))), size, axis=0)
    X = means + 0.6 * width * rng.standard_normal(means.shape)
    labels = np.repeat(np.arange(classes), size)
    return og.EmbeddingSet(X, labels, label_space=f"seed {seed}")


def test_it_corrects_dcal_for_the_choice_of_its_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = widths(40, 20, 100), widths(60, 15, 200)
    truth = og.OperatingCurve.from_labels(test)
    models = [og.OpenGCN(episodes=60).fit(train, widths(6, 20, seed)) for seed in range(4)]

    def wrong() -> float:
        curves = [model.estimate(test.unlabelled(), n_classes=60) for model in models]
        return float(np.mean([curve.mae(truth) for curve in curves]))

    corrected = wrong()

    def nothing(self: Mates, nodes: Any, known: Any, at: Any, *_: Any) -> Correction:
        return Correction(np.zeros((len(at), 24)), np.ones(len(at)))

    monkeypatch.setattr(Mates, "correct", nothing)
    assert corrected < 0.8 * wrong()


def test_the_curve_says_how_sure_it_is(model: og.OpenGCN) -> None:
    curve = model.estimate(TEST.unlabelled())
    assert curve.source == "OpenGCN"
    assert curve.info["graphs"] == 4
    assert curve.info["nodes"] == 900
    assert 0 < curve.info["prior"] < 1
    truth = og.OperatingCurve.from_labels(TEST)
    inner = (truth.tpr > 0.02) & (truth.tpr < 0.98)
    inside = (curve.tpr_low <= truth.tpr) & (truth.tpr <= curve.tpr_high)
    assert inside[inner].mean() > 0.8
    threshold = curve.threshold(tpr=0.9)
    assert threshold.tpr_low < 0.9 < threshold.tpr_high
    assert threshold.distance_low < threshold.distance < threshold.distance_high
    assert curve.threshold(tpr=0.9, confidence=0.9).distance > threshold.distance


def test_of_a_large_set_more_graphs_are_read(
    model: og.OpenGCN, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsed, "LARGE", 899)
    assert model.estimate(TEST.unlabelled()).info["graphs"] == 8
    assert model.estimate(TEST.embeddings[:200], n_classes=50).info["graphs"] == 1


@pytest.mark.parametrize(("looking", "times"), [(900, 1), (450, 2), (300, 3), (100, 4)])
def test_every_node_looks_once(
    model: og.OpenGCN, monkeypatch: pytest.MonkeyPatch, looking: int, times: int
) -> None:
    """As far as there are graphs: each has others look."""
    monkeypatch.setattr(rehearsed, "LOOKING", looking)
    corrected, real = [], Mates.correct

    def count(self: Mates, nodes: Any, *more: Any) -> Correction:
        corrected.append({row.tobytes() for row in nodes[:looking]})
        return real(self, nodes, *more)

    monkeypatch.setattr(Mates, "correct", count)
    model.estimate(TEST.unlabelled())
    assert len(corrected) == times
    assert len(set().union(*corrected)) == min(times * looking, len(TEST))


def test_of_a_large_set_dcal_stands_in(model: og.OpenGCN, monkeypatch: pytest.MonkeyPatch) -> None:
    """But not where its own rows are in the set, nor of a small set, where it would take long."""
    test = TEST.unlabelled()
    assert model._look(test).asked.stand_ins == []
    before = model.estimate(test)
    monkeypatch.setattr(rehearsed, "SMALL", 899)
    monkeypatch.setattr(rehearsed, "LOOKING", 500)
    assert len(model._look(test).asked.stand_ins) == 2
    assert model.estimate(test) != before
    some = np.concatenate([test.embeddings, model.reference_.rows[:30]])
    assert model._look(og.EmbeddingSet(some)).asked.stand_ins == []


def test_the_directions_of_the_set_are_asked(model: Any) -> None:
    known = {"prior": 0.02}
    for size, hint in ((len(TEST), {}), (12, {}), (len(TEST), known)):
        some = TEST.subset(np.arange(size))
        level = model._look(some, **hint).asked.level
        told = model.level_.of(some.embeddings, model.reference_, hint.get("prior", 0.0))
        assert level == pytest.approx(told, abs=1e-6)
        assert abs(level.still) > 1e-4


def test_labels_and_order_do_not_matter(model: og.OpenGCN) -> None:
    assert model.estimate(TEST) == model.estimate(TEST.embeddings)
    turned = TEST.subset(np.random.default_rng(0).permutation(len(TEST)))
    a, b = model.estimate(TEST), model.estimate(turned.unlabelled())
    assert np.abs(a.tpr - b.tpr).max() < 0.05  # other anchors and rows compared, the same graph


def test_save_and_load_is_the_identity(model: og.OpenGCN, tmp_path: Path) -> None:
    model.save(tmp_path / "m.ogcn")
    again = og.load(tmp_path / "m.ogcn")
    assert again.estimate(TEST) == model.estimate(TEST)
    assert again.estimate(TEST, n_classes=60) == model.estimate(TEST, n_classes=60)
    assert again.get_params() == model.get_params()
    with pytest.raises(og.DataError, match="expected classes that are not in D_train or D_cal"):
        again.estimate(CAL)
    with pytest.raises(og.DataError, match="expected dimension 16"):
        again.estimate(np.eye(10))


def test_rehearsing_is_shared_between_calibration_sets(
    model: og.OpenGCN, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearsed_on: list[int] = []
    original = rehearsed.rehearse

    def counting(world: World, *rest: int, gap: bool = True) -> Examples:
        rehearsed_on.append(len(world.members))
        return original(world, *rest, gap=gap)

    monkeypatch.setattr(rehearsed, "rehearse", counting)
    other = clone(model).fit(TRAIN, make(5, 20, 9))
    assert rehearsed_on == [5]  # the new D_cal alone
    assert other.estimate(TEST) != model.estimate(TEST)


def test_a_tiny_calibration_set_will_do() -> None:
    cal = make(2, 2, 9)
    for train in (TRAIN, make(10, 10, 7)):
        with pytest.warns(og.OpenGCNWarning, match="received 4 rows of 2 classes; D_train alone"):
            tiny = og.OpenGCN(episodes=10).fit(train, cal)
    assert (np.diff(tiny.estimate(TEST).tpr) >= 0).all()


def test_sets_may_change_their_parts() -> None:
    """What is remembered of a set as D_train is not what is remembered of it as D_cal."""
    one, other = make(12, 10, 0), make(10, 10, 7)
    og.OpenGCN(episodes=10).fit(one, other)
    again = og.OpenGCN(episodes=10).fit(other, one)
    fresh = og.OpenGCN(episodes=10).fit(make(10, 10, 7), make(12, 10, 0))
    assert again.estimate(TEST) == fresh.estimate(TEST)


def test_rows_that_take_turns_do_not_matter(model: og.OpenGCN) -> None:
    """Classes in turn, a period of eight, beside rows class by class."""
    data = make(8, 150, 11)
    turns = np.arange(len(data)).reshape(8, -1).T.ravel()
    one, other = (model.estimate(data.subset(rows)) for rows in (np.arange(len(data)), turns))
    assert np.abs(one.tpr - other.tpr).max() < 0.08


def test_the_curve_of_the_calibration_set_is_kept(model: og.OpenGCN, tmp_path: Path) -> None:
    truth = og.OperatingCurve.from_labels(CAL)
    assert model.cal_curve_ == truth
    model.save(tmp_path / "m.ogcn")
    np.testing.assert_array_equal(og.load(tmp_path / "m.ogcn").cal_curve_.tpr, truth.tpr)


def test_same_seed_same_model() -> None:
    first, second = (
        og.OpenGCN(seed=3, episodes=10)
        .fit(make(10, 10, 0).embeddings, make(10, 10, 0).labels, CAL.embeddings, CAL.codes + 100)
        .estimate(TEST.embeddings)
        for _ in range(2)
    )
    assert first == second


def test_hints(model: og.OpenGCN) -> None:
    few, many = model.estimate(TEST, n_classes=10), model.estimate(TEST, n_classes=300)
    assert few.info["prior"] > many.info["prior"]
    same = model.estimate(TEST, prior=(900 / 10 - 1) / 899)
    assert same == few
    for bad in ({"n_classes": 0}, {"n_classes": 901}, {"prior": 0}, {"prior": 1.5}):
        with pytest.raises(og.OpenGCNError, match="expected"):
            model.estimate(TEST, **bad)
    with pytest.raises(og.OpenGCNError, match="received both"):
        model.estimate(TEST, n_classes=10, prior=0.1)


def test_with_copies_the_band_tells_how_little_is_known_of_the_other_pairs(
    model: og.OpenGCN,
) -> None:
    """How many of the same-class pairs are copies depends on how many others there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", og.OpenGCNWarning)
        curve = model.estimate(np.repeat(rows(100), 10, axis=0))
    truth = 0.37  # 45 pairs of each row with itself, and one pair in 64 of the others
    assert curve.tpr_low is not None
    assert curve.tpr_high is not None
    assert curve.tpr_low[1] < truth < curve.tpr_high[1]
    assert (curve.tpr_low <= curve.tpr).all()
    assert (curve.tpr <= curve.tpr_high).all()


def rows(n: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).permutation(TEST.embeddings)[:n]


@pytest.mark.parametrize(
    "X",
    [
        rows(8),
        rows(50),
        np.repeat(rows(100), 10, axis=0),
        CAL.embeddings,
        make(1, 200, 7).embeddings,
        make(200, 1, 8).embeddings,
        np.repeat(rows(1), 30, axis=0),
    ],
    ids=["8 rows", "50 rows", "10 x duplicated", "D_cal", "one class", "singletons", "one point"],
)
def test_strange_sets_give_a_curve(model: og.OpenGCN, X: NDArray[np.float32]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", og.OpenGCNWarning)
        curve = model.estimate(X)
    assert (np.diff(curve.tpr) >= 0).all()
    assert (np.diff(curve.tnr) <= 0).all()
    assert curve.tpr[-1] == 1
    assert (curve.tpr_high - curve.tpr_low).max() > 0.02


def test_a_set_without_matches_is_said(model: og.OpenGCN) -> None:
    with pytest.warns(
        og.OpenGCNWarning, match="same-class pairs are to be expected among the 12 rows"
    ):
        model.estimate(make(12, 1, 8).embeddings, prior=0.01)
    with pytest.raises(og.DataError, match="expected 8 rows or more, received 5"):
        model.estimate(rows(5))
    with pytest.raises(og.DataError, match="expected 8 rows or more, received 1"):
        model.estimate(rows(1), n_classes=1)
    with pytest.raises(og.OpenGCNError, match="episodes: expected 10 or more"):
        og.OpenGCN(episodes=3).fit(TRAIN, CAL)


def test_tnr_leaves_the_true_matches_out() -> None:
    """F0 = (F - prior F1) / (1 - prior), from a set whose parts are known."""
    truth = og.OperatingCurve.from_labels(TEST)
    same = 60 * 15 * 14 / 2
    prior = same / (900 * 899 / 2)
    below = prior * truth.tpr + (1 - prior) * (1 - truth.tnr)
    np.testing.assert_allclose(_tnr(below, truth.tpr, prior), truth.tnr, atol=1e-9)
    bounded = _possible(0.5, below, truth.tpr)  # more than there are near pairs
    assert prior <= bounded < 2 * prior
    assert _possible(1.0, np.ones(201), np.clip(GRID, 0, 1)) < 1


def test_large_sets_cost_no_more(model: og.OpenGCN, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows beyond the sample are never read."""
    monkeypatch.setattr(rehearsed, "COUNTED", 300)
    monkeypatch.setattr(rehearsed, "NODES", 200)
    read: list[int] = []
    take = og.EmbeddingSet.take

    def counting(self: og.EmbeddingSet, wanted: NDArray[np.int64]) -> NDArray[np.float32]:
        read.append(len(wanted))
        return take(self, wanted)

    monkeypatch.setattr(og.EmbeddingSet, "take", counting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", og.OpenGCNWarning)  # so few rows hold few pairs
        model.estimate(TEST.unlabelled())
    assert sum(read) <= 2 * 300  # once chosen, once handed on


def test_settings_are_checked(model: og.OpenGCN) -> None:
    with pytest.raises(og.OpenGCNError, match="preset: expected the one of RehearsedOpenGCN"):
        clone(model).set_params(preset="paper").fit(TRAIN, CAL)
    with pytest.raises(og.OpenGCNError, match="seed: expected 0 to"):
        og.OpenGCN(seed=-1).fit(TRAIN, CAL)


def test_absurd_hints_do_no_harm(model: og.OpenGCN) -> None:
    """A hint beyond anything rehearsed moves the estimate no further than the last sensible one."""
    with pytest.warns(og.OpenGCNWarning, match="the estimate then rests on D_cal"):
        edge, beyond = (model.estimate(TEST, prior=p) for p in (1e-9, 1e-300))
    assert np.abs(edge.tpr - beyond.tpr).max() < 1e-6
    one = model.estimate(make(1, 100, 7).embeddings, n_classes=1)
    assert np.isfinite(one.tnr).all()


def test_copies_of_rows_are_counted_apart(model: og.OpenGCN) -> None:
    """Classes of 4 rows, ten times each: 9 of 39 same-class pairs are copies, at distance 0."""
    once = og.datasets.synthetic(60, 4, 16, concentration=20.0, seed=7)
    often = once.subset(np.repeat(np.arange(len(once)), 10))
    curve = model.estimate(often.unlabelled(), n_classes=60)
    truth = og.OperatingCurve.from_labels(often)
    assert curve.tpr[0] == 0
    assert truth.tpr[1] == pytest.approx(9 / 39)
    assert curve.tpr[1] == pytest.approx(9 / 39, abs=0.15)
    assert (np.diff(curve.tpr) >= 0).all()
    assert curve.info["prior"] == pytest.approx(39 / (2400 - 1), rel=0.5)


def test_copies_are_of_one_class_unless_labelled_ones_are_not(tmp_path: Path) -> None:
    """Short texts: two rows of each class are the same in all of D_train, D_cal and D_test."""

    def texts(classes: int, seed: int) -> og.EmbeddingSet:
        data = og.datasets.synthetic(classes, 10, 16, concentration=20.0, seed=seed)
        embeddings = data.embeddings.copy()
        said = np.unique(data.codes, return_index=True)[1]
        embeddings[said] = embeddings[said + 1] = embeddings[0]
        return og.EmbeddingSet(embeddings, data.labels, label_space=str(seed))

    train, cal, test = texts(20, 1), texts(10, 2), texts(30, 3)
    found = og.OpenGCN(episodes=30).fit(train, cal)
    # 39 copies in D_train and 19 in D_cal, one in each is of the same class; and five to begin with
    assert found.alike_ == pytest.approx((1 + 1 + 5) / (39 + 19 + 5))
    truth = og.OperatingCurve.from_labels(test)
    curve = found.estimate(test.unlabelled(), n_classes=30)
    assert truth.tpr[1] == pytest.approx(30 / (30 * 45))
    assert curve.tpr[1] < 0.2  # it would be above one half
    assert truth.tnr[1] == pytest.approx(1 - (60 * 59 - 60) / (300 * 290))
    assert curve.tnr[1] == pytest.approx(truth.tnr[1], abs=0.006)
    assert curve.info["prior"] == pytest.approx(9 / 299)
    found.save(tmp_path / "model.ogcn")
    assert og.load(tmp_path / "model.ogcn").estimate(test, n_classes=30) == curve
    rows = np.concatenate([np.repeat(test.embeddings[:1], 240, 0), test.embeddings[:60]])
    for hint in (0.03, 0.5, 0.97, 1.0):  # nearly all rows are one text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", og.OpenGCNWarning)
            assert found.estimate(rows, prior=hint).info["prior"] == pytest.approx(hint, abs=1e-6)


def test_rows_that_hardly_differ(model: og.OpenGCN) -> None:
    same = np.repeat(TEST.embeddings[:3], 50, axis=0)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        model.estimate(same)
    assert any("8 rows or more that differ, received 3" in str(note.message) for note in notes)
