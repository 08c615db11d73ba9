"""The snippets in the engines themselves: they match the pairs below the threshold, no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest


# In the client's local mode every search is exact, which it says when asked for exact=True.
@pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")
@pytest.mark.parametrize("metric", ["Cosine", "Dot", "Euclid"])
def test_qdrant(crowd: Any, run_code: Any, metric: str) -> None:
    qdrant_client = pytest.importorskip("qdrant_client")
    models = pytest.importorskip("qdrant_client.models")
    if metric == "Cosine":
        crowd = crowd.scaled()
    client = qdrant_client.QdrantClient(":memory:")
    size = crowd.stored.shape[1]
    client.create_collection(
        "birds", vectors_config=models.VectorParams(size=size, distance=models.Distance(metric))
    )
    client.upsert(
        "birds",
        [models.PointStruct(id=i, vector=row.tolist()) for i, row in enumerate(crowd.stored)],
    )
    code = crowd.snippet("qdrant")
    found = [
        run_code(code, client=client, collection_name="birds", vector=q.tolist())["matches"]
        for q in crowd.queries
    ]
    client.close()
    crowd.check([[point.id for point in points] for points in found])


def test_qdrant_refuses_a_metric_that_has_no_such_threshold(crowd: Any, run_code: Any) -> None:
    qdrant_client = pytest.importorskip("qdrant_client")
    models = pytest.importorskip("qdrant_client.models")
    client = qdrant_client.QdrantClient(":memory:")
    params = models.VectorParams(size=3, distance=models.Distance.MANHATTAN)
    client.create_collection("birds", vectors_config=params)
    with pytest.raises(KeyError):
        run_code(crowd.snippet("qdrant"), client=client, collection_name="birds", vector=[1, 0, 0])
    client.close()


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_lancedb(crowd: Any, run_code: Any, metric: str, tmp_path: Path) -> None:
    lancedb = pytest.importorskip("lancedb")
    if metric == "cosine":
        crowd = crowd.scaled()
    vectors = pa.FixedSizeListArray.from_arrays(
        pa.array(crowd.stored.ravel()), crowd.stored.shape[1]
    )
    data = pa.table({"vector": vectors, "id": pa.array(range(len(crowd.stored)))})
    table = lancedb.connect(tmp_path).create_table("birds", data)
    code = crowd.snippet("lancedb")
    assert code.count('metric = "cosine"') == 1
    code = code.replace('metric = "cosine"', f'metric = "{metric}"')
    found = [run_code(code, table=table, vector=q)["matches"] for q in crowd.queries]
    crowd.check([rows["id"].to_pylist() for rows in found])


@pytest.mark.parametrize("batched", [True, False])  # FAISS takes other code paths from 20 queries
@pytest.mark.parametrize("kind", ["IndexFlatL2", "IndexFlatIP", "IndexHNSWFlat"])
def test_faiss(crowd: Any, run_code: Any, kind: str, batched: bool) -> None:
    faiss = pytest.importorskip("faiss")
    size = crowd.stored.shape[1]
    # A graph over all vectors, searched whole, is exact as well.
    index = faiss.IndexHNSWFlat(size, 256) if "HNSW" in kind else getattr(faiss, kind)(size)
    if "HNSW" in kind:
        index.hnsw.efSearch = len(crowd.stored)
    index.add(crowd.stored)
    times = 3 if batched else 1
    queries = np.tile(crowd.queries, (times, 1))
    names = run_code(crowd.snippet("faiss"), index=index, queries=queries)
    limits, neighbours = names["limits"].astype(int), names["neighbours"]
    found = [neighbours[limits[i] : limits[i + 1]] for i in range(len(queries))]
    for part in range(times):
        crowd.check(found[part * len(crowd.queries) :][: len(crowd.queries)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy(crowd: Any, run_code: Any, dtype: type) -> None:
    crowd = crowd.scaled()
    X, Y = crowd.queries.astype(dtype), crowd.stored.astype(dtype)
    pairs = run_code(crowd.snippet("numpy"), X=X, Y=Y)["matches"]
    crowd.check([pairs[pairs[:, 0] == i, 1] for i in range(len(X))])


def test_scikit_learn(crowd: Any, run_code: Any) -> None:
    code = crowd.snippet("scikit-learn")
    crowd.check(run_code(code, X=crowd.stored, queries=crowd.queries)["matches"])


def test_a_pair_at_the_threshold_does_not_match_in_scikit_learn(run_code: Any) -> None:
    """3-4-5 triangles are exact, so the radius itself is met."""
    import opengcn as og

    code = og.snippets.snippet(og.Threshold(1.25), "scikit-learn")
    rows = run_code(code, X=np.array([[0.75, 1.0], [0.0, 1.0]]), queries=np.zeros((1, 2)))
    assert rows["matches"][0].tolist() == [1]
