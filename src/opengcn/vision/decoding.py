"""From the bytes of an image file to an image in RGB, the right way up."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["decoded"]

WHITE = (255, 255, 255, 255)


def decoded(held: bytes, at_least: int = 0) -> Image.Image:
    """Decode an image.

    Parameters
    ----------
    held : bytes
        An image file in any format that Pillow knows. Of several frames the first counts;
        grey images of 16 bits are brought to 8, and what is transparent becomes white.
    at_least : int, default 0
        The side that will be needed. Large JPEG files are decoded at a fraction of their
        size, though never below twice this one. 0 decodes everything in full.

    Returns
    -------
    image : PIL.Image.Image
        In RGB, turned as the camera says that it was held.
    """
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(held)) as image:
        if at_least:
            image.draft("RGB", (2 * at_least, 2 * at_least))
        return _in_rgb(ImageOps.exif_transpose(image))


def _in_rgb(image: Image.Image) -> Image.Image:
    """Convert what Pillow alone would clip to white, or would show hidden colours of."""
    from PIL import Image

    if image.mode == "F":
        raise ValueError("its pixels are floating-point numbers of no known range")
    if image.mode.startswith("I"):  # 16 bits; older versions of Pillow say 32
        image = Image.fromarray((np.asarray(image).clip(0, 65535) // 257).astype(np.uint8))
    if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, WHITE), image)
    return image.convert("RGB")
