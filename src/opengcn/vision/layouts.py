"""Which layout a path holds."""

from __future__ import annotations

import os
from pathlib import Path

from opengcn.errors import DataError
from opengcn.vision.cars import PLACES, read_cars
from opengcn.vision.cub import read_cub
from opengcn.vision.image_folder import read_image_folder
from opengcn.vision.image_pack import read_image_pack
from opengcn.vision.image_set import ImageSet
from opengcn.vision.inaturalist import ANNOTATIONS, read_inaturalist

__all__ = ["read_images"]


def read_images(path: str | os.PathLike[str]) -> ImageSet:
    """Read a data set of images, whichever of the known layouts it has.

    Parameters
    ----------
    path : path
        CUB-200-2011 (``image_class_labels.txt``), Cars-196 (``cars_annos.mat`` or the devkit's
        ``cars_train_annos.mat``) or iNaturalist-2018 (``train2018.json``) as distributed;
        a pack (.npz); or any other folder of class folders.

    Returns
    -------
    images : ImageSet
        No image has been read yet, unless the data set is a pack.

    Examples
    --------
    >>> from opengcn.vision import read_images
    >>> birds = read_images("CUB_200_2011")  # doctest: +SKIP
    >>> len(birds), len(birds.classes), birds.train_classes  # doctest: +SKIP
    (11788, 200, 100)
    """
    path = Path(path)
    if path.is_file() and path.suffix.lower() == ".npz":
        return read_image_pack(path)
    if not path.is_dir():
        raise DataError(f"{path}: expected a folder of images or a .npz pack, received neither")
    if (path / "image_class_labels.txt").is_file():
        return read_cub(path)
    lists = ["cars_annos.mat", *(f"{place}/cars_train_annos.mat" for place in PLACES)]
    if any((path / name).is_file() for name in lists):
        return read_cars(path)
    if (path / ANNOTATIONS[0]).is_file():
        return read_inaturalist(path)
    return read_image_folder(path)
