"""Embedding sets in Qdrant collections: the client's local mode, and a server over HTTP."""

from __future__ import annotations

import gc
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

import opengcn as og
from opengcn.errors import DataError
from opengcn.stores import qdrant_collection

qdrant_client = pytest.importorskip("qdrant_client")
models = pytest.importorskip("qdrant_client.models")
load = og.EmbeddingSet.load


def fill(client: Any, data: og.EmbeddingSet, name: str = "birds", **options: Any) -> None:
    """Put a set into a new collection, last row first: Qdrant sorts by id."""
    params = models.VectorParams(size=data.dim, distance=models.Distance.DOT, **options)
    client.create_collection(name, vectors_config=params)
    rows = zip(data.ids, data.embeddings, data.labels, data.tenants, strict=True)
    points = [
        models.PointStruct(
            id=int(id),
            vector=vector.tolist(),
            payload={"label": str(label), "tenant": str(tenant), "number": int(id) % 3},
        )
        for id, vector, label, tenant in rows
    ]
    client.upsert(name, points[::-1])


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, birds: og.EmbeddingSet) -> Path:
    """A folder to copy: writing one takes the local mode seconds."""
    folder = tmp_path_factory.mktemp("template")
    client = qdrant_client.QdrantClient(path=str(folder))
    fill(client, birds)
    client.close()
    return folder


@pytest.fixture
def folder(tmp_path: Path, template: Path) -> Path:
    return shutil.copytree(template, tmp_path / "db")


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_collection, "BATCH", 32)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("in_memory", [None, False])
def test_a_folder_of_the_local_mode(
    folder: Path, birds: og.EmbeddingSet, same: Callable[..., None], in_memory: Any
) -> None:
    data = load(f"qdrant:{folder}/birds", in_memory=in_memory)
    rows = np.array([90, 3, 3, 0])
    np.testing.assert_array_equal(data.take(rows), birds.embeddings[rows])
    same(data.subset(rows), birds.subset(rows))
    same(data, birds)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_the_folder_is_free_again_once_the_vectors_are_read(folder: Path) -> None:
    data = load(f"qdrant:{folder}/birds")
    client = qdrant_client.QdrantClient(path=str(folder))  # refuses a folder in use
    assert client.count("birds").count == len(data)
    with pytest.raises(DataError, match="expected a Qdrant server or folder, .* already accessed"):
        load(f"qdrant:{folder}/birds")
    client.close()
    gc.collect()  # the client that failed has left its lock file open


def test_cosine_collections_keep_unit_vectors(
    tmp_path: Path, birds: og.EmbeddingSet, same: Callable[..., None]
) -> None:
    client = qdrant_client.QdrantClient(path=str(tmp_path))
    params = models.VectorParams(size=birds.dim, distance=models.Distance.COSINE)
    client.create_collection("birds", vectors_config=params)
    rows = enumerate(3 * birds.embeddings[:20])
    client.upsert("birds", [models.PointStruct(id=i, vector=row.tolist()) for i, row in rows])
    client.close()
    data = load(f"qdrant:{tmp_path}/birds")
    same(data, og.EmbeddingSet(birds.embeddings[:20], ids=np.arange(20)), atol=2e-7)


def test_payload_fields_by_name(folder: Path, birds: og.EmbeddingSet) -> None:
    data = load(f"qdrant:{folder}/birds", label="number", id="label", tenant="number")
    np.testing.assert_array_equal(data.labels, birds.ids % 3)
    np.testing.assert_array_equal(data.ids, birds.labels)
    np.testing.assert_array_equal(data.tenants, birds.ids % 3)


def test_ids_of_every_kind(tmp_path: Path) -> None:
    client = qdrant_client.QdrantClient(path=str(tmp_path))
    params = models.VectorParams(size=2, distance=models.Distance.EUCLID)
    ids: dict[str, list[Any]] = {
        "numbers": [3, 2**63 + 1],
        "uuids": [str(UUID(int=1)), str(UUID(int=2))],
        "both": [7, str(UUID(int=1))],
    }
    for name, some in ids.items():
        client.create_collection(name, vectors_config=params)
        client.upsert(name, [models.PointStruct(id=i, vector=[3, 4]) for i in some])
    client.close()
    assert load(f"qdrant:{tmp_path}/numbers").ids.tolist() == ids["numbers"]
    assert load(f"qdrant:{tmp_path}/uuids").ids.tolist() == ids["uuids"]
    both = load(f"qdrant:{tmp_path}/both")
    assert set(both.ids) == {"7", str(UUID(int=1))}
    np.testing.assert_allclose(both.embeddings, [[0.6, 0.8]] * 2)
    assert both.labels is both.tenants is None


