"""Any folder of class folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from opengcn.errors import DataError
from opengcn.vision.image_set import ImageSet, images_from_files

__all__ = ["read_image_folder"]

SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}
PARTS = {"test", "train", "val", "valid", "validation"}


def read_image_folder(path: Path) -> ImageSet:
    """Read a folder whose sub-folders are the classes.

    Parameters
    ----------
    path : Path
        The folder. Sub-folders may lie deeper: the class of ``a/b/1.png`` is ``a/b``. Parts
        made for closed-world training are joined: ``train/a`` and ``test/a`` are the class
        ``a``. Classes are in the order of their names; hidden files are left out.

    Returns
    -------
    images : ImageSet
        The first half of the classes is for training.
    """
    found = sorted(
        file.relative_to(path)
        for file in path.rglob("*")
        if file.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not found:
        raise DataError(
            f"{path}: expected a folder of class folders with images "
            f"({', '.join(sorted(SUFFIXES))}), received no image in it"
        )
    labels = [_class_of(file) for file in found]
    if "" in labels:
        raise DataError(
            f"{path}: expected every image in the folder of its class, received "
            f"{found[labels.index('')]} in none"
        )
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"{path}: expected two class folders or more, received one, {classes[0]}")
    ids = [file.as_posix() for file in found]
    return images_from_files(path, ids, codes.tolist(), classes.tolist(), len(classes) // 2)


def _class_of(file: Path) -> str:
    *above, own = file.parent.parts or ("",)
    return "/".join([*(part for part in above if part.lower() not in PARTS), own])
