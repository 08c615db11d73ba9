"""Cars-196 in its two layouts: one list of all images, or the devkit's two lists."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from opengcn.errors import DataError, OpenGCNWarning, require
from opengcn.vision.image_set import ImageSet, images_from_files

__all__ = ["read_cars"]

# The devkit is unpacked into a folder of its own; its labelled test list lies anywhere.
PLACES = (".", "devkit")


def read_cars(path: Path) -> ImageSet:
    """Read Cars-196.

    Parameters
    ----------
    path : Path
        A folder with ``cars_annos.mat`` and ``car_ims/``; or with ``cars_train_annos.mat``,
        ``cars_test_annos_withlabels.mat`` and ``cars_meta.mat`` (all three there or in
        ``devkit/``), ``cars_train/`` and ``cars_test/``.

    Returns
    -------
    images : ImageSet
        Of both of the original parts, which share their classes; the first half of the
        class indices, 98 of 196, is for training the embedder.
    """
    whole = path / "cars_annos.mat"
    # Some have both lists, and the images of one of them.
    if whole.is_file() and ((path / "car_ims").is_dir() or not (path / "cars_train").is_dir()):
        annotations = _load(whole)
        listed = _rows(annotations, whole, "relative_im_path")
        classes = _class_names(annotations, whole)
    else:
        classes_file = _find(path, "cars_meta.mat")
        classes = _class_names(_load(classes_file), classes_file)
        listed = _devkit(path)
    for name, label in listed:
        if not 1 <= label <= len(classes):
            raise DataError(
                f"{path}: {name}: expected a class from 1 to {len(classes)}, received {label}"
            )
    ids = [name for name, _ in listed]
    return images_from_files(
        path, ids, [label - 1 for _, label in listed], classes, len(classes) // 2
    )


def _devkit(path: Path) -> list[tuple[str, int]]:
    train = _find(path, "cars_train_annos.mat")
    listed = [(f"cars_train/{name}", c) for name, c in _rows(_load(train), train, "fname")]
    try:
        test = _find(path, "cars_test_annos_withlabels.mat")
    except DataError:
        warnings.warn(
            f"{path}: cars_test_annos_withlabels.mat is not there, so only the images of "
            f"cars_train are read, half of the data set",
            OpenGCNWarning,
            stacklevel=3,
        )
        return listed
    return listed + [(f"cars_test/{name}", c) for name, c in _rows(_load(test), test, "fname")]


def _find(path: Path, name: str) -> Path:
    for place in PLACES:
        if (path / place / name).is_file():
            return path / place / name
    raise DataError(f"{path}: expected {name} there or in devkit/, received neither")


def _load(path: Path) -> dict[str, Any]:
    """Read a .mat file of MATLAB 5; its structs become records."""
    loader = require("scipy.io", "vision")
    try:
        content: dict[str, Any] = loader.loadmat(path, squeeze_me=True, chars_as_strings=True)
    except (ValueError, TypeError, OSError, NotImplementedError, EOFError) as error:
        raise DataError(f"{path}: expected a .mat file, received {error!r}") from error
    return content


def _rows(content: dict[str, Any], path: Path, name: str) -> list[tuple[str, int]]:
    """Return the field `name` and the class of every annotation."""
    table = content.get("annotations")
    fields = () if table is None else table.dtype.names or ()
    if table is None or not {name, "class"} <= set(fields):
        raise DataError(
            f"{path}: expected a struct 'annotations' with the fields '{name}' and 'class', "
            f"received {', '.join(fields) or 'none'}"
        )
    rows = np.atleast_1d(table)
    return [(str(file), int(c)) for file, c in zip(rows[name], rows["class"], strict=True)]


def _class_names(content: dict[str, Any], path: Path) -> list[str]:
    if "class_names" not in content:
        raise DataError(f"{path}: expected 'class_names', received {', '.join(sorted(content))}")
    return [str(name) for name in np.atleast_1d(content["class_names"])]
