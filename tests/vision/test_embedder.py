from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import opengcn as og
from opengcn import DataError
from opengcn.model_file import write_model
from opengcn.vision import (
    Embedder,
    FunctionBackbone,
    ImageSet,
    Recipe,
    Shift,
    load_backbone,
    train_embedder,
)


@pytest.fixture
def embedder(images: ImageSet, colours: FunctionBackbone) -> Embedder:
    return train_embedder(images, colours, Recipe(dim=4, epochs=2, batch=12, per_class=2))


def test_embeddings_have_classes_and_ids(embedder: Embedder, images: ImageSet) -> None:
    found = embedder.embed(images)
    assert (len(found), found.dim) == (30, 4)
    assert list(found.labels) == list(images.labels)
    assert list(found.ids) == list(images.ids)
    np.testing.assert_allclose(np.linalg.norm(found.embeddings, axis=1), 1, atol=1e-6)
    assert embedder.embed(images, Shift("fog")).embeddings.tolist() != found.embeddings.tolist()


def test_without_a_head_the_features_are_the_embedding(
    colours: FunctionBackbone, images: ImageSet
) -> None:
    assert Embedder(colours).embed(images).dim == 8


def test_parquet(embedder: Embedder, images: ImageSet, tmp_path: Path) -> None:
    embedder.write(images, tmp_path / "deep" / "e.parquet")
    read = og.EmbeddingSet.load(tmp_path / "deep" / "e.parquet")
    assert (read.embeddings == embedder.embed(images).embeddings).all()
    assert list(read.labels) == list(images.labels)
    assert list(read.ids) == list(images.ids)


def test_nothing_is_written_when_an_image_is_broken(
    embedder: Embedder, images: ImageSet, photos: Path, tmp_path: Path
) -> None:
    (photos / "class5" / "4.png").write_bytes(b"broken")
    with pytest.raises(DataError, match=r"class5/4.png: expected an image"):
        embedder.write(images, tmp_path / "out" / "e.parquet", resume=False)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_vector_of_zeros_is_named(images: ImageSet) -> None:
    nothing = FunctionBackbone("nothing", lambda p: np.zeros((len(p), 3)), size=32)
    with pytest.raises(DataError, match=r"class0/0.png"):
        Embedder(nothing).embed(images)


def test_saved_and_loaded(
    embedder: Embedder, images: ImageSet, colours: FunctionBackbone, tmp_path: Path
) -> None:
    embedder.save(tmp_path / "e.safetensors")
    loaded = Embedder.load(tmp_path / "e.safetensors", backbone=colours)
    assert (loaded.embed(images).embeddings == embedder.embed(images).embeddings).all()
    assert loaded.identity == embedder.identity
    other = FunctionBackbone("other", colours.function, size=32)
    with pytest.raises(DataError, match="expected the backbone that the head was trained on"):
        Embedder.load(tmp_path / "e.safetensors", backbone=other)


def test_a_trained_network_is_in_its_file(images: ImageSet, tmp_path: Path) -> None:
    backbone = load_backbone("small", size=32, scaling_name="unit", device="cpu")
    recipe = Recipe(dim=4, epochs=1, batch=12, per_class=2, fine_tune=True)
    embedder = train_embedder(images, backbone, recipe)
    embedder.save(tmp_path / "e.safetensors")
    loaded = Embedder.load(tmp_path / "e.safetensors", device="cpu")
    assert loaded.backbone.digest == embedder.backbone.digest
    assert (loaded.embed(images).embeddings == embedder.embed(images).embeddings).all()


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a model file"):
        Embedder.load(tmp_path / "no.safetensors")
    write_model(tmp_path / "model.ogcn", {"kind": "calibrator"}, {"x": np.zeros(1)})
    with pytest.raises(
        DataError, match="expected an embedder, received a model of the kind 'calibrator'"
    ):
        Embedder.load(tmp_path / "model.ogcn")
