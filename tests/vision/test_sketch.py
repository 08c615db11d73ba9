from __future__ import annotations

import numpy as np

from opengcn.vision.sketch import sketch


def test_white_where_nothing_changes_and_dark_at_edges() -> None:
    picture = np.full((60, 60, 3), (30, 90, 200), np.uint8)
    picture[:, 30:] = (200, 220, 90)
    drawn = sketch(picture)
    assert (drawn[:, :20] == 255).all()
    assert (drawn[:, -20:] == 255).all()
    assert drawn[:, 26:34].min() < 200


def test_grey_and_of_the_same_shape(rng: np.random.Generator) -> None:
    picture = rng.integers(0, 256, (33, 47, 3), dtype=np.uint8)
    drawn = sketch(picture)
    assert drawn.shape == picture.shape
    assert (drawn[:, :, 0] == drawn[:, :, 2]).all()


def test_black_is_not_divided_by() -> None:
    assert (sketch(np.zeros((32, 32, 3), np.uint8)) == 0).all()
