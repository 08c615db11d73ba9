from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

Clumps = Callable[..., tuple[NDArray[np.float32], NDArray[np.int64]]]


@pytest.fixture(scope="session")
def clumps() -> Clumps:
    """Make unit vectors around one random direction a class, of a size per class."""

    def make(
        classes: int, size: int, *, spread: float = 0.5, dimension: int = 16, seed: int = 0
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.repeat(np.arange(classes), size))
        centers = rng.standard_normal((classes, dimension))
        X = centers[y] + spread * rng.standard_normal((len(y), dimension))
        return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y

    return make
