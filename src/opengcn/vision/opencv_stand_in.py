"""The three functions of OpenCV that the corruptions call, for machines that cannot load it.

imagecorruptions-imaug brings the build of OpenCV that opens windows. On a machine without a
screen its libraries are usually missing (libGL.so.1), and ``import cv2`` fails although none of
the corruptions opens a window.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import require

__all__ = ["import_corruptions"]


def import_corruptions() -> ModuleType:
    """Import imagecorruptions, with a stand-in for OpenCV if that cannot be loaded.

    Returns
    -------
    module
        ``imagecorruptions``.
    """
    if "imagecorruptions" in sys.modules:
        return sys.modules["imagecorruptions"]
    try:
        importlib.import_module("cv2")
    except ImportError:
        sys.modules["cv2"] = stand_in()
        try:
            return require("imagecorruptions", "vision")
        finally:
            del sys.modules["cv2"]  # it is for imagecorruptions alone
    return require("imagecorruptions", "vision")


def stand_in() -> ModuleType:
    """Return a module with ``GaussianBlur``, ``filter2D`` and ``cvtColor``.

    Returns
    -------
    module
        Equal to OpenCV up to rounding, for the arguments that the corruptions use.
    """
    from scipy import ndimage

    # OpenCV's name of the border that repeats neither the edge nor anything else.
    border = {"mode": "mirror"}

    def gaussian_blur(x: NDArray[Any], ksize: tuple[int, int], sigmaX: float) -> NDArray[Any]:
        for axis, length in enumerate(ksize):
            place = np.arange(length) - (length - 1) / 2
            kernel = np.exp(-(place**2) / (2 * sigmaX**2))
            x = ndimage.correlate1d(x, kernel / kernel.sum(), axis, **border)
        return x

    def filter_2d(x: NDArray[Any], depth: int, kernel: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(ndimage.correlate(x, kernel, **border))

    def convert_colour(x: NDArray[Any], code: int) -> NDArray[Any]:
        return np.asarray(x @ np.array([0.299, 0.587, 0.114], x.dtype))

    module = ModuleType("cv2")
    vars(module).update(
        GaussianBlur=gaussian_blur, filter2D=filter_2d, cvtColor=convert_colour, COLOR_RGB2GRAY=7
    )
    return module
