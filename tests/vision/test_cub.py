"""CUB-200-2011: the layout of the archive, with few and small images."""

from __future__ import annotations

from pathlib import Path

import pytest

from opengcn import DataError
from opengcn.vision import read_images


@pytest.fixture
def cub(tmp_path: Path, draw) -> Path:
    folder = tmp_path / "CUB_200_2011"
    names = ["001.Black_footed_Albatross", "002.Laysan_Albatross", "003.Sooty_Albatross", "004.Ani"]
    listed, labels, number = [], [], 0
    for label, name in enumerate(names, start=1):
        for seed in range(2):
            number += 1
            file = f"{name}/{name[4:]}_{number:04d}_{seed}.jpg"
            draw(folder / "images" / file, label, seed)
            listed.append(f"{number} {file}")
            labels.append(f"{number} {label}")
    classes = [f"{label} {name}" for label, name in enumerate(names, start=1)]
    for file, lines in (
        ("images.txt", listed),
        ("image_class_labels.txt", labels),
        ("classes.txt", classes),
    ):
        (folder / file).write_text("\n".join(lines) + "\n")
    return folder


def test_cub(cub: Path) -> None:
    images = read_images(cub)
    assert len(images) == 8
    assert images.classes[0] == "001.Black_footed_Albatross"
    assert images.train_classes == 2
    assert list(images.labels[:3]) == [images.classes[0]] * 2 + [images.classes[1]]
    assert images.ids[2] == "002.Laysan_Albatross/Laysan_Albatross_0003_0.jpg"
    assert images.image(2).size == (48, 40)


def test_a_folder_with_a_list_of_its_own_is_no_cub(photos: Path) -> None:
    (photos / "images.txt").write_text("my images\n")
    assert len(read_images(photos)) == 30


def test_missing_image(cub: Path) -> None:
    next((cub / "images" / "004.Ani").iterdir()).unlink()
    with pytest.raises(DataError, match=r"expected 8 images, .* 1 of them are missing, the first"):
        read_images(cub)


def test_missing_list(cub: Path) -> None:
    (cub / "classes.txt").unlink()
    with pytest.raises(DataError, match=r"classes.txt: expected a list of CUB-200-2011"):
        read_images(cub)


def test_image_without_a_class(cub: Path) -> None:
    file = cub / "image_class_labels.txt"
    file.write_text(file.read_text().replace("8 4", "8 5"))
    with pytest.raises(DataError, match="expected a class of classes.txt for image 8, received 5"):
        read_images(cub)


def test_damaged_list(cub: Path) -> None:
    (cub / "images.txt").write_text("1 a.jpg\n2\n")
    with pytest.raises(DataError, match=r"images.txt: line 2: expected a number and a value"):
        read_images(cub)
