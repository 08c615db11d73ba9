"""A threshold as settings to paste where it is used: engines, their metric and direction.

Every engine has its own idea of a score. Some count distances, some similarities, some
squares of distances, and "below" includes the threshold in some and not in others. The
texts here say OpenGCN's rule, *distance strictly below the threshold*, in each engine's words.

Examples
--------
>>> import opengcn as og
>>> "qdrant" in og.snippets.ENGINES
True
>>> "score_threshold" in og.snippets.snippet(og.Threshold(0.8), "qdrant")
True
"""

from __future__ import annotations

from math import nextafter
from string import Template

from opengcn.errors import OpenGCNError
from opengcn.threshold import Threshold

__all__ = ["ENGINES", "snippet"]

_QDRANT = Template("""\
# Needs `client` (QdrantClient), `collection_name` and `vector`, a query. A Cosine collection
# takes vectors of any length; Dot and Euclid need unit vectors, stored and queried.
from qdrant_client import models

# Of a named vector: .vectors[name].distance here, and using=name in the query.
distance = client.get_collection(collection_name).config.params.vectors.distance
score_threshold = {
    models.Distance.COSINE: $cosine,  # a similarity: scores above it match
    models.Distance.DOT: $cosine,  # likewise
    models.Distance.EUCLID: $l2,  # a distance: scores below it match
}[distance]
# Qdrant keeps scores strictly beyond the threshold, as OpenGCN does.
matches = client.query_points(
    collection_name,
    query=vector,
    score_threshold=score_threshold,
    limit=client.count(collection_name).count,  # the default of 10 would hide matches
    search_params=models.SearchParams(exact=True),  # HNSW is quicker and may miss some
).points
""")

_LANCEDB = Template("""\
# Needs `table` (lancedb) and `vector`, a query. "cosine" takes vectors of any length; "l2" and
# "dot" need unit vectors, stored and queried.
metric = "cosine"  # the one of the table's vector index, if it has one
upper_bound = {
    "cosine": $cosine_distance,  # 1 - cosine similarity: a distance
    "dot": $cosine_distance,  # 1 - inner product: a distance
    "l2": $squared_l2,  # LanceDB's "l2" is the SQUARED L2 distance
}[metric]
# LanceDB's upper bound is exclusive: strictly below, as in OpenGCN.
matches = (
    table.search(vector)
    .distance_type(metric)
    .distance_range(upper_bound=upper_bound)
    .bypass_vector_index()  # an index is quicker and may miss some
    .limit(table.count_rows())  # the default of 10 would hide matches
    .to_arrow()
)
""")

_FAISS = Template("""\
# Needs `index` (such as IndexFlatL2 or IndexFlatIP) and `queries`, float32 of shape (m, D). FAISS
# does not normalise: stored vectors and queries must be unit vectors (faiss.normalize_L2).
import faiss

radius = {
    faiss.METRIC_L2: $squared_l2,  # the SQUARED L2 distance: below it is a match
    faiss.METRIC_INNER_PRODUCT: $cosine,  # a similarity: above it is a match
}[index.metric_type]
# FAISS keeps what is strictly beyond the radius, as OpenGCN does.
limits, scores, neighbours = index.range_search(queries, radius)
# The matches of query i are neighbours[limits[i] : limits[i + 1]].
""")

_PGVECTOR = Template("""\
-- $$1 is the query, such as '[0.6, 0.8]', and `items` has columns `id` and `embedding`. Take the
-- statement of your operator. None of them uses an index: ORDER BY the same operator and LIMIT
-- would make it quicker, and may miss some matches. All are strict, as OpenGCN is.

-- <=>, cosine distance: vectors of any length
SELECT id, embedding <=> $$1 AS distance, 1 - (embedding <=> $$1) AS similarity
FROM items WHERE (embedding <=> $$1) < $cosine_distance;

-- <->, L2 distance: unit vectors only, see l2_normalize
SELECT id, embedding <-> $$1 AS distance FROM items WHERE (embedding <-> $$1) < $l2;

-- <#>, NEGATIVE inner product, so smaller is closer: unit vectors only
SELECT id, -(embedding <#> $$1) AS similarity FROM items WHERE (embedding <#> $$1) < $negative;
""")

_DEEPFACE = Template("""\
# Needs `img1` and `img2`, and `model_name`: the model whose embeddings this threshold is for, with
# the same detector and alignment. DeepFace normalises the vectors itself.
from deepface import DeepFace

distance_metric = "euclidean_l2"  # or "cosine"; plain "euclidean" does not normalise
threshold = {
    "euclidean_l2": $l2_included,  # the L2 distance of unit vectors
    "cosine": $cosine_distance_included,  # 1 - cosine similarity: a distance
}[distance_metric]
# DeepFace includes its threshold (<=), so these are a hair below OpenGCN's. It rounds distances to
# 6 decimals, which is fine for L2 and coarse for a cosine threshold below 0.05.
result = DeepFace.verify(
    img1, img2, model_name=model_name, distance_metric=distance_metric, threshold=threshold
)
match = result["verified"]
""")

