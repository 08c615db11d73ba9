"""Data sets made on the spot: characters in many fonts, and mixtures with known truth.

Examples
--------
>>> import opengcn as og
>>> data = og.datasets.synthetic(n_classes=10, samples=5, dim=16)
>>> og.OperatingCurve.from_labels(data).mae(og.datasets.synthetic_truth(n_classes=10, dim=16)) < 0.1
True
"""

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
