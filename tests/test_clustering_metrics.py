import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcn.clustering_metrics import bcubed_f, nmi, pairwise_f
from opengcn.errors import OpenGCNError

partitions = st.integers(1, 25).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(-3, 6), min_size=n, max_size=n) for _ in range(2)))
)


def harmonic(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def naive_pairwise(classes, clusters):
    both = same_class = same_cluster = 0
    for i, j in itertools.combinations(range(len(classes)), 2):
        same_class += classes[i] == classes[j]
        same_cluster += clusters[i] == clusters[j]
        both += classes[i] == classes[j] and clusters[i] == clusters[j]
    precision = both / same_cluster if same_cluster else 1.0
    recall = both / same_class if same_class else 1.0
    return precision, recall, harmonic(precision, recall)


def naive_bcubed(classes, clusters):
    n = len(classes)
    precision = recall = 0.0
    for i in range(n):
        mates = [j for j in range(n) if clusters[j] == clusters[i]]
        kin = [j for j in range(n) if classes[j] == classes[i]]
        both = len(set(mates) & set(kin))
        precision += both / len(mates) / n
        recall += both / len(kin) / n
    return precision, recall, harmonic(precision, recall)


@given(partitions)
def test_f_scores_equal_the_double_loops(labels):
    classes, clusters = labels
    assert pairwise_f(classes, clusters) == pytest.approx(naive_pairwise(classes, clusters))
    assert bcubed_f(classes, clusters) == pytest.approx(naive_bcubed(classes, clusters))


def test_a_relabelled_truth_is_perfect():
    classes = np.array(["b", "a", "a", "c", "b"])
    clusters = np.array([7, 2, 2, -1, 7])
    assert pairwise_f(classes, clusters).f == 1
    assert bcubed_f(classes, clusters).f == 1
    assert nmi(classes, clusters) == pytest.approx(1)


def test_worked_example():
    score = bcubed_f([0, 0, 0, 1], [0, 0, 1, 1])
    assert score.precision == pytest.approx((1 + 1 + 1 / 2 + 1 / 2) / 4)
    assert score.recall == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4)


def test_many_singletons_stay_linear_in_memory():
    n = 200_000  # the dense table would hold 4e10 cells
    assert pairwise_f(np.arange(n), np.arange(n)).f == 1
    assert bcubed_f(np.arange(n), np.zeros(n)).precision == pytest.approx(1 / n)


@pytest.mark.parametrize("shapes", [((3,), (4,)), ((0,), (0,)), ((2, 2), (2, 2))])
def test_unequal_lengths_are_refused(shapes):
    a, b = (np.zeros(shape, int) for shape in shapes)
    with pytest.raises(OpenGCNError, match="received shapes"):
        pairwise_f(a, b)
