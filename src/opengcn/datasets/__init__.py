"""Data sets made on the spot: characters in many fonts, and mixtures with known truth."""

from opengcn.datasets.glyph_images import GlyphImages, glyph_images
from opengcn.datasets.glyphs import OpenWorldSplit, glyphs
from opengcn.datasets.synthetic import synthetic, synthetic_truth

__all__ = [
    "GlyphImages",
    "OpenWorldSplit",
    "glyph_images",
    "glyphs",
    "synthetic",
    "synthetic_truth",
]
