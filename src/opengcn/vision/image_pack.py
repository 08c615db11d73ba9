"""Packs: all images of a data set in one .npz file."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import DataError
from opengcn.sources import readable
from opengcn.vision.image_set import Contents, ImageSet

__all__ = ["read_image_pack"]


def read_image_pack(path: Path) -> ImageSet:
    """Read a pack.

    Parameters
    ----------
    path : Path
        A .npz file with ``labels`` (n,) and ``class_names``, and with the images either as
        files end to end, ``jpeg`` (bytes) and ``offsets`` (n + 1,), or as pixels,
        ``images`` (n, height, width) or (n, height, width, 3), uint8. ``paths`` (n,) names
        them; without it they are numbered.

    Returns
    -------
    images : ImageSet
        The first half of the class indices is for training. The pack is held in memory.
    """
    with readable(path), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name in ("labels", "class_names"):
        if name not in arrays:
            raise DataError(
                f"{path}: expected a pack of images with '{name}', received "
                f"{', '.join(map(repr, arrays)) or 'no array'}"
            )
    if arrays["labels"].dtype.kind not in "iu":
        raise DataError(
            f"{path}: expected 'labels' as positions in 'class_names', received "
            f"{arrays['labels'].dtype}"
        )
    codes, classes = arrays["labels"].astype(np.intp), arrays["class_names"]
    contents, n = _contents(path, arrays)
    ids = arrays.get("paths", np.array([f"{row:0{len(str(n))}d}" for row in range(n)]))
    for name, length in (("labels", len(codes)), ("paths", len(ids))):
        if length != n:
            raise DataError(f"{path}: expected {n} {name} for {n} images, received {length}")
    if codes.min() < 0 or codes.max() >= len(classes):
        raise DataError(
            f"{path}: expected labels from 0 to {len(classes) - 1}, received "
            f"{codes.min()} to {codes.max()}"
        )
    return ImageSet(
        ids=ids.astype(np.str_),
        codes=codes,
        classes=tuple(map(str, classes)),
        train_classes=len(classes) // 2,
        stamps=np.array([zlib.crc32(contents(row)) for row in range(n)], np.int64),
        contents=contents,
        source=str(path),
        rows=np.arange(n),
    )


def _contents(path: Path, arrays: dict[str, NDArray[Any]]) -> tuple[Contents, int]:
    if "images" in arrays:
        images = arrays["images"]
        shaped = images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)
        if images.dtype != np.uint8 or not shaped or not images.size:
            raise DataError(
                f"{path}: expected 'images' as uint8 of shape (n, height, width) or "
                f"(n, height, width, 3), received {images.dtype} of shape {images.shape}"
            )
        return lambda row: _image_file(images[row]), len(images)
    if "jpeg" in arrays and "offsets" in arrays:
        data, offsets = arrays["jpeg"], arrays["offsets"].astype(np.int64)
        sizes = np.diff(offsets)
        if len(sizes) == 0 or sizes.min() <= 0 or offsets[0] < 0 or offsets[-1] > len(data):
            raise DataError(
                f"{path}: expected increasing 'offsets' into {len(data)} bytes, received others"
            )
        return lambda row: data[offsets[row] : offsets[row + 1]].tobytes(), len(sizes)
    raise DataError(
        f"{path}: expected 'images', or 'jpeg' and 'offsets', received "
        f"{', '.join(map(repr, arrays))}"
    )


def _image_file(pixels: NDArray[np.uint8]) -> bytes:
    """Return pixels as a file in the simplest of all formats (PGM or PPM)."""
    height, width = pixels.shape[:2]
    kind = "P5" if pixels.ndim == 2 else "P6"
    return f"{kind} {width} {height} 255\n".encode() + pixels.tobytes()
