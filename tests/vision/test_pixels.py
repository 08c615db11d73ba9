from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from opengcn import OpenGCNError
from opengcn.vision.pixels import random_crop, scaling, square


def test_square_is_the_middle() -> None:
    picture = np.zeros((20, 40, 3), np.uint8)
    picture[:, 10:30] = 200
    assert (square(Image.fromarray(picture), 8)[:, 2:-2] == 200).all()
    assert (square(Image.fromarray(picture.transpose(1, 0, 2)), 8)[2:-2] == 200).all()
    assert square(Image.fromarray(picture[:3, :3]), 8).shape == (8, 8, 3)


def test_a_square_of_the_right_size_is_left_alone(rng: np.random.Generator) -> None:
    pixels = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
    assert (square(Image.fromarray(pixels), 16) == pixels).all()


def test_random_crops_differ_and_repeat(rng: np.random.Generator) -> None:
    picture = Image.fromarray(rng.integers(0, 256, (40, 30, 3), dtype=np.uint8))
    crops = [random_crop(picture, 16, np.random.default_rng(s), flip=True) for s in range(20)]
    assert {c.shape for c in crops} == {(16, 16, 3)}
    assert len({c.tobytes() for c in crops}) == 20
    again = random_crop(picture, 16, np.random.default_rng(7), flip=True)
    assert (again == crops[7]).all()


def test_crops_are_mirrored_only_on_demand() -> None:
    picture = np.zeros((32, 32, 3), np.uint8)
    picture[:, 16:] = 255  # dark on the left, bright on the right

    def bright_right(flip: bool) -> set[bool]:
        crops = [
            random_crop(Image.fromarray(picture), 16, np.random.default_rng(s), flip=flip)
            for s in range(12)
        ]
        return {bool(c[:, -1].mean() >= c[:, 0].mean()) for c in crops}

    assert bright_right(False) == {True}
    assert bright_right(True) == {True, False}


def test_scalings() -> None:
    pixels = np.array([0, 127, 255], np.uint8).reshape(1, 1, 3, 1).repeat(3, 3)
    centred = scaling("centred")(pixels)
    assert centred.shape == (1, 3, 1, 3)
    assert centred.dtype == np.float32
    np.testing.assert_allclose(centred[0, 0, 0], [-127 / 128, 0, 1])
    np.testing.assert_allclose(scaling("unit")(pixels)[0, 1, 0], [0, 127 / 255, 1], rtol=1e-6)
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    np.testing.assert_allclose(
        scaling("imagenet")(pixels)[0, :, 0, 2], (1 - mean) / deviation, rtol=1e-5
    )
    with pytest.raises(OpenGCNError, match="scaling: expected one of imagenet"):
        scaling("keras")
