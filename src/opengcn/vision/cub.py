"""CUB-200-2011 as it is distributed: three lists of text and a folder of images."""

from __future__ import annotations

from pathlib import Path

from opengcn.errors import DataError
from opengcn.vision.image_set import ImageSet, images_from_files

__all__ = ["read_cub"]


def read_cub(path: Path) -> ImageSet:
    """Read CUB-200-2011.

    Parameters
    ----------
    path : Path
        The folder ``CUB_200_2011`` with ``images.txt``, ``image_class_labels.txt``,
        ``classes.txt`` and ``images/``.

    Returns
    -------
    images : ImageSet
        The first half of the class indices is for training: 100 of 200. (Table 1 of the
        paper prints 99, and two images less than there are.)
    """
    names = _numbered(path / "images.txt")
    labels = _numbered(path / "image_class_labels.txt")
    classes = _numbered(path / "classes.txt")
    for number in names:
        if labels.get(number) not in classes:
            raise DataError(
                f"{path / 'image_class_labels.txt'}: expected a class of classes.txt for image "
                f"{number}, received {labels.get(number, 'none')}"
            )
    position = {number: place for place, number in enumerate(classes)}
    return images_from_files(
        path / "images",
        list(names.values()),
        [position[labels[number]] for number in names],
        list(classes.values()),
        len(classes) // 2,
    )


def _numbered(path: Path) -> dict[str, str]:
    """Read lines of a number and a value; the order of the lines is kept."""
    if not path.is_file():
        raise DataError(f"{path}: expected a list of CUB-200-2011, received no such file")
    values = {}
    for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        parts = text.split(maxsplit=1)
        if len(parts) != 2:
            raise DataError(
                f"{path}: line {line}: expected a number and a value, received {text!r}"
            )
        values[parts[0]] = parts[1].strip()
    return values