def test_named_vectors(tmp_path: Path, refuses: Callable[..., None]) -> None:
    client = qdrant_client.QdrantClient(path=str(tmp_path))
    params = models.VectorParams(size=2, distance=models.Distance.DOT)
    several = models.VectorParams(
        size=2,
        distance=models.Distance.DOT,
        multivector_config=models.MultiVectorConfig(
            comparator=models.MultiVectorComparator.MAX_SIM
        ),
    )
    client.create_collection("one", vectors_config={"face": params})
    client.upsert("one", [models.PointStruct(id=1, vector={"face": [0, 2]})])
    client.create_collection("more", vectors_config={"face": params, "gait": several})
    client.upsert(
        "more",
        [
            models.PointStruct(id=1, vector={"face": [2, 0]}),
            models.PointStruct(id=9, vector={"gait": [[2, 0]]}),
        ],
    )
    sparse = {"words": models.SparseVectorParams()}
    client.create_collection("sparse", vectors_config={}, sparse_vectors_config=sparse)
    client.close()
    assert load(f"qdrant:{tmp_path}/one").embeddings.tolist() == [[0, 1]]
    assert load(f"qdrant:{tmp_path}/one", embedding="face").embeddings.tolist() == [[0, 1]]
    more = f"qdrant:{tmp_path}/more"
    refuses(more, "expected the name of a vector, received 'face', 'gait'")
    refuses(more, "expected a vector 'voice', received 'face', 'gait'", embedding="voice")
    refuses(more, "expected one vector a point, received multivectors", embedding="gait")
    refuses(more, "point 9, vector 'face': expected a vector, received none", embedding="face")
    refuses(f"qdrant:{tmp_path}/sparse", "received a collection without dense vectors")


def test_what_is_not_there(folder: Path, tmp_path: Path, refuses: Callable[..., None]) -> None:
    refuses(f"qdrant:{folder}/fish", "expected a collection 'fish', received 'birds'")
    refuses(f"qdrant:{tmp_path}/no/fish", "expected a folder '.*no', received no such folder")
    refuses(
        f"qdrant:{tmp_path}/fish", "expected a folder of Qdrant's local mode, received one without"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["db"]  # the client would make folders
    address = f"qdrant:{folder}/birds"
    refuses(
        address,
        r"birds: point 5: expected a payload field 'species', received none \(and 99 more",
        label="species",
    )
    client = qdrant_client.QdrantClient(path=str(folder))
    params = models.VectorParams(size=2, distance=models.Distance.DOT)
    client.create_collection("nothing", vectors_config=params)
    client.delete_payload("birds", keys=["label"], points=[9])
    client.set_payload("birds", {"number": 0.5}, points=[5])
    client.close()
    refuses(f"qdrant:{folder}/nothing", r"expected at least one vector, received shape \(0, 2\)")
    refuses(address, "point 9: expected a payload field 'label', received none")
    bare = load(address, beside=["tenant"])
    assert bare.labels is None
    assert bare.tenants is not None
    assert bare.ids is not None  # the points' own
    refuses(address, "expected all integers .* received float and int", label="number")


class Server(BaseHTTPRequestHandler):
    """As much of Qdrant's HTTP interface as reading takes, over a client in memory."""

    client: Any
    seen: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        name = self.path.removeprefix("/collections").strip("/")
        self.answer(self.client.get_collection(name) if name else self.client.get_collections())

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        _, _, name, *rest = self.path.partition("?")[0].split("/")
        picks = {"with_payload": given["with_payload"], "with_vectors": given["with_vector"]}
        if rest == ["points", "scroll"]:
            points, after = self.client.scroll(
                name, limit=given["limit"], offset=given.get("offset"), **picks
            )
            self.answer({"points": [p.model_dump() for p in points], "next_page_offset": after})
        else:
            points = self.client.retrieve(name, given["ids"], **picks)
            self.answer([p.model_dump() for p in points[::-1]])  # in any order

    def answer(self, result: Any) -> None:
        self.seen.append((self.path, self.headers.get("api-key")))
        if hasattr(result, "model_dump"):
            result = result.model_dump(mode="json")
        body = json.dumps({"result": result, "status": "ok", "time": 0.0}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(birds: og.EmbeddingSet) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    client = qdrant_client.QdrantClient(":memory:")
    fill(client, birds)
    seen: list[tuple[str, str | None]] = []
    handler = type("Handler", (Server,), {"client": client, "seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}", seen
        http.shutdown()
        thread.join()
    client.close()


@pytest.mark.usefixtures("small_batches")
@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")  # it is, here
def test_a_server(
    server: tuple[str, list[tuple[str, str | None]]],
    birds: og.EmbeddingSet,
    same: Callable[..., None],
    refuses: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, seen = server
    monkeypatch.setenv("QDRANT_API_KEY", "sesame")
    same(load(f"qdrant:{url}/birds"), birds)
    same(load(Path(f"qdrant:{url}/birds"), in_memory=False), birds)
    assert {key for _, key in seen} == {"sesame"}
    monkeypatch.delenv("QDRANT_API_KEY")
    refuses(f"qdrant:{url}/fish", "expected a collection 'fish', received 'birds'")
    assert seen[-1] == ("/collections", None)


def test_a_server_that_is_not_there(refuses: Callable[..., None]) -> None:
    refuses(
        "qdrant:http://127.0.0.1:9/birds",
        "qdrant:http://127.0.0.1:9/birds: expected a Qdrant collection, received .*refused",
    )
