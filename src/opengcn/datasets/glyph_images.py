"""Pictures of characters in the fonts that matplotlib ships, jittered and split by class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opengcn.datasets.glyph_characters import FONTS, distinct_characters, ink_of
from opengcn.errors import DataError
from opengcn.progress import progress_bar

__all__ = ["GlyphImages", "check_blur", "gaussian_blur", "glyph_images"]

SIDE = 32  # pixels of a finished picture
DRAWN = 2 * SIDE  # drawn at twice the size, then averaged down: smooth edges
FIT = 50  # pixels of the longer side of the ink on the drawn picture, before jitter


class GlyphImages(NamedTuple):
    """Pictures with their characters and the part of the split that they belong to.

    Attributes
    ----------
    images : ndarray of shape (n, 32, 32), uint8
        Light ink (255) on dark ground (0); rows of one character are adjacent.
    characters : ndarray of shape (n,), str
        The character on each picture.
    parts : ndarray of shape (n,), str
        ``"train"``, ``"cal"`` or ``"test"``.

    Examples
    --------
    >>> import numpy as np
    >>> from opengcn.datasets import GlyphImages
    >>> blank = np.zeros((1, 32, 32), np.uint8)
    >>> GlyphImages(blank, np.array(["A"]), np.array(["train"])).images.shape
    (1, 32, 32)
    """

    images: NDArray[np.uint8]
    characters: NDArray[np.str_]
    parts: NDArray[np.str_]


def glyph_images(
    seed: int = 0,
    *,
    blur: float = 0.0,
    classes: int = 640,
    images: int = 20,
    progress: bool = True,
) -> GlyphImages:
    """Draw the pictures that `opengcn.datasets.glyphs` embeds, to look at them.

    Parameters
    ----------
    seed : int, default 0
        Chooses the characters, their split and the jitter of each picture.
    blur : float, default 0
        Standard deviation in pixels of a Gaussian blur on the pictures of the test part.
    classes : int, default 640
        The number of characters.
    images : int, default 20
        The number of pictures of each character.
    progress : bool, default True
        Draw a progress bar on standard error when it takes longer than two seconds.

    Returns
    -------
    GlyphImages
        ``images`` (n, 32, 32) uint8, ``characters`` (n,) and ``parts`` (n,), where n is
        ``classes * images``.

    Examples
    --------
    >>> from opengcn.datasets import glyph_images
    >>> drawn = glyph_images(classes=8, images=2)
    >>> drawn.images.shape, sorted(set(drawn.parts.tolist()))
    ((16, 32, 32), ['cal', 'test', 'train'])
    """
    check_blur(blur)
    if images < 2:
        raise DataError(f"images: expected 2 or more of each class, received {images}")
    split = split_characters(seed, classes)
    drawn, characters, parts = [], [], []
    with progress_bar("Drawing glyphs", classes, show=progress) as advance:
        for part, members in split.items():
            for character in members:
                drawn.append(_draw(character, images, seed))
                characters += [character] * images
                parts += [part] * images
                advance(1)
    result = GlyphImages(np.concatenate(drawn), np.array(characters), np.array(parts))
    test = result.parts == "test"
    result.images[test] = gaussian_blur(result.images[test], blur)
    return result


def split_characters(seed: int, classes: int) -> dict[str, list[str]]:
    """Choose `classes` characters and split them: half train; a tenth of the rest cal.

    Parameters
    ----------
    seed : int
        Seed of both choices.
    classes : int
        The number of characters.

    Returns
    -------
    dict of str to list of str
        The characters of ``"train"``, ``"cal"`` and ``"test"``; no two share one.
    """
    available = distinct_characters()
    if not 8 <= classes <= len(available):
        raise DataError(
            f"classes: expected 8 to {len(available)}, the characters that look different, "
            f"received {classes}"
        )
    chosen = np.random.default_rng(seed).permutation(np.array(available))[:classes]
    half = classes // 2
    q = np.random.default_rng(seed).permutation(np.sort(chosen[half:]))
    n_cal = max(2, round(0.1 * len(q)))
    return {
        "train": sorted(chosen[:half].tolist()),
        "cal": sorted(q[:n_cal].tolist()),
        "test": sorted(q[n_cal:].tolist()),
    }


def check_blur(blur: float) -> None:
    """Raise an error unless `blur` is the standard deviation of a Gaussian, or 0.

    Parameters
    ----------
    blur : float
        In pixels.
    """
    if not 0 <= blur < float("inf"):
        raise DataError(f"blur: expected a standard deviation of 0 or more, received {blur}")


def gaussian_blur(images: NDArray[np.uint8], sigma: float) -> NDArray[np.uint8]:
    """Blur each picture with a Gaussian; ground continues past the edge.

    Parameters
    ----------
    images : ndarray of shape (n, side, side), uint8
        The pictures.
    sigma : float
        Standard deviation in pixels; at 0 the pictures stay as they are.

    Returns
    -------
    ndarray of shape (n, side, side), uint8
        The blurred pictures.
    """
    if sigma == 0:
        return images
    return np.rint(_blur(images.astype(np.float32), sigma)).astype(np.uint8)


def _blur(images: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    place = np.arange(images.shape[-1])
    kernel = np.exp(-0.5 * ((place[:, None] - place) / sigma) ** 2)
    # Normalised over the whole line, not row by row: what lies outside is dark.
    tail = np.arange(-len(place), len(place) + 1)
    kernel /= np.exp(-0.5 * (tail / sigma) ** 2).sum()
    matrix = kernel.astype(np.float32)
    return np.asarray(matrix @ images @ matrix, dtype=np.float32)


def _draw(character: str, count: int, seed: int) -> NDArray[np.uint8]:
    """Draw one character `count` times: (count, 32, 32) uint8, each in its own way."""
    from PIL import Image

    rng = np.random.default_rng([seed, ord(character)])  # a class does not depend on others
    inks = [ink for font in FONTS if (ink := ink_of(character, font)) is not None]
    order = rng.permutation(len(inks))
    canvas = np.empty((count, DRAWN, DRAWN), dtype=np.float32)
    for i in range(count):
        ink = inks[order[i % len(order)]]
        coefficients = _jitter(ink.size, rng)
        picture = ink.transform(
            (DRAWN, DRAWN), Image.Transform.AFFINE, coefficients, Image.Resampling.BILINEAR
        )
        canvas[i] = np.asarray(picture, dtype=np.float32) / 255
    # Blurred edges cut at a random level: a low one fattens the strokes, a high one thins.
    level = rng.uniform(0.25, 0.6, size=(count, 1, 1))
    canvas = np.clip((_blur(canvas, 1.0) - level) * 4 + 0.5, 0, 1)
    pictures = canvas.reshape(count, SIDE, 2, SIDE, 2).mean(axis=(2, 4))
    pictures = pictures * rng.uniform(0.6, 1.0, size=(count, 1, 1))
    pictures = pictures + rng.normal(0, 0.09, size=pictures.shape)
    finished: NDArray[np.uint8] = np.rint(255 * np.clip(pictures, 0, 1)).astype(np.uint8)
    return finished


def _jitter(size: tuple[int, int], rng: np.random.Generator) -> tuple[float, ...]:
    """Return the affine map from a drawn picture to the ink, as Pillow wants it."""
    angle = np.deg2rad(rng.normal(0, 8))
    shear = rng.normal(0, 0.1)
    scale = FIT / max(size) * rng.uniform(0.7, 1.1)
    stretch = np.exp(rng.normal(0, 0.08))
    forward = (
        scale
        * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        @ np.array([[1, shear], [0, 1]])
        @ np.diag([stretch, 1 / stretch])
    )
    backward = np.linalg.inv(forward)
    centre = DRAWN / 2 + rng.uniform(-4, 4, size=2)
    offset = np.array(size) / 2 - backward @ centre
    return (*backward[0], offset[0], *backward[1], offset[1])
