"""Labelled images: where they are, what they show, and how they become squares of pixels."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opengcn.errors import DataError
from opengcn.vision.decoding import decoded

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["ImageSet", "images_from_files"]

Contents = Callable[[int], bytes]


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images with a class each, none of them read before it is asked for.

    Attributes
    ----------
    ids : ndarray of shape (n,), str
        Name of each image, unique: its path inside the data set.
    codes : ndarray of shape (n,), int
        Class of each image, as a position in `classes`.
    classes : tuple of str
        All classes of the data set, in its own order.
    train_classes : int
        The first so many of `classes` are for training the embedder.
    stamps : ndarray of shape (n,), int64
        A number of each image that changes when it does: the size of its file, or the
        checksum of its contents (always in packs, which are in memory anyway; elsewhere
        after `with_checksums`).
    contents : callable
        Takes the row of an image in the whole data set; returns the bytes of an image file.
    source : str
        What messages call this set.
    rows : ndarray of shape (n,), int
        Rows of the images in the whole data set.
    """

    ids: NDArray[np.str_]
    codes: NDArray[np.intp]
    classes: tuple[str, ...]
    train_classes: int
    stamps: NDArray[np.int64]
    contents: Contents = field(repr=False)
    source: str
    rows: NDArray[np.intp]

    def __post_init__(self) -> None:
        if len(set(self.classes)) < len(self.classes):
            twice = next(c for c in self.classes if self.classes.count(c) > 1)
            raise DataError(f"{self.source}: expected distinct class names, received {twice} twice")
        if len(np.unique(self.ids)) < len(self.ids):
            names, counts = np.unique(self.ids, return_counts=True)
            raise DataError(
                f"{self.source}: expected each image once, received {names[counts > 1][0]} "
                f"{counts.max()} times"
            )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def labels(self) -> NDArray[np.str_]:
        """Class name of each image, of shape (n,)."""
        return np.array(self.classes, dtype=np.str_)[self.codes]

    def subset(self, rows: ArrayLike) -> ImageSet:
        """Return the set of some images.

        Parameters
        ----------
        rows : array_like of int or bool
            Row numbers, or a mask of shape (n,).

        Returns
        -------
        set : ImageSet
            It still knows all classes of the data set.
        """
        chosen = np.asarray(rows)
        return replace(
            self,
            ids=self.ids[chosen],
            codes=self.codes[chosen],
            stamps=self.stamps[chosen],
            rows=self.rows[chosen],
        )

    def image(self, row: int, at_least: int = 0) -> Image.Image:
        """Read and decode one image.

        Parameters
        ----------
        row : int
            Its row in this set.
        at_least : int, default 0
            The side that will be needed; see `opengcn.vision.decoding.decoded`.

        Returns
        -------
        image : PIL.Image.Image
            In RGB, the right way up.
        """
        from PIL import Image

        held = self.contents(int(self.rows[row]))
        try:
            return decoded(held, at_least)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise DataError(
                f"{self.source}: {self.ids[row]}: expected an image, received {len(held)} bytes "
                f"that cannot be decoded ({error})"
            ) from error

    def with_checksums(self) -> ImageSet:
        """Return the same set with the checksums of its images as stamps.

        It tells images apart that were changed without a change of size, and takes as long
        as reading them all.

        Returns
        -------
        set : ImageSet
            The set.
        """
        sums = [zlib.crc32(self.contents(int(row))) for row in self.rows]
        return replace(self, stamps=np.array(sums, np.int64))

    def fingerprint(self) -> str:
        """Return a digest of the names, classes and stamps of the images.

        Returns
        -------
        digest : str
            Hexadecimal; the same wherever the data set lies.
        """
        digest = hashlib.sha256()
        for name, label, stamp in zip(self.ids, self.labels, self.stamps, strict=True):
            digest.update(f"{name}\t{label}\t{stamp}\n".encode())
        return digest.hexdigest()


def images_from_files(
    folder: Path,
    ids: Sequence[str],
    codes: Sequence[int],
    classes: Sequence[str],
    train_classes: int,
) -> ImageSet:
    """Make a set of image files, after a look at whether all of them are there.

    Parameters
    ----------
    folder : Path
        What the ids are relative to.
    ids : sequence of str, length n
        Paths of the files, with slashes.
    codes : sequence of int, length n
        Class of each, as a position in `classes`.
    classes : sequence of str
        Names of the classes, in the data set's own order.
    train_classes : int
        The first so many classes are for training.

    Returns
    -------
    images : ImageSet
        The set.
    """
    sizes = np.zeros(len(ids), np.int64)
    missing = []
    for row, name in enumerate(ids):
        try:
            sizes[row] = (folder / name).stat().st_size
        except OSError:
            missing.append(name)
    if missing:
        raise DataError(
            f"{folder}: expected {len(ids):,} images, received a folder where {len(missing):,} of "
            f"them are missing, the first is {missing[0]}; unpack the archive again"
        )
    if len(ids) and sizes.min() == 0:
        empty = ids[int(sizes.argmin())]
        raise DataError(f"{folder}: {empty}: expected an image, received an empty file (0 bytes)")
    names = np.array(ids, dtype=np.str_)
    return ImageSet(
        ids=names,
        codes=np.asarray(codes, np.intp),
        classes=tuple(classes),
        train_classes=train_classes,
        stamps=sizes,
        contents=lambda row: (folder / str(names[row])).read_bytes(),
        source=str(folder),
        rows=np.arange(len(ids)),
    )
