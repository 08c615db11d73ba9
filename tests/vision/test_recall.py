from __future__ import annotations

import numpy as np
import pytest

from opengcn import DataError, EmbeddingSet
from opengcn.vision import recall_at_1


def test_recall_by_brute_force(rng: np.random.Generator) -> None:
    data = EmbeddingSet(rng.standard_normal((60, 5)), np.repeat(np.arange(20), 3))
    similarity = data.embeddings @ data.embeddings.T
    np.fill_diagonal(similarity, -2)
    assert recall_at_1(data) == (data.labels[similarity.argmax(1)] == data.labels).mean()


def test_rows_alone_in_their_class_do_not_count() -> None:
    data = EmbeddingSet([[1.0, 0.0], [1.0, 0.1], [1.0, 0.11]], ["a", "a", "b"])
    assert recall_at_1(data) == 0.5
    with pytest.raises(DataError, match="expected a class with two rows"):
        recall_at_1(EmbeddingSet(np.eye(3), [0, 1, 2]))
