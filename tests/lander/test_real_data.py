import numpy as np
import pytest
from sklearn.cluster import DBSCAN

from opengcn import EmbeddingSet
from opengcn.calibrators.lander import Lander
from opengcn.clustering_metrics import bcubed_f

TAUS = np.arange(1, 20) / 20
GRID = [(eps, size) for eps in np.arange(0.3, 1.21, 0.05) for size in range(2, 11)]


def dbscan(X, eps, size):
    cluster = DBSCAN(eps=eps, min_samples=size).fit_predict(X)
    noise = cluster < 0
    cluster[noise] = cluster.max() + 1 + np.arange(noise.sum())
    return cluster


@pytest.mark.slow
def test_unseen_birds_are_clustered_better_than_by_dbscan(real_data):
    """CUB: settings of both chosen on D_cal by BCubed F; mean over four class splits."""
    data = EmbeddingSet.load(real_data / "cub.npz")
    with np.load(real_data / "cub.npz") as pack:
        seen = pack["train"]
    train, rest = data.subset(seen), data.subset(~seen)
    model = Lander().fit(train.embeddings, train.codes, progress=False)
    ours, theirs = [], []
    for seed in range(4):
        cal, test = rest.split_classes(0.1, seed=seed)
        many = model.cluster_many(cal.embeddings, TAUS, progress=False)
        tau = TAUS[np.argmax([bcubed_f(cal.codes, one).f for one in many])]
        ours.append(bcubed_f(test.codes, model.cluster(test.embeddings, tau, progress=False)).f)
        best = max(
            GRID, key=lambda setting: bcubed_f(cal.codes, dbscan(cal.embeddings, *setting)).f
        )
        theirs.append(bcubed_f(test.codes, dbscan(test.embeddings, *best)).f)
    assert np.mean(ours) > np.mean(theirs)
