from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opengcn.rehearsal.trust import weigh


def trust(size: float, error: float, apart: float = 0.0) -> float:
    weights, _ = weigh(np.full((1, 24), size), error, np.array([apart]))
    return float(weights[0])


@given(st.floats(-2, 2), st.floats(0, 1))
def test_it_is_a_weight(size: float, error: float) -> None:
    assert 0 <= trust(size, error) <= 1


def test_many_classes_are_trusted_unless_the_set_has_clearly_moved() -> None:
    assert trust(0.02, 0.005) < 0.35
    assert trust(0.3, 0.005) > 0.75  # not quite: a large move is measured less exactly


def test_few_classes_leave_the_word_to_the_readout() -> None:
    weights = [trust(0.03, error) for error in (0.005, 0.01, 0.02, 0.04)]
    assert weights == sorted(weights)
    assert weights[-1] > 0.8


def test_the_direction_of_a_move_does_not_matter() -> None:
    assert trust(0.05, 0.02) == trust(-0.05, 0.02)


def test_opinions_that_differ_leave_the_word_to_the_reference() -> None:
    weights = [trust(0.05, 0.01, apart) for apart in (0.0, 0.03, 0.1, 1.0)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > 2 * weights[-1]


def test_readings_are_weighed_each_for_itself() -> None:
    moves, apart = np.outer([0.01, 0.05, 0.3], np.ones(24)), np.array([0.0, 0.02, 0.1])
    weights, evidence = weigh(moves, 0.02, apart)
    for k in range(3):
        alone = weigh(moves[k : k + 1], 0.02, apart[k : k + 1])
        np.testing.assert_allclose((weights[k], evidence[k]), np.ravel(alone))


def test_a_small_move_is_likelier_than_a_large_one() -> None:
    _, evidence = weigh(np.outer([0.0, 0.02, 0.1, 0.5], np.ones(24)), 0.02, np.zeros(4))
    assert (np.diff(evidence) < 0).all()


def test_few_pairs_are_no_evidence() -> None:
    moves, few = np.full((2, 24), 0.3), np.array([0.0, 1.0])
    weights, evidence = weigh(moves, 0.02, np.zeros(2), few)
    assert evidence[0] == evidence[1]
    assert weights[1] < weights[0] / 10
