from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from opengcn.vision import FunctionBackbone, ImageSet, read_images

Draw = Callable[..., None]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a cache of its own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("OPENGCN_CACHE", str(folder))
    return folder


@pytest.fixture
def draw() -> Draw:
    """Draw an image of a class: a colour of its own, with noise."""

    def one(path: Path, label: int, seed: int, size: tuple[int, int] = (48, 40)) -> None:
        rng = np.random.default_rng([label, seed])
        colour = np.random.default_rng(label).uniform(40, 215, 3)
        pixels = colour + rng.normal(0, 25, (size[1], size[0], 3))
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(path)

    return one


@pytest.fixture
def photos(tmp_path: Path, draw: Draw) -> Path:
    """Six classes of five images."""
    for label in range(6):
        for seed in range(5):
            draw(tmp_path / "photos" / f"class{label}" / f"{seed}.png", label, seed)
    return tmp_path / "photos"


@pytest.fixture
def images(photos: Path) -> ImageSet:
    return read_images(photos)


@pytest.fixture
def colours() -> FunctionBackbone:
    """A backbone of eight numbers: mean and spread of the colours, and two of no use."""

    def function(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        x = pixels / 255
        return np.concatenate(
            [x.mean((1, 2)), x.std((1, 2)), x[:, 0, 0, :1], x[:, 1, 1, :1]], axis=1
        )

    return FunctionBackbone("colours", function, size=32)
