"""From images to data sets, with a function of pixels for a backbone."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from opengcn.scenarios.data import Pack
from opengcn.scenarios.definitions import CORRUPTIONS, Setting
from opengcn.scenarios.folder import find_sources, holds_images
from opengcn.scenarios.images import embed_images
from opengcn.vision import FunctionBackbone

SIZE = 32

pytestmark = pytest.mark.skipif(
    find_spec("imagecorruptions") is None, reason="needs opengcn[vision]"
)


def write_images(folder: Path, classes: int = 8, images: int = 5) -> Path:
    """Write class folders: noise around a pattern of each class."""
    rng = np.random.default_rng(0)
    for c in range(classes):
        pattern = rng.integers(0, 256, (8, 8, 3))
        (folder / f"class {c}").mkdir(parents=True)
        for i in range(images):
            small = np.clip(pattern + rng.normal(0, 30, pattern.shape), 0, 255).astype(np.uint8)
            picture = Image.fromarray(small).resize((SIZE, SIZE))
            picture.save(folder / f"class {c}" / f"{i}.png")
    return folder


@pytest.fixture
def backbones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Use 192 pixels as features; return a list that grows with every batch that is computed."""
    calls: list[str] = []

    def pixels(batch: np.ndarray) -> np.ndarray:
        calls.append("batch")
        return batch[:, ::4, ::4].reshape(len(batch), -1).astype(np.float32) / 255

    def load(name: str, *, size: int) -> FunctionBackbone:
        return FunctionBackbone("pixels", pixels, size=SIZE)

    monkeypatch.setenv("OPENGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("opengcn.vision.load_backbone", load)
    return calls


def embed(tmp_path: Path, scenarios: Collection[str], **options: object) -> Path:
    return embed_images(tmp_path / "birds", tmp_path / "out", scenarios, **options)  # type: ignore[arg-type]


def test_images_become_a_data_set(tmp_path: Path, backbones: list[str]) -> None:
    write_images(tmp_path / "birds")
    file = embed(tmp_path, ["samedist", "diffdist"])
    assert file == tmp_path / "out" / "birds.npz"
    (source,) = find_sources(file)
    assert {s.test for s in source.fingerprints} == {"same", "sketch", "tail", "zipf"}
    train, cal, test = Pack(file).sets(Setting("samedist", "birds", "same"), 0)
    assert set(train.labels) == {f"class {c}" for c in range(4)}
    assert len(train) + len(cal) + len(test) == 40
    assert train.dim == 128
    _, _, sketched = Pack(file).sets(Setting("diffdist", "birds", "sketch"), 0)
    assert set(sketched.labels) == set(test.labels)
    assert not np.allclose(sketched.embeddings, test.embeddings)


def test_what_is_there_is_kept(tmp_path: Path, backbones: list[str]) -> None:
    write_images(tmp_path / "birds")
    file = embed(tmp_path, ["samedist"])
    before = file.read_bytes()
    assert not file.with_name("birds_shifted.npz").exists()
    backbones.clear()
    embed(tmp_path, ["samedist"])
    assert backbones == []
    assert file.read_bytes() == before
    Image.new("RGB", (SIZE, SIZE)).save(tmp_path / "birds" / "class 0" / "new.png")
    embed(tmp_path, ["samedist"])
    assert backbones != []
    assert len(np.load(file)["y"]) == 41


def test_severities_are_added(tmp_path: Path, backbones: list[str]) -> None:
    write_images(tmp_path / "birds", classes=6, images=3)
    file = embed(tmp_path, ["shiftdist"], severities=[2])
    shifted = file.with_name("birds_shifted.npz")
    first = dict(np.load(shifted))
    assert {f"{c}-2" for c in CORRUPTIONS} < set(first)
    embed(tmp_path, ["shiftdist"], severities=[2, 5])
    second = dict(np.load(shifted))
    assert {f"{c}-{s}" for c in CORRUPTIONS for s in (2, 5)} < set(second)
    np.testing.assert_array_equal(first["snow-2"], second["snow-2"])
    assert not np.allclose(second["snow-2"], second["snow-5"])


def test_every_training_image_is_corrupted_once(tmp_path: Path, backbones: list[str]) -> None:
    write_images(tmp_path / "birds", classes=6, images=4)
    file = embed(tmp_path, ["shiftdist-augmented"])
    (source,) = find_sources(file)
    assert "shiftdist-augmented" in {s.scenario for s in source.fingerprints}
    labels = np.load(file.with_name("birds_augmented.npz"))["y"]
    names, counts = np.unique(labels, return_counts=True)
    assert dict(zip(names, counts, strict=True)) == {f"class {c}": 4 for c in range(3)}


def test_other_severities_corrupt_the_training_images_anew(
    tmp_path: Path, backbones: list[str]
) -> None:
    write_images(tmp_path / "birds", classes=6, images=4)
    found = []
    for severities in ([1], [1], [5]):
        file = embed(tmp_path, ["shiftdist-augmented"], severities=severities)
        found.append(np.load(file.with_name("birds_augmented.npz"))["E"])
    assert (found[0] == found[1]).all()
    assert not np.allclose(found[0], found[2])


def test_images_called_as_a_usual_data_set_run_all_that_they_allow(
    tmp_path: Path, backbones: list[str]
) -> None:
    write_images(tmp_path / "cars", classes=6, images=3)
    (source,) = find_sources(embed_images(tmp_path / "cars", tmp_path / "out", ["shiftdist"]))
    assert ("shiftdist", "snow-3") in {(s.scenario, s.test) for s in source.fingerprints}


def test_images_are_told_from_embeddings(tmp_path: Path) -> None:
    write_images(tmp_path / "birds", classes=2, images=1)
    assert holds_images(tmp_path / "birds")
    np.savez(tmp_path / "pack.npz", images=np.zeros((2, 4, 4), np.uint8), labels=[0, 1])
    assert holds_images(tmp_path / "pack.npz")
    np.savez(tmp_path / "birds" / "e.npz", E=np.ones((4, 3)), y=[0, 0, 1, 1])
    assert not holds_images(tmp_path / "birds")  # pictures beside embeddings do not matter
    (tmp_path / "empty").mkdir()
    assert not holds_images(tmp_path / "empty")
