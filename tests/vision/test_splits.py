from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opengcn import DataError, EmbeddingSet
from opengcn.labels import head_and_tail
from opengcn.vision import ImageSet, take_part


@pytest.fixture
def many() -> ImageSet:
    """CUB without its pixels: 200 classes, of which none is in alphabetical order."""
    codes = np.repeat(np.arange(200), 3)
    return ImageSet(
        ids=np.array([f"{k}.jpg" for k in range(600)]),
        codes=codes,
        classes=tuple(f"class {k}" for k in range(200)),
        train_classes=100,
        stamps=np.ones(600, np.int64),
        contents=lambda row: b"",
        source="many",
        rows=np.arange(600),
    )


def test_parts_of_the_paper(many: ImageSet) -> None:
    sizes = {p: len(set(take_part(many, p).codes)) for p in ("all", "train", "open", "cal", "test")}
    assert sizes == {"all": 200, "train": 100, "open": 100, "cal": 10, "test": 90}
    assert set(take_part(many, "train").codes) == set(range(100))  # the first half
    cal, test = (set(take_part(many, part, seed=3).codes) for part in ("cal", "test"))
    assert cal | test == set(range(100, 200))
    assert not cal & test
    assert cal != set(take_part(many, "cal", seed=4).codes)


def test_cal_is_that_of_the_embeddings(many: ImageSet, rng: np.random.Generator) -> None:
    rest = take_part(many, "open")
    embeddings = EmbeddingSet(rng.standard_normal((len(rest), 4)), rest.labels, ids=rest.ids)
    cal, test = embeddings.split_classes(0.1, seed=5)
    assert list(cal.ids) == list(take_part(many, "cal", seed=5).ids)
    assert list(test.ids) == list(take_part(many, "test", seed=5).ids)


def test_head_and_tail_share_the_rows() -> None:
    sizes = [50, 2, 3, 20, 10, 5, 4, 30, 4]
    labels = np.repeat(np.arange(9), sizes)
    head = head_and_tail(labels)
    assert set(labels[head]) == {0}  # 50 of 128; with the next one 80
    smallest_head = min(sizes[c] for c in set(labels[head]))
    assert smallest_head >= max(sizes[c] for c in set(labels[~head]))


def test_head_and_tail_are_never_empty() -> None:
    labels = np.array(["a"] * 100 + ["b"])
    assert list(np.unique(labels[head_and_tail(labels)])) == ["a"]
    labels = np.array(["a", "b"])
    assert head_and_tail(labels).sum() == 1
    with pytest.raises(DataError, match="expected two classes or more"):
        head_and_tail(np.array(["a", "a"]))


def test_head_and_tail_of_real_classes(real_data: Path) -> None:
    with np.load(real_data / "longtail_caltech.npz") as pack:
        rest = pack["head"] | pack["tail"]
        assert (head_and_tail(pack["y"][rest]) == pack["head"][rest]).all()


def test_unknown_part(many: ImageSet) -> None:
    with pytest.raises(DataError, match="part: expected one of all, train, open"):
        take_part(many, "validation")  # type: ignore[arg-type]


def test_too_few_classes_to_split(images: ImageSet) -> None:
    few = images.subset(images.codes < 5)
    assert set(take_part(few, "open").codes) == {3, 4}
    with pytest.raises(DataError, match="expected more than 2 classes to split, received 2"):
        take_part(few, "cal")
