from __future__ import annotations

import importlib
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import opengcn as og
from opengcn.datasets import OpenWorldSplit, glyph_images, glyphs
from opengcn.datasets.glyph_characters import distinct_characters
from opengcn.datasets.glyph_embedder import embed
from opengcn.datasets.glyph_images import gaussian_blur
from opengcn.errors import DataError, OpenGCNWarning

# The package exports functions under the names of these modules.
glyphs_module = importlib.import_module("opengcn.datasets.glyphs")

SMALL: dict[str, Any] = {"classes": 40, "images": 8, "progress": False}
PARTS = ("train", "cal", "test")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def small(folder: Path) -> OpenWorldSplit:
    return glyphs(3, cache=folder, **SMALL)


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forbid what a cached data set must not do again."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("expected the cache to be used")

    monkeypatch.setattr(glyphs_module, "train_embedder", refuse)
    monkeypatch.setattr(glyphs_module, "glyph_images", refuse)


def distances(data: og.EmbeddingSet) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the distances, and which of them are of the same class."""
    X, y = data.embeddings.astype(np.float64), data.codes
    squared = np.maximum(2 - 2 * X @ X.T, 0)
    np.fill_diagonal(squared, np.inf)
    same = (y[:, None] == y) & ~np.eye(len(y), dtype=bool)
    return np.sqrt(squared), same, y


def compactness(data: og.EmbeddingSet) -> float:
    d, same, _ = distances(data)
    return float(d[same].mean())


def recall_at_1(data: og.EmbeddingSet) -> float:
    d, _, y = distances(data)
    return float((y[d.argmin(axis=1)] == y).mean())


def assert_same(first: OpenWorldSplit, second: OpenWorldSplit) -> None:
    for part in PARTS:
        a, b = getattr(first, part), getattr(second, part)
        assert a.embeddings.tobytes() == b.embeddings.tobytes(), part
        np.testing.assert_array_equal(a.labels, b.labels)


def test_import_is_light() -> None:
    code = (
        "import sys, opengcn.datasets as d; d.glyphs, d.synthetic; "
        "sys.exit(','.join({'torch', 'matplotlib', 'PIL'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_shapes_and_unit_norm(small: OpenWorldSplit) -> None:
    assert (len(small.train), len(small.cal), len(small.test)) == (160, 16, 144)
    for part in PARTS:
        data = getattr(small, part)
        assert data.embeddings.shape == (len(data), 128)
        assert data.embeddings.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(data.embeddings, axis=1), 1, atol=1e-6)
        assert data.labels.dtype == np.dtype("<U1")
        assert set(np.unique(data.labels, return_counts=True)[1]) == {8}


def test_classes_are_disjoint_and_split_by_the_rule(small: OpenWorldSplit) -> None:
    train, cal, test = (set(getattr(small, part).labels) for part in PARTS)
    assert len(train | cal | test) == len(train) + len(cal) + len(test) == 40
    q = np.random.default_rng(3).permutation(np.array(sorted(cal | test)))
    assert cal == set(q[: max(2, round(0.1 * len(q)))])
    # A user who splits the unseen classes by hand gets the same.
    unseen = og.EmbeddingSet(
        np.concatenate([small.cal.embeddings, small.test.embeddings]),
        np.concatenate([small.cal.require_labels(), small.test.require_labels()]),
    )
    assert set(unseen.split_classes(0.1, seed=3)[0].require_labels()) == cal


def test_same_seed_same_bits_whatever_the_threads(small: OpenWorldSplit) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(2 if threads == 1 else 1)
    torch.manual_seed(12345)
    try:
        assert_same(small, glyphs(3, cache=False, **SMALL))
    finally:
        torch.set_num_threads(threads)
    other = glyphs(4, cache=False, **SMALL)
    assert set(other.train.require_labels()) != set(small.train.require_labels())


def test_torch_and_numpy_are_left_as_they_were(tmp_path: Path) -> None:
    torch.manual_seed(7)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(2)
    legacy = np.random.get_state()[1].copy()  # noqa: NPY002  the state that must not move
    with torch.inference_mode():  # a caller's mode must not stop the training either
        glyphs(0, classes=8, images=2, cache=tmp_path, progress=False)
        assert torch.is_inference_mode_enabled()
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(threads)
    assert torch.is_grad_enabled()
    np.testing.assert_array_equal(np.random.get_state()[1], legacy)  # noqa: NPY002


@pytest.mark.usefixtures("no_work")
def test_second_call_reads_the_cache(small: OpenWorldSplit, folder: Path) -> None:
    again = glyphs(3, cache=folder, **SMALL)
    assert_same(small, again)


@pytest.mark.usefixtures("small")
def test_cache_holds_plain_arrays_and_nothing_half_written(folder: Path) -> None:
    files = sorted(folder.iterdir())
    assert len(files) >= 5
    for file in files:
        assert file.name.startswith("glyphs-v")
        with np.load(file, allow_pickle=False) as stored:
            assert all(stored[name].dtype != object for name in stored)


def test_cache_name_has_every_parameter(folder: Path) -> None:
    for keywords in ({"classes": 10}, {"images": 3}, {"seed": 1}, {"blur": 0.5}):
        before = set(folder.iterdir())
        glyphs(**{"seed": 0, "classes": 8, "images": 2, "cache": folder, **keywords})  # type: ignore[arg-type]
        assert set(folder.iterdir()) > before, keywords


@pytest.mark.parametrize("damage", ["empty", "truncated", "flipped", "fewer rows", "text"])
def test_damaged_embeddings_are_made_again(
    small: OpenWorldSplit, folder: Path, damage: str
) -> None:
    (file,) = folder.glob("*seed3*-test-blur0.0.npz")
    whole = file.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "empty": b"",
        "truncated": whole[:middle],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "fewer rows": whole.replace(b"(144, 128)", b"(104, 128)"),
        "text": b"no archive",
    }[damage]
    assert damaged != whole
    file.write_bytes(damaged)
    assert_same(small, glyphs(3, cache=folder, **SMALL))
    with np.load(file) as stored:
        np.testing.assert_array_equal(stored["embeddings"], small.test.embeddings)


def test_damage_everywhere_is_made_again(tmp_path: Path) -> None:
    first = glyphs(0, classes=8, images=2, cache=tmp_path)
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:-200])
    assert_same(first, glyphs(0, classes=8, images=2, cache=tmp_path))


@pytest.mark.usefixtures("no_work")
def test_blur_changes_the_test_part_alone(
    small: OpenWorldSplit, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded: list[int] = []

    def count(weights: Any, images: Any) -> Any:
        embedded.append(len(images))
        return embed(weights, images)

    monkeypatch.setattr(glyphs_module, "embed", count)
    for _ in range(2):
        blurred = glyphs(3, blur=1.25, cache=folder, **SMALL)
    assert embedded == [len(small.test)]  # once, and neither train nor cal
    np.testing.assert_array_equal(blurred.train.embeddings, small.train.embeddings)
    np.testing.assert_array_equal(blurred.cal.embeddings, small.cal.embeddings)
    np.testing.assert_array_equal(blurred.test.labels, small.test.labels)
    moved = np.linalg.norm(blurred.test.embeddings - small.test.embeddings, axis=1)
    assert moved.min() > 0.01


def test_embeddings_are_of_the_pictures_shown(small: OpenWorldSplit, folder: Path) -> None:
    shown = glyph_images(3, blur=1.25, **SMALL)
    (file,) = folder.glob("*seed3*-weights.npz")
    with np.load(file) as stored:
        weights = dict(stored)
    blurred = glyphs(3, blur=1.25, cache=folder, **SMALL)
    for part, data in (("train", small.train), ("cal", small.cal), ("test", blurred.test)):
        rows = shown.parts == part
        np.testing.assert_array_equal(shown.characters[rows], data.labels)
        np.testing.assert_allclose(embed(weights, shown.images[rows]), data.embeddings, atol=1e-6)


def test_an_embedding_does_not_depend_on_the_others(folder: Path, small: OpenWorldSplit) -> None:
    (file,) = folder.glob("*seed3*-weights.npz")
    with np.load(file) as stored:
        weights = dict(stored)
    shown = glyph_images(3, **SMALL)
    first = embed(weights, shown.images[shown.parts == "test"][:1])
    np.testing.assert_allclose(first, small.test.embeddings[:1], atol=1e-6)


def test_seen_classes_are_more_compact(small: OpenWorldSplit) -> None:
    seen, unseen = compactness(small.train), compactness(small.test)
    assert seen < unseen - 0.15
    assert unseen < 1.35  # of chance, which is sqrt(2)
    assert recall_at_1(small.test) > 0.3  # of chance, which is 1 in 18


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def made_in(folder: Path) -> bool:
        glyphs(0, classes=8, images=2)
        return any(folder.glob("glyphs-*.npz"))

    monkeypatch.delenv("OPENGCN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert made_in(tmp_path / "xdg" / "opengcn")
    monkeypatch.setenv("OPENGCN_CACHE", str(tmp_path / "own"))
    assert made_in(tmp_path / "own")
    monkeypatch.setenv("OPENGCN_CACHE", str(tmp_path / "none"))
    glyphs(0, classes=8, images=2, cache=False)
    assert not (tmp_path / "none").exists()


def test_unwritable_cache_warns_and_works(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.warns(OpenGCNWarning, match="OPENGCN_CACHE"):
        split = glyphs(0, classes=8, images=2, cache=blocked)
    assert len(split.train) == 8


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"classes": 7}, "classes: expected 8 to .* received 7"),
        ({"classes": 10**6}, "classes: expected 8 to .* received 1000000"),
        ({"classes": 8, "images": 1}, "images: expected 2 or more"),
        ({"blur": -1.0}, "blur: expected .* received -1.0"),
        ({"blur": float("nan")}, "blur: expected .* received nan"),
    ],
)
def test_wrong_arguments(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        glyphs(cache=False, **keywords)
    with pytest.raises(DataError, match=message):
        glyph_images(**keywords)


def test_characters_look_different() -> None:
    characters = distinct_characters()
    assert len(set(characters)) == len(characters) >= 640
    lookalikes = (  # across scripts; and of two sizes
        "A\N{GREEK CAPITAL LETTER ALPHA}\N{CYRILLIC CAPITAL LETTER A}",
        "H\N{GREEK CAPITAL LETTER ETA}\N{CYRILLIC CAPITAL LETTER EN}",
        "cC\N{CYRILLIC SMALL LETTER ES}\N{GREEK LUNATE SIGMA SYMBOL}",
        "oO\N{GREEK SMALL LETTER OMICRON}\N{CYRILLIC SMALL LETTER O}",
        "\N{GREEK CAPITAL LETTER PHI}\N{CYRILLIC SMALL LETTER EF}",
        "\N{ELEMENT OF}\N{SMALL ELEMENT OF}",
        *("sS", "vV", "wW", "xX", "yY", "zZ"),
    )
    for group in lookalikes:
        assert len(set(group) & set(characters)) <= 1, group
    for character in characters:
        assert unicodedata.category(character)[0] in "LNPS"
        assert not unicodedata.combining(character)
        assert not character.isspace()
    assert set("ABEKMQRaekmr23578&@#") <= set(characters)


def test_pictures_are_legible() -> None:
    drawn = glyph_images(0, **SMALL)
    assert drawn.images.shape == (320, 32, 32)
    assert drawn.images.dtype == np.uint8
    ink = np.maximum(drawn.images.astype(float) - 80, 0)  # above the noise
    amount = ink.sum(axis=(1, 2))
    assert (ink.max(axis=(1, 2)) > 50).all()
    assert ((drawn.images > 128).mean(axis=(1, 2)) < 0.75).all()
    place = np.arange(32) - 15.5
    for axis in (1, 2):
        centre = (ink.sum(axis=3 - axis) * place).sum(axis=1) / amount
        assert abs(centre.mean()) < 1.5
        assert np.abs(centre).max() < 10
    assert len(np.unique(drawn.images, axis=0)) == 320


def test_pictures_of_a_character_depend_on_it_and_the_seed_alone() -> None:
    few, many = glyph_images(5, classes=12, images=3), glyph_images(5, classes=120, images=3)
    other = glyph_images(6, classes=120, images=3)
    shared = set(few.characters) & set(many.characters)
    assert shared
    assert set(many.characters) & set(other.characters)
    for character in shared:
        rows, others = few.characters == character, many.characters == character
        np.testing.assert_array_equal(few.images[rows], many.images[others])
    for character in set(many.characters) & set(other.characters):
        rows, others = many.characters == character, other.characters == character
        assert (many.images[rows] != other.images[others]).any()


def test_gaussian_blur_has_the_width_asked_for() -> None:
    point = np.zeros((1, 31, 31), dtype=np.uint8)
    point[0, 13:18, 13:18] = 250
    sigma = 2.0
    blurred = gaussian_blur(point, sigma).astype(float)[0]
    place = np.arange(31) - 15
    variance = (blurred.sum(axis=0) * place**2).sum() / blurred.sum()
    assert variance == pytest.approx(sigma**2 + 2.0, rel=0.03)  # 2: that of the square
    assert blurred.sum() == pytest.approx(point.sum(), rel=0.03)
    np.testing.assert_array_equal(gaussian_blur(point, 0), point)


@pytest.mark.slow
def test_full_size(tmp_path: Path) -> None:
    split = glyphs(cache=tmp_path)
    counts = [len(np.unique(getattr(split, part).labels)) for part in PARTS]
    assert counts == [320, 32, 288]
    assert [len(getattr(split, part)) for part in PARTS] == [6400, 640, 5760]
    assert compactness(split.train) < 0.75
    assert 0.85 < compactness(split.test) < 1.05
    assert recall_at_1(split.train) > 0.98
    assert 0.8 < recall_at_1(split.test) < 0.97
    assert_same(split, glyphs(cache=tmp_path))
    blurred = glyphs(blur=1.5, cache=tmp_path)
    assert recall_at_1(blurred.test) < recall_at_1(split.test)
