"""Characters that the fonts of matplotlib can draw, and that look like no other."""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image, ImageFont

__all__ = ["FONTS", "distinct_characters", "ink_of"]

FONTS = (
    *(f"DejaVuSans{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSansMono{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSerif{style}" for style in ("", "-Bold", "-Italic", "-BoldItalic")),
    *(f"STIXGeneral{style}" for style in ("", "Bol", "Italic", "BolIta")),
)
MIN_FONTS = 4  # a character in fewer varies too little to be a class
COMPARED_FONTS = (
    "DejaVuSans",
    "DejaVuSans-Bold",
    "DejaVuSerif",
    "DejaVuSerif-Bold",
    "DejaVuSerif-Italic",
)
SAME_SHAPE = 0.94  # cosine of two blurred glyphs, scaled to one size, that count as one class
SHAPE_SIDE = 24  # pixels of a glyph that is compared, with a margin of 2 for the blur

# Modifier letters and symbols are accents on their own; other symbols are mostly Braille,
# box drawing and blocks: patterns that differ by place alone.
LEFT_OUT = frozenset({"Lm", "Sk", "So"})


@cache
def distinct_characters() -> tuple[str, ...]:
    """List the characters that several fonts have and that look like no other.

    Characters such as Latin A, Greek Alpha and Cyrillic A, or c and C, are one shape once
    the size is normalised; of those the lowest code point stays. Two characters are the
    same when they nearly coincide in any of five fonts.

    Returns
    -------
    tuple of str
        The characters, by code point.
    """
    # The first font compared has nearly all characters; without it two might never meet.
    candidates = [
        chr(code)
        for code in sorted(_codes(COMPARED_FONTS[0]))
        if sum(code in _codes(font) for font in FONTS) >= MIN_FONTS
        and _is_plain_character(chr(code))
        and ink_of(chr(code), COMPARED_FONTS[0]) is not None
    ]
    similarity = np.zeros((len(candidates), len(candidates)))
    for font in COMPARED_FONTS:
        shapes = np.stack([_shape(character, font) for character in candidates])
        np.maximum(similarity, shapes @ shapes.T, out=similarity)
    kept: list[int] = []
    for i in range(len(candidates)):
        if not (similarity[i, kept] >= SAME_SHAPE).any():
            kept.append(i)
    return tuple(candidates[i] for i in kept)


def _is_plain_character(character: str) -> bool:
    category = unicodedata.category(character)
    return (
        category[0] in "LNPS"  # letters, numbers, punctuation, symbols: neither marks nor blanks
        and category not in LEFT_OUT
        # A composed form (superscript, ligature, letter with accent) repeats another shape.
        and unicodedata.normalize("NFKD", character) == character
    )


def _shape(character: str, font: str) -> NDArray[np.float64]:
    """Return the glyph at one size, centred, blurred, as a unit vector; zeros if missing."""
    from PIL import Image, ImageFilter

    ink = ink_of(character, font)
    if ink is None:
        return np.zeros(SHAPE_SIDE**2)
    zoom = (SHAPE_SIDE - 4) / max(ink.size)
    width, height = (max(1, round(zoom * side)) for side in ink.size)
    canvas = Image.new("L", (SHAPE_SIDE, SHAPE_SIDE))
    corner = ((SHAPE_SIDE - width) // 2, (SHAPE_SIDE - height) // 2)
    canvas.paste(ink.resize((width, height)), corner)
    blurred = np.asarray(canvas.filter(ImageFilter.GaussianBlur(1)), dtype=np.float64).ravel()
    norm = float(np.linalg.norm(blurred))
    return blurred / norm


def ink_of(character: str, font: str) -> Image.Image | None:
    """Draw a character, about 96 pixels high, cropped to its ink.

    Parameters
    ----------
    character : str
        One character.
    font : str
        One of `FONTS`.

    Returns
    -------
    PIL.Image.Image or None
        Light ink on dark ground, or None where the font has none to show.
    """
    from PIL import Image, ImageDraw

    if ord(character) not in _codes(font):
        return None
    face = _face(font)
    left, top, right, bottom = (round(edge) for edge in face.getbbox(character))
    if right <= left or bottom <= top:
        return None
    picture = Image.new("L", (right - left, bottom - top))
    ImageDraw.Draw(picture).text((-left, -top), character, fill=255, font=face)
    box = picture.getbbox()
    return picture.crop(box) if box else None


@cache
def _face(font: str) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont

    # The basic layout draws a character alone and needs no shaping library.
    return ImageFont.truetype(_font_path(font), 96, layout_engine=ImageFont.Layout.BASIC)


@cache
def _codes(font: str) -> frozenset[int]:
    """Return the code points for which a font has a glyph of its own, not its empty box."""
    from matplotlib.ft2font import FT2Font

    charmap = FT2Font(_font_path(font)).get_charmap()
    return frozenset(code for code, glyph in charmap.items() if glyph != 0)


def _font_path(font: str) -> str:
    import matplotlib

    return str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{font}.ttf")
