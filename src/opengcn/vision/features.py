"""Features of images, computed once: kept in the cache, and gone on with after a break."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from opengcn.files import write_npz
from opengcn.progress import progress_bar
from opengcn.user_cache import user_cache
from opengcn.vision.backbones import Backbone
from opengcn.vision.image_set import ImageSet
from opengcn.vision.loading import prepared
from opengcn.vision.pixels import square
from opengcn.vision.shifts import Shift

__all__ = ["FeatureFile", "features"]

VERSION = 1  # raise it when pixels or features change: old files are left alone
BATCH = 32  # images that a network sees at once
SHARD = 32 * BATCH  # images of a file: what a break loses at most


class FeatureFile:
    """The features of one shard on disk.

    Parameters
    ----------
    path : Path
        Where it lies, or will.
    rows : range
        Its rows in the set of images.
    """

    def __init__(self, path: Path, rows: range) -> None:
        self.path, self.rows = path, rows

    def read(self) -> NDArray[np.float32] | None:
        """Return the features, or None when they are not there whole.

        Returns
        -------
        features : ndarray of shape (len(rows), D), float32, or None
            numpy checks the checksum of what it reads.
        """
        with suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            # Opened here: numpy leaves the file open when it turns out to be damaged.
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                found: NDArray[np.float32] = stored["features"]
            if len(found) == len(self.rows):
                return found
        return None

    def write(self, values: NDArray[np.float32]) -> None:
        """Keep the features.

        Parameters
        ----------
        values : ndarray of shape (len(rows), D), float32
            The features.
        """
        write_npz(self.path, {"features": values})


def features(
    backbone: Backbone,
    images: ImageSet,
    shift: Shift | None = None,
    *,
    resume: bool = True,
    progress: bool = True,
) -> Iterator[NDArray[np.float32]]:
    """Yield the features of all images, in order, block by block.

    Blocks are kept in the user's cache folder under a digest of the images, the backbone and
    the shift, so that they are computed once, and a job that was interrupted goes on.

    Parameters
    ----------
    backbone : Backbone
        What computes them.
    images : ImageSet
        The images.
    shift : Shift, optional
        Applied to the squares of pixels that the backbone sees.
    resume : bool, default True
        Use what is in the cache. Otherwise everything is computed again.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Yields
    ------
    features : ndarray of shape (m, D), float32
        A block of at most 1,024 rows.
    """

    def pixels(row: int) -> NDArray[np.uint8]:
        seen = square(images.image(row, backbone.size), backbone.size)
        return seen if shift is None else shift(seen, str(images.ids[row]))

    with progress_bar("Features", len(images), show=progress) as advance:
        for shard in _shards(backbone, images, shift):
            values = shard.read() if resume else None
            if values is None:
                rows = shard.rows
                batches = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]
                blocks = []
                for batch in prepared(batches, pixels):
                    blocks.append(backbone.features(batch))
                    advance(len(batch))
                values = np.concatenate(blocks)
                shard.write(values)
            else:
                advance(len(values))
            yield values


def _shards(backbone: Backbone, images: ImageSet, shift: Shift | None) -> list[FeatureFile]:
    identity = (VERSION, images.fingerprint(), backbone.digest, str(shift))
    folder = user_cache() / "features" / hashlib.sha256(repr(identity).encode()).hexdigest()[:32]
    return [
        FeatureFile(folder / f"{start:08d}.npz", range(start, min(start + SHARD, len(images))))
        for start in range(0, len(images), SHARD)
    ]
