"""Cars-196: both layouts, written by scipy as MATLAB structs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from opengcn import DataError, OpenGCNWarning
from opengcn.vision import read_images

NAMES = ["AM General Hummer SUV 2000", "Acura RL Sedan 2012", "Audi TT RS", "BMW 1", "BMW 2"]


def annotations(rows: list[dict[str, object]]) -> np.ndarray:
    """Return a struct array of shape (1, n), as the files have it."""
    table = np.empty((1, len(rows)), dtype=[(name, object) for name in rows[0]])
    for place, row in enumerate(rows):
        for name, value in row.items():
            table[0, place][name] = value
    return table


def class_names(names: list[str]) -> np.ndarray:
    cells = np.empty((1, len(names)), dtype=object)
    cells[0] = names
    return cells


@pytest.fixture
def cars(tmp_path: Path, draw) -> Path:
    rows = []
    for number in range(1, 11):
        label = (number - 1) // 2 + 1
        file = f"car_ims/{number:06d}.jpg"
        draw(tmp_path / file, label, number)
        box = dict.fromkeys(("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2"), 1)
        rows.append({"relative_im_path": file, **box, "class": label, "test": number % 2})
    content = {"annotations": annotations(rows), "class_names": class_names(NAMES)}
    savemat(tmp_path / "cars_annos.mat", content)
    return tmp_path


@pytest.fixture
def devkit(tmp_path: Path, draw) -> Path:
    (tmp_path / "devkit").mkdir()
    savemat(tmp_path / "devkit" / "cars_meta.mat", {"class_names": class_names(NAMES)})
    for part, place in (
        ("train", "devkit/cars_train_annos"),
        ("test", "cars_test_annos_withlabels"),
    ):
        rows = []
        for label in range(1, 6):
            file = f"{label:05d}.jpg"
            draw(tmp_path / f"cars_{part}" / file, label, 0)
            rows.append({"bbox_x1": 1, "class": label, "fname": file})
        savemat(tmp_path / f"{place}.mat", {"annotations": annotations(rows)})
    return tmp_path


def test_one_list(cars: Path) -> None:
    images = read_images(cars)
    assert len(images) == 10
    assert images.classes == tuple(NAMES)
    assert images.train_classes == 2
    assert images.ids[3] == "car_ims/000004.jpg"
    assert images.labels[3] == "Acura RL Sedan 2012"
    assert images.image(3).size == (48, 40)


def test_devkit_joins_its_parts(devkit: Path) -> None:
    images = read_images(devkit)
    assert len(images) == 10
    assert images.classes == tuple(NAMES)
    assert {name.split("/")[0] for name in images.ids} == {"cars_train", "cars_test"}
    assert images.labels[7] == "Audi TT RS"


def test_devkit_beside_the_other_list(devkit: Path) -> None:
    savemat(devkit / "cars_annos.mat", {"class_names": class_names(NAMES)})
    assert set(read_images(devkit).ids[[0, 5]]) == {"cars_train/00001.jpg", "cars_test/00001.jpg"}


def test_annotations_without_file_names(devkit: Path) -> None:
    rows = [{"bbox_x1": 1, "class": 1}, {"bbox_x1": 1, "class": 2}]
    savemat(devkit / "devkit" / "cars_train_annos.mat", {"annotations": annotations(rows)})
    with pytest.raises(DataError, match="'fname' and 'class', received bbox_x1, class"):
        read_images(devkit)


def test_devkit_without_labels_of_the_test_part(devkit: Path) -> None:
    (devkit / "cars_test_annos_withlabels.mat").unlink()
    with pytest.warns(OpenGCNWarning, match="only the images of cars_train are read"):
        images = read_images(devkit)
    assert len(images) == 5


def test_devkit_without_class_names(devkit: Path) -> None:
    (devkit / "devkit" / "cars_meta.mat").unlink()
    with pytest.raises(DataError, match=r"expected cars_meta.mat there or in devkit/"):
        read_images(devkit)


def test_damaged_list(cars: Path) -> None:
    file = cars / "cars_annos.mat"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(DataError, match=r"cars_annos.mat: expected a .mat file"):
        read_images(cars)


def test_another_mat_file(cars: Path) -> None:
    savemat(cars / "cars_annos.mat", {"x": 1})
    with pytest.raises(DataError, match="expected a struct 'annotations' with the fields 'rel"):
        read_images(cars)


def test_class_out_of_range(cars: Path) -> None:
    rows = [{"relative_im_path": "car_ims/000001.jpg", "class": label} for label in (1, 9)]
    content = {"annotations": annotations(rows), "class_names": class_names(NAMES)}
    savemat(cars / "cars_annos.mat", content)
    with pytest.raises(DataError, match="expected a class from 1 to 5, received 9"):
        read_images(cars)
