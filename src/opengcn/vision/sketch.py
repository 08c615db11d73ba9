"""Photographs into pencil sketches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["sketch"]

STROKE = 1 / 40  # width of the strokes, as a share of the shorter side


def sketch(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    r"""Draw an image in pencil: grey strokes where brightness changes, white elsewhere.

    The paper turns D_test into sketches and does not say how. This is the usual colour dodge:
    with the grey image g and its blurred negative b = G * (255 - g),
    :math:`s = 255\, g / (255 - b)`, which is white where an image is smooth.

    Parameters
    ----------
    pixels : ndarray of shape (height, width, 3), uint8
        The image.

    Returns
    -------
    pixels : ndarray of shape (height, width, 3), uint8
        The sketch, grey in all three channels.

    Examples
    --------
    >>> import numpy as np
    >>> blank = np.full((32, 32, 3), 90, np.uint8)
    >>> sketch(blank).min()
    np.uint8(255)
    """
    from PIL import Image, ImageFilter

    grey = Image.fromarray(pixels).convert("L")
    radius = STROKE * min(grey.size)
    blurred = np.asarray(grey.filter(ImageFilter.GaussianBlur(radius)), np.float32)
    # 255 - blurred negative is the blurred image itself.
    drawn = 255 * np.asarray(grey, np.float32) / np.maximum(blurred, 1)
    drawn = np.clip(np.round(drawn), 0, 255).astype(np.uint8)
    return np.repeat(drawn[:, :, None], 3, axis=2)
