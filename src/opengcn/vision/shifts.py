"""Shifts of the test images: the 13 corruptions of the paper's ShiftDist table, and sketches."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from opengcn.errors import OpenGCNError
from opengcn.vision.opencv_stand_in import import_corruptions
from opengcn.vision.sketch import sketch

__all__ = ["CORRUPTIONS", "SHIFTS", "Shift"]

# In the order of the paper's table. ImageNet-C has two more, glass blur and frost.
CORRUPTIONS = (
    "gaussian_noise",
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "motion_blur",
    "zoom_blur",
    "snow",
    "fog",
    "brightness",
    "contrast",
    "elastic_transform",
    "pixelate",
    "jpeg_compression",
)
SHIFTS = (*CORRUPTIONS, "sketch")
SMALLEST = 32  # pixels: the corruptions refuse smaller images

_GLOBAL_RANDOM = Lock()


@dataclass(frozen=True)
class Shift:
    """A corruption of an image, or its conversion into a sketch.

    Attributes
    ----------
    name : str
        One of `SHIFTS`.
    severity : int, default 3
        1 to 5. A sketch has no severity and ignores it.

    Examples
    --------
    >>> import numpy as np
    >>> from opengcn.vision import Shift
    >>> image = np.random.default_rng(0).integers(0, 256, (48, 48, 3), dtype=np.uint8)
    >>> noisy = Shift("gaussian_noise", severity=2)
    >>> bool((noisy(image, "birds/1.jpg") == noisy(image, "birds/1.jpg")).all())
    True
    """

    name: str
    severity: int = 3

    def __post_init__(self) -> None:
        if self.name not in SHIFTS:
            raise OpenGCNError(
                f"shift: expected one of {', '.join(SHIFTS)}, received {self.name!r}"
            )
        if self.severity not in range(1, 6):
            raise OpenGCNError(f"severity: expected 1 to 5, received {self.severity}")

    def __str__(self) -> str:
        return self.name if self.name == "sketch" else f"{self.name}-{self.severity}"

    def __call__(self, pixels: NDArray[np.uint8], name: str) -> NDArray[np.uint8]:
        """Return the shifted image.

        Parameters
        ----------
        pixels : ndarray of shape (height, width, 3), uint8
            The image.
        name : str
            Its id, which seeds the randomness: the result depends neither on the order in
            which images come nor on who computes it.

        Returns
        -------
        pixels : ndarray of shape (height, width, 3), uint8
            The shifted image.
        """
        if min(pixels.shape[:2]) < SMALLEST:
            raise OpenGCNError(
                f"{name}: expected an image of {SMALLEST} pixels or more a side to apply "
                f"{self.name} to, received {pixels.shape[1]} x {pixels.shape[0]}"
            )
        if self.name == "sketch":
            return sketch(pixels)
        return self._corrupt(pixels, self._seed(name))

    def _seed(self, name: str) -> int:
        text = f"{self.name}\t{self.severity}\t{name}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:4], "little")

    def _corrupt(self, pixels: NDArray[np.uint8], seed: int) -> NDArray[np.uint8]:
        corrupt = import_corruptions().corrupt
        # Salt and pepper come from a generator of their own; all others from numpy's global one.
        own = {"seed": seed} if self.name == "impulse_noise" else {}
        with _GLOBAL_RANDOM:
            before = np.random.get_state()  # noqa: NPY002
            np.random.seed(seed)  # noqa: NPY002
            try:
                shifted: NDArray[np.uint8] = corrupt(
                    pixels, corruption_name=self.name, severity=self.severity, **own
                )
            finally:
                np.random.set_state(before)  # noqa: NPY002
        return shifted