_NUMPY = Template("""\
# Needs `X` of shape (n, D) and `Y` of shape (m, D): vectors of any length, normalised here.
import numpy as np

X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)  # float32 adds up its roundings
X = X / np.linalg.norm(X, axis=1, keepdims=True)
Y = Y / np.linalg.norm(Y, axis=1, keepdims=True)
matches = np.argwhere(X @ Y.T > $cosine)  # cosine similarity; rows of X and of Y
""")

_SKLEARN = Template("""\
# Needs `X` of shape (n, D) and `queries` of shape (m, D): unit vectors, as from
# sklearn.preprocessing.normalize.
from sklearn.neighbors import NearestNeighbors

# scikit-learn includes the radius (<=), so this one is a hair below OpenGCN's.
neighbours = NearestNeighbors(radius=$l2_included, metric="euclidean").fit(X)
matches = neighbours.radius_neighbors(queries, return_distance=False)  # rows of X, for each query
""")

# Engine: what people call it, what begins a comment there, and the text.
_ENGINES = {
    "deepface": ("DeepFace", "#", _DEEPFACE),
    "faiss": ("FAISS", "#", _FAISS),
    "lancedb": ("LanceDB", "#", _LANCEDB),
    "numpy": ("numpy", "#", _NUMPY),
    "pgvector": ("PostgreSQL with pgvector", "--", _PGVECTOR),
    "qdrant": ("Qdrant", "#", _QDRANT),
    "scikit-learn": ("scikit-learn", "#", _SKLEARN),
}
ENGINES = tuple(_ENGINES)

_IN_FLOAT64 = ("numpy", "scikit-learn")
COARSE = 0.1  # the distance at which one rounding of a float32 near 1 moves a pair by 1e-6


def snippet(threshold: Threshold, engine: str) -> str:
    """Return code that makes an engine match exactly what the threshold matches.

    Numbers are written with all digits of a float64; engines count in float32. Pairs within
    2e-6 of the threshold may fall on either side of it, and where a similarity is compared to
    a threshold below 0.1, pairs within 2e-7 / threshold: the snippet then says so.

    Parameters
    ----------
    threshold : Threshold
        The threshold.
    engine : str
        One of `ENGINES`.

    Returns
    -------
    text : str
        Python, or SQL for pgvector, with comments that say the target, the rates to expect,
        what the engine's number means, and which vectors have to be unit vectors.

    Examples
    --------
    >>> import opengcn as og
    >>> t = og.Threshold(0.8, tpr=0.9, tnr=0.99, target="tpr >= 0.9")
    >>> print(og.snippets.snippet(t, "numpy"))
    # OpenGCN's threshold for numpy, asked for tpr >= 0.9
    # match if distance < 0.8000
    #       or cosine similarity > 0.6800
    #       or squared L2 distance < 0.6400
    # finds 90.00 % of the true matches (TPR) and rejects 99.00 % of the strangers (TNR)
    # Needs `X` of shape (n, D) and `Y` of shape (m, D): vectors of any length, normalised here.
    import numpy as np
    <BLANKLINE>
    X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)  # float32 adds up its roundings
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    Y = Y / np.linalg.norm(Y, axis=1, keepdims=True)
    matches = np.argwhere(X @ Y.T > 0.6799999999999999)  # cosine similarity; rows of X and of Y
    <BLANKLINE>
    """
    if engine not in _ENGINES:
        raise OpenGCNError(f"engine: expected one of {', '.join(ENGINES)}, received {engine!r}")
    name, comment, text = _ENGINES[engine]
    target = f"asked for {threshold.target}" if threshold.target else "no target given"
    header = [f"OpenGCN's threshold for {name}, {target}", *str(threshold).splitlines()]
    if threshold.tpr != threshold.tpr and threshold.tnr != threshold.tnr:
        header.append("TPR and TNR to expect: unknown")
    if threshold.distance < COARSE and engine not in _IN_FLOAT64:
        header.append("so near to 0, cosines and inner products in float32 are coarse: prefer L2")
    numbers = {
        "l2": threshold.distance,
        "squared_l2": threshold.squared_l2,
        "cosine": threshold.cosine,
        "cosine_distance": threshold.to("cosine_distance"),
        "negative": -threshold.cosine,
    }
    for metric in ("l2", "cosine_distance"):
        numbers[f"{metric}_included"] = nextafter(numbers[metric], 0)
    body = text.substitute({key: repr(value) for key, value in numbers.items()})
    return "\n".join(f"{comment} {line}" for line in header) + "\n" + body
