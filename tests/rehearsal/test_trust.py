from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opengcn.rehearsal.trust import trust


def flat(size: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.full(24, size)


@given(st.floats(-2, 2), st.floats(0, 1))
def test_it_is_a_weight(size: float, error: float) -> None:
    assert 0 <= trust(flat(size), error) <= 1


def test_many_classes_are_trusted_unless_the_set_has_clearly_moved() -> None:
    assert trust(flat(0.02), 0.005) < 0.35
    assert trust(flat(0.3), 0.005) > 0.75  # not quite: a large move is measured less exactly


def test_few_classes_leave_the_word_to_the_readout() -> None:
    weights = [trust(flat(0.03), error) for error in (0.005, 0.01, 0.02, 0.04)]
    assert weights == sorted(weights)
    assert weights[-1] > 0.8


def test_the_direction_of_a_move_does_not_matter() -> None:
    assert trust(flat(0.05), 0.02) == trust(flat(-0.05), 0.02)


def test_opinions_that_differ_leave_the_word_to_the_reference() -> None:
    weights = [trust(flat(0.05), 0.01, apart) for apart in (0.0, 0.03, 0.1, 1.0)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > 2 * weights[-1]
