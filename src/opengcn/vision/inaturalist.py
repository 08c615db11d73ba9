"""iNaturalist-2018 as it is distributed, with the class split of Smooth-AP."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from opengcn.errors import DataError, OpenGCNWarning
from opengcn.vision.image_set import ImageSet, images_from_files

__all__ = ["read_inaturalist"]

ANNOTATIONS = ("train2018.json", "val2018.json")
SPLIT = ("Inaturalist_train_set1.txt", "Inaturalist_test_set1.txt")


def read_inaturalist(path: Path) -> ImageSet:
    """Read iNaturalist-2018.

    Parameters
    ----------
    path : Path
        A folder with ``train_val2018/``, ``train2018.json`` (and ``val2018.json``), and the
        lists that the authors of Smooth-AP give out, ``Inaturalist_train_set1.txt`` and
        ``Inaturalist_test_set1.txt``, there or in ``Inat_dataset_splits/``.

    Returns
    -------
    images : ImageSet
        Classes are ``supercategory/number``, as in the paths of the images. With the lists,
        those of the training list come first and are for training: 5,690 of 8,142. Without
        them, the first half of the category ids is, and a warning says so.
    """
    annotated = _annotated(path)
    lists = [_find(path, name) for name in SPLIT]
    train_list, test_list = lists
    if train_list is None or test_list is None:
        warnings.warn(
            f"{path}: {SPLIT[0]} and {SPLIT[1]} are not there: the first half of the classes is "
            f"taken for training, which is not the split of the paper",
            OpenGCNWarning,
            stacklevel=2,
        )
        classes = list(dict.fromkeys(annotated[name] for name in annotated))
        names, train_classes = list(annotated), len(classes) // 2
    else:
        first, second = (_listed(file, annotated) for file in (train_list, test_list))
        parts = [list(dict.fromkeys(annotated[name] for name in part)) for part in (first, second)]
        shared = set(parts[0]) & set(parts[1])
        if shared:
            raise DataError(
                f"{path}: expected lists without a common class, received {len(shared)} in both, "
                f"one is {min(shared)}"
            )
        classes, train_classes = parts[0] + parts[1], len(parts[0])
        names = first + second
    position = {label: place for place, label in enumerate(classes)}
    return images_from_files(
        path, names, [position[annotated[name]] for name in names], classes, train_classes
    )


def _annotated(path: Path) -> dict[str, str]:
    """Return the class of every annotated image, in the order of the category ids."""
    found: list[tuple[int, str, str]] = []
    for name in ANNOTATIONS:
        file = path / name
        if not file.is_file():
            continue
        try:
            content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            files = {image["id"]: str(image["file_name"]) for image in content["images"]}
            found += [
                (int(a["category_id"]), files[a["image_id"]], _class_of(files[a["image_id"]]))
                for a in content["annotations"]
            ]
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise DataError(
                f"{file}: expected annotations of iNaturalist, received {error!r}"
            ) from error
    if not found:
        raise DataError(
            f"{path}: expected {ANNOTATIONS[0]}, received neither it nor an image in it"
        )
    return {name: label for _, name, label in sorted(found)}


def _class_of(name: str) -> str:
    """Return ``Plantae/7477`` of ``train_val2018/Plantae/7477/3b60.jpg``."""
    *_, supercategory, number, _ = name.split("/")
    return f"{supercategory}/{number}"


def _find(path: Path, name: str) -> Path | None:
    places = (path / name, path / "Inat_dataset_splits" / name)
    return next((place for place in places if place.is_file()), None)


def _listed(path: Path, annotated: dict[str, str]) -> list[str]:
    names = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    names = [name for name in names if name]
    unknown = [name for name in names if name not in annotated]
    if unknown or not names:
        raise DataError(
            f"{path}: expected images that {' or '.join(ANNOTATIONS)} has, received "
            f"{f'{len(unknown)} others, the first is {unknown[0]}' if unknown else 'no line'}"
        )
    return names
