"""iNaturalist-2018: annotations in JSON and the lists of Smooth-AP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opengcn import DataError, OpenGCNWarning
from opengcn.vision import read_images, take_part

CATEGORIES = ["Plantae/7477", "Insecta/12", "Aves/3001", "Aves/3002", "Fungi/5", "Insecta/99"]


def annotate(folder: Path, name: str, files: list[tuple[int, str]]) -> None:
    content = {
        "images": [{"id": 100 + k, "file_name": file} for k, (_, file) in enumerate(files)],
        "categories": [{"id": k, "name": c} for k, c in enumerate(CATEGORIES)],
        "annotations": [
            {"id": k, "image_id": 100 + k, "category_id": c} for k, (c, _) in enumerate(files)
        ],
    }
    (folder / name).write_text(json.dumps(content))


@pytest.fixture
def inaturalist(tmp_path: Path, draw) -> Path:
    listed = []
    for number, category in enumerate(CATEGORIES):
        for seed in range(4):
            file = f"train_val2018/{category}/{seed}.jpg"
            draw(tmp_path / file, number, seed)
            listed.append((number, file))
    annotate(tmp_path, "train2018.json", listed[1:])
    annotate(tmp_path, "val2018.json", listed[:1])
    folder = tmp_path / "Inat_dataset_splits"
    folder.mkdir()
    train = [file for number, file in listed if number in (1, 3, 4, 5)]
    test = [file for number, file in listed if number in (0, 2)]
    (folder / "Inaturalist_train_set1.txt").write_text("\n".join(train) + "\n")
    (folder / "Inaturalist_test_set1.txt").write_text("\n".join(test) + "\n")
    return tmp_path


def test_split_of_smooth_ap(inaturalist: Path) -> None:
    images = read_images(inaturalist)
    assert len(images) == 24
    assert images.train_classes == 4
    assert set(images.classes[:4]) == {"Insecta/12", "Aves/3002", "Fungi/5", "Insecta/99"}
    assert set(take_part(images, "open").labels) == {"Plantae/7477", "Aves/3001"}
    assert images.image(0).size == (48, 40)


def test_without_the_lists_half_of_the_classes_and_a_warning(inaturalist: Path) -> None:
    (inaturalist / "Inat_dataset_splits" / "Inaturalist_test_set1.txt").unlink()
    with pytest.warns(OpenGCNWarning, match="not the split of the paper"):
        images = read_images(inaturalist)
    assert images.train_classes == 3
    assert images.classes == tuple(CATEGORIES)  # in the order of the category ids
    assert len(images) == 24


def test_list_of_other_images(inaturalist: Path) -> None:
    file = inaturalist / "Inat_dataset_splits" / "Inaturalist_test_set1.txt"
    file.write_text("train_val2018/Aves/1/x.jpg\n")
    with pytest.raises(DataError, match="1 others, the first is train_val2018/Aves/1/x.jpg"):
        read_images(inaturalist)


def test_lists_with_a_common_class(inaturalist: Path) -> None:
    folder = inaturalist / "Inat_dataset_splits"
    with (folder / "Inaturalist_test_set1.txt").open("a") as file:
        file.write("train_val2018/Fungi/5/0.jpg\n")
    with pytest.raises(DataError, match="expected lists without a common class, .* Fungi/5"):
        read_images(inaturalist)


def test_damaged_annotations(inaturalist: Path) -> None:
    (inaturalist / "train2018.json").write_text('{"images": [')
    with pytest.raises(DataError, match=r"train2018.json: expected annotations of iNaturalist"):
        read_images(inaturalist)


def test_missing_images(inaturalist: Path) -> None:
    (inaturalist / "train_val2018" / "Fungi" / "5" / "0.jpg").unlink()
    with pytest.raises(DataError, match=r"1 of them are missing, .*Fungi/5/0.jpg"):
        read_images(inaturalist)
