"""The three functions of OpenCV that the corruptions call, for machines that cannot load it.

imagecorruptions-imaug brings the build of OpenCV that opens windows. On a machine without a
screen its libraries are usually missing (libGL.so.1), and ``import cv2`` fails although none of
the corruptions opens a window.
"""

from __future__ import annotations

import importlib
import sys
from threading import Lock
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import require

__all__ = ["import_corruptions"]

_IMPORTING = Lock()  # images are corrupted by several threads, and each may be the first


def import_corruptions() -> ModuleType:
    """Import imagecorruptions, with a stand-in for OpenCV if that cannot be loaded.

    Returns
    -------
    module
        ``imagecorruptions``.
    """
    with _IMPORTING:
        if "imagecorruptions" in sys.modules or _opencv_loads():
            return require("imagecorruptions", "vision")
        sys.modules["cv2"] = stand_in()
        try:
            return require("imagecorruptions", "vision")
        finally:
            del sys.modules["cv2"]  # it is for imagecorruptions alone


def _opencv_loads() -> bool:
    path = sys.path.copy()
    try:
        importlib.import_module("cv2")
    except ImportError:
        # Its loader leaves its own folders on the path when it fails, and a mark that makes
        # it print the path when somebody tries again.
        sys.path[:] = path
        vars(sys).pop("OpenCV_LOADER", None)
        return False
    return True


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
