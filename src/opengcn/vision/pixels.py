"""From an image of any shape to a square of pixels, and from pixels to a network's input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import OpenGCNError

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["SCALINGS", "Scaling", "random_crop", "scaling", "square"]

SMALLEST_CROP = 0.4  # of the image's area, in training: fine-grained classes need most of it


@dataclass(frozen=True)
class Scaling:
    """What a network expects instead of 0 ... 255: ``(pixels - mean) / deviation``.

    Attributes
    ----------
    mean, deviation : tuple of three float
        For red, green and blue.
    """

    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return pixels of shape (n, size, size, 3) as input of shape (n, 3, size, size)."""
        factor = 1 / np.array(self.deviation, np.float32)
        offset = -np.array(self.mean, np.float32) * factor
        return np.ascontiguousarray((pixels * factor + offset).transpose(0, 3, 1, 2))


SCALINGS = {
    "imagenet": Scaling((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "centred": Scaling((127.0,) * 3, (128.0,) * 3),
    "unit": Scaling((0.0,) * 3, (255.0,) * 3),
    "raw": Scaling((0.0,) * 3, (1.0,) * 3),
}


def scaling(name: str) -> Scaling:
    """Return a scaling by its name.

    Parameters
    ----------
    name : str
        ``imagenet``: mean and deviation of ImageNet; ``centred``: (rgb - 127) / 128;
        ``unit``: rgb / 255; ``raw``: 0 to 255.

    Returns
    -------
    scaling : Scaling
        The scaling.
    """
    if name not in SCALINGS:
        raise OpenGCNError(f"scaling: expected one of {', '.join(SCALINGS)}, received {name!r}")
    return SCALINGS[name]


def square(image: Image.Image, size: int) -> NDArray[np.uint8]:
    """Scale the shorter side to `size` and cut out the middle.

    Parameters
    ----------
    image : PIL.Image.Image
        In RGB.
    size : int
        Side of the square.

    Returns
    -------
    pixels : ndarray of shape (size, size, 3), uint8
        The pixels.
    """
    side = min(image.size)
    left, top = ((length - side) / 2 for length in image.size)
    return _cut(image, (left, top, left + side, top + side), size)


def random_crop(
    image: Image.Image, size: int, rng: np.random.Generator, *, flip: bool
) -> NDArray[np.uint8]:
    """Cut out a random rectangle of 40 to 100 % of the area and scale it to a square.

    Parameters
    ----------
    image : PIL.Image.Image
        In RGB.
    size : int
        Side of the square.
    rng : numpy.random.Generator
        Source of randomness.
    flip : bool
        Whether to mirror every other image.

    Returns
    -------
    pixels : ndarray of shape (size, size, 3), uint8
        The pixels.
    """
    width, height = image.size
    area = width * height * rng.uniform(SMALLEST_CROP, 1)
    stretch = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
    wide, high = min(width, np.sqrt(area * stretch)), min(height, np.sqrt(area / stretch))
    left, top = rng.uniform(0, width - wide), rng.uniform(0, height - high)
    pixels = _cut(image, (left, top, left + wide, top + high), size)
    return pixels[:, ::-1] if flip and rng.random() < 0.5 else pixels


def _cut(
    image: Image.Image, box: tuple[float, float, float, float], size: int
) -> NDArray[np.uint8]:
    from PIL.Image import Resampling

    if image.size == (size, size) and box == (0, 0, size, size):
        return np.asarray(image)
    return np.asarray(image.resize((size, size), Resampling.BICUBIC, box=box))
