from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from opengcn import DataError
from opengcn.vision import read_images


@pytest.fixture
def pixels(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 256, (6, 20, 24), dtype=np.uint8)


def pack(path: Path, **arrays: np.ndarray) -> Path:
    usual = {"labels": np.array([0, 0, 1, 1, 2, 2]), "class_names": np.array(["a", "b", "c"])}
    np.savez(path, **(usual | arrays))
    return path


def test_pixels(tmp_path: Path, pixels: np.ndarray) -> None:
    names = np.array([f"x/{k}.png" for k in range(6)])
    images = read_images(pack(tmp_path / "p.npz", images=pixels, paths=names))
    assert (np.asarray(images.image(4))[:, :, 1] == pixels[4]).all()
    assert images.ids[4] == "x/4.png"
    assert images.train_classes == 1
    colour = np.stack([pixels, pixels // 2, pixels // 3], axis=-1)
    images = read_images(pack(tmp_path / "q.npz", images=colour))
    assert (np.asarray(images.image(2)) == colour[2]).all()
    assert list(images.ids[:2]) == ["0", "1"]


def test_files_end_to_end(tmp_path: Path, pixels: np.ndarray) -> None:
    files = []
    for one in pixels:
        file = io.BytesIO()
        Image.fromarray(one).save(file, "PNG")
        files.append(file.getvalue())
    data = np.frombuffer(b"".join(files), np.uint8)
    offsets = np.cumsum([0] + [len(f) for f in files])
    images = read_images(pack(tmp_path / "p.npz", jpeg=data, offsets=offsets))
    assert (np.asarray(images.image(5))[:, :, 0] == pixels[5]).all()


def test_a_changed_pixel_changes_the_fingerprint(tmp_path: Path, pixels: np.ndarray) -> None:
    before = read_images(pack(tmp_path / "p.npz", images=pixels)).fingerprint()
    pixels[3, 7, 7] += 1
    assert read_images(pack(tmp_path / "p.npz", images=pixels)).fingerprint() != before


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "expected 'images', or 'jpeg' and 'offsets'"),
        ({"images": np.zeros((6, 4, 4), np.float32)}, "expected 'images' as uint8"),
        (
            {"images": np.zeros((6, 4, 4), np.uint8), "labels": np.array(list("aabbcc"))},
            "expected 'labels' as positions in 'class_names', received <U1",
        ),
        ({"images": np.zeros((5, 4, 4), np.uint8)}, "expected 5 labels for 5 images, received 6"),
        (
            {"images": np.zeros((6, 4, 4), np.uint8), "labels": np.array([0, 1, 2, 3, 1, 1])},
            "expected labels from 0 to 2, received 0 to 3",
        ),
        (
            {"images": np.zeros((6, 4, 4), np.uint8), "paths": np.array(list("abcdea"))},
            "expected each image once, received a 2 times",
        ),
        (
            {"images": np.zeros((6, 4, 4), np.uint8), "class_names": np.array(list("aba"))},
            "expected distinct class names, received a twice",
        ),
        (
            {"jpeg": np.zeros(9, np.uint8), "offsets": np.array([0, 1, 2, 3, 4, 5, 60])},
            "expected increasing 'offsets' into 9 bytes",
        ),
    ],
)
def test_bad_packs(arrays: dict[str, np.ndarray], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read_images(pack(tmp_path / "p.npz", **arrays))


def test_truncated_pack(tmp_path: Path, pixels: np.ndarray) -> None:
    file = pack(tmp_path / "p.npz", images=pixels)
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(DataError, match=r"p.npz: expected a whole .npz file"):
        read_images(file)


def test_embeddings_are_no_images(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", embeddings=np.eye(3))
    with pytest.raises(DataError, match="expected a pack of images with 'labels'"):
        read_images(tmp_path / "e.npz")


def test_packs_of_real_images(real_data: Path) -> None:
    birds = read_images(real_data / "cub_images_128.npz")
    assert (len(birds), len(birds.classes), birds.train_classes) == (11_788, 200, 100)
    assert birds.classes[0] == "001.Black_footed_Albatross"
    assert birds.image(11_787).size == (128, 128)
