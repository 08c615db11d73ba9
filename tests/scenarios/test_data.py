from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opengcn as og
from opengcn.errors import DataError
from opengcn.scenarios.data import Pack
from opengcn.scenarios.definitions import Setting

MakePack = Callable[..., Path]


def sets(path: Path, test: str, split: int = 0, scenario: str = "diffdist") -> tuple:
    return Pack(path).sets(Setting(scenario, path.stem, test), split)


def test_a_split_is_the_documented_one(pack: MakePack) -> None:
    train, cal, test = sets(pack(), "same", 3)
    q = np.random.default_rng(3).permutation(np.arange(12, 24))
    assert set(train.labels) == set(range(12))
    assert set(cal.labels) == set(q[:2])  # a tenth of twelve is one, and two are needed
    assert set(test.labels) == set(q[2:])
    assert len(train) + len(cal) + len(test) == 24 * 8


def test_half_of_the_classes_train_where_no_mask_says_which(tmp_path: Path) -> None:
    data = og.datasets.synthetic(10, 4, dim=8)
    named = og.EmbeddingSet(data.embeddings, [f"class {i}" for i in data.labels])
    named.save(tmp_path / "mine.parquet")
    train, cal, test = sets(tmp_path / "mine.parquet", "same")
    assert set(train.labels) == {f"class {i}" for i in range(5)}
    assert len(set(cal.labels)) == 2
    assert len(set(test.labels)) == 3


def test_the_sets_of_a_split_are_the_same_objects(pack: MakePack) -> None:
    data = Pack(pack("birds", "snow"))
    first = data.sets(Setting("samedist", "birds", "same"), 1)
    second = data.sets(Setting("shiftdist", "birds", "snow"), 1)
    assert first[0] is second[0]
    assert first[1] is second[1]
    assert first[2] is not second[2]


def test_shifted_test_set_has_the_classes_of_the_clean_one(pack: MakePack) -> None:
    path = pack("birds", "snow")
    _, cal, clean = sets(path, "same", 2)
    _, _, shifted = sets(path, "snow", 2)
    assert set(shifted.labels) == set(clean.labels)
    assert not set(shifted.labels) & set(cal.labels)


def test_other_domain_may_use_the_same_numbers(pack: MakePack) -> None:
    other = og.datasets.synthetic(6, 5, dim=16, seed=3)
    path = pack("birds", test_E=other.embeddings.astype(np.float16), test_y=other.labels)
    train, cal, test = sets(path, "other")
    og.SplitCurve().fit(train, cal).estimate(test)  # does not take its classes for D_train's
    assert len(test) == 30
    assert "other" in Pack(path).tests()


def test_tail_by_mask(pack: MakePack) -> None:
    head = np.repeat(np.arange(24) >= 20, 8)
    _, cal, test = sets(pack("birds", head=head), "tail")
    assert set(cal.labels) == {20, 21, 22, 23}
    assert set(test.labels) == set(range(12, 20))


def test_tail_by_class_size(tmp_path: Path) -> None:
    data = og.datasets.synthetic(12, 10, dim=8, size_law="zipf")
    labels = 100 - data.labels  # the large classes last, so that they are not in D_train
    og.EmbeddingSet(data.embeddings, labels).save(tmp_path / "mine.npz")
    _, cal, test = sets(tmp_path / "mine.npz", "tail")
    sizes = {label: int((labels == label).sum()) for label in labels}
    assert min(sizes[c] for c in cal.labels) >= max(sizes[c] for c in test.labels)
    assert Pack(tmp_path / "mine.npz").most_splits("tail") == 1


def test_zipf_thins_the_clean_test_set(pack: MakePack) -> None:
    path = pack()
    _, _, clean = sets(path, "same")
    _, _, thin = sets(path, "zipf")
    counts = np.unique(thin.labels, return_counts=True)[1]
    assert set(thin.labels) == set(clean.labels)
    assert counts.max() == 8
    assert counts.min() == 3


def test_augmented_training_set_has_more_of_the_same_classes(pack: MakePack) -> None:
    path = pack("birds", "snow")
    more = og.datasets.synthetic(12, 3, dim=16, seed=4)
    np.savez(path.with_name("birds_augmented.npz"), E=more.embeddings, y=more.labels)
    plain, _, _ = sets(path, "snow", scenario="shiftdist")
    augmented, _, _ = sets(path, "snow", scenario="shiftdist-augmented")
    assert len(augmented) == len(plain) + 36
    assert set(augmented.labels) == set(plain.labels)


def test_fingerprint_follows_the_contents_not_the_place(pack: MakePack) -> None:
    path = pack("birds", "snow", "fog")
    snow, same = Setting("shiftdist", "birds", "snow"), Setting("samedist", "birds", "same")
    before = {s: Pack(path).fingerprint(s) for s in (snow, same)}
    for name in ("birds.npz", "birds_shifted.npz"):
        copy = path.with_name(name.replace("birds", "elsewhere"))
        copy.write_bytes(path.with_name(name).read_bytes())
    assert Pack(path.with_name("elsewhere.npz")).fingerprint(snow) == before[snow]
    shifted = dict(np.load(path.with_name("birds_shifted.npz")))
    shifted["fog"] = shifted["fog"][::-1]
    np.savez(path.with_name("birds_shifted.npz"), **shifted)
    assert Pack(path).fingerprint(snow) == before[snow]  # fog is none of its business
    shifted["snow"] = shifted["snow"][::-1]
    np.savez(path.with_name("birds_shifted.npz"), **shifted)
    assert Pack(path).fingerprint(snow) != before[snow]
    assert Pack(path).fingerprint(same) == before[same]
    pack("birds", seed=1)
    assert Pack(path).fingerprint(same) != before[same]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (1, "expected classes for D_train and others for D_cal and D_test"),
        (3, "expected 2 classes or more for D_train, received 1"),
        (4, "expected 3 classes or more for D_cal and D_test, received 2"),
    ],
)
def test_too_few_classes(tmp_path: Path, classes: int, message: str) -> None:
    og.datasets.synthetic(classes, 5, dim=4).save(tmp_path / "few.npz")
    with pytest.raises(DataError, match=message):
        Pack(tmp_path / "few.npz").check()


def test_without_labels(tmp_path: Path) -> None:
    og.datasets.synthetic(8, 5, dim=4).unlabelled().save(tmp_path / "bare.npz")
    with pytest.raises(DataError, match=r"bare.npz: expected labels"):
        Pack(tmp_path / "bare.npz").check()
