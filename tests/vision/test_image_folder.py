from __future__ import annotations

from pathlib import Path

import pytest

from opengcn import DataError
from opengcn.vision import read_images


def test_classes_are_folders_in_the_order_of_their_names(photos: Path) -> None:
    (photos / "class0" / "notes.txt").write_text("not an image")
    (photos / ".thumbnails").mkdir()
    (photos / ".thumbnails" / "1.png").write_bytes(b"")
    images = read_images(photos)
    assert images.classes == tuple(f"class{k}" for k in range(6))
    assert images.train_classes == 3
    assert len(images) == 30
    assert images.ids[6] == "class1/1.png"
    assert images.labels[6] == "class1"


def test_classes_may_lie_deeper(tmp_path: Path, draw) -> None:
    for alphabet, character in (("greek", "a"), ("greek", "b"), ("latin", "a")):
        draw(tmp_path / alphabet / character / "1.png", 0, 0)
    assert read_images(tmp_path).classes == ("greek/a", "greek/b", "latin/a")


def test_parts_for_training_are_joined(tmp_path: Path, draw) -> None:
    files = ("train/bus/1.png", "train/train/1.png", "test/bus/2.png", "Valid/train/3.png")
    for name in files:
        draw(tmp_path / name, 0, 0)
    images = read_images(tmp_path)
    assert dict(zip(images.ids, images.labels, strict=True)) == {
        name: name.split("/")[1] for name in files
    }


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "expected a folder of class folders with images"),
        (["1.png", "a/2.png"], "expected every image in the folder of its class, received 1.png"),
        (["a/1.png", "a/2.png"], "expected two class folders or more, received one, a"),
    ],
)
def test_other_folders_are_refused(files: list[str], message: str, tmp_path: Path, draw) -> None:
    for name in files:
        draw(tmp_path / name, 0, 0)
    with pytest.raises(DataError, match=message):
        read_images(tmp_path)


def test_empty_file(photos: Path) -> None:
    (photos / "class4" / "1.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"class4/1.png: expected an image, received an empty file"):
        read_images(photos)


def test_no_such_path(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a folder of images or a .npz pack"):
        read_images(tmp_path / "nowhere")
