from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from opengcn import OpenGCNError
from opengcn.vision import (
    Backbone,
    FunctionBackbone,
    ImageSet,
    NetworkBackbone,
    Recipe,
    load_backbone,
    recall_at_1,
    train_embedder,
    training,
)

HEAD = Recipe(dim=4, epochs=20, batch=12, per_class=2)
WHOLE = Recipe(dim=4, epochs=3, batch=12, per_class=2, fine_tune=True)


class InterruptError(Exception):
    """Somebody pressed Ctrl-C."""


@contextmanager
def steps_counted(stop_after: int = 10**9) -> Iterator[list[int]]:
    """Count the steps of training; keep the state after each, and stop after some."""
    steps: list[int] = []
    real = training.smooth_ap_loss

    def loss(*arguments):
        if len(steps) == stop_after:
            raise InterruptError
        steps.append(1)
        return real(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "SAVE_EVERY", 0.0)
        patch.setattr(training, "smooth_ap_loss", loss)
        yield steps


def interrupt(images: ImageSet, backbone: Backbone, recipe: Recipe) -> None:
    """Train for three steps."""
    with steps_counted(3), pytest.raises(InterruptError):
        train_embedder(images, backbone, recipe)


def small() -> NetworkBackbone:
    backbone = load_backbone("small", size=32, device="cpu")
    assert isinstance(backbone, NetworkBackbone)
    return backbone


def test_a_head_learns_what_the_classes_share(images: ImageSet, colours: FunctionBackbone) -> None:
    train = images.subset(images.codes < 4)
    noisy = FunctionBackbone(
        "noisy",
        lambda p: np.concatenate([p.mean((1, 2)) / 255, 3 * (p[:, 0, :5, 0] / 255)], axis=1),
        size=32,
    )
    untrained = Recipe(dim=3, epochs=1, batch=8, per_class=2, rate=1e-9)
    before = recall_at_1(train_embedder(train, noisy, untrained).embed(images))
    recipe = Recipe(dim=3, epochs=80, batch=8, per_class=2, rate=0.02)
    after = recall_at_1(train_embedder(train, noisy, recipe).embed(images))
    assert after > before
    assert after > 0.8  # of classes that it has not seen too


def test_the_backbone_is_left_alone(images: ImageSet) -> None:
    backbone = small()
    before = backbone.digest
    embedder = train_embedder(images, backbone, WHOLE)
    assert backbone.digest == before
    assert embedder.backbone.digest != before
    assert not backbone.pretrained


@pytest.mark.parametrize("recipe", [HEAD, WHOLE], ids=["head", "whole"])
def test_an_interrupted_run_ends_as_one_that_was_not(
    recipe: Recipe, images: ImageSet, colours: FunctionBackbone, cache: Path
) -> None:
    backbone = small() if recipe.fine_tune else colours
    whole = train_embedder(images, backbone, recipe)
    interrupt(images, backbone, recipe)
    assert len(list((cache / "training").iterdir())) == 1
    with steps_counted() as steps:
        resumed = train_embedder(images, backbone, recipe)
    assert len(steps) == recipe.steps(30, 12) - 3
    assert (resumed.weight == whole.weight).all()
    assert (resumed.bias == whole.bias).all()
    if recipe.fine_tune:
        assert resumed.backbone.digest == whole.backbone.digest
    assert list((cache / "training").iterdir()) == []


def test_restart_forgets(images: ImageSet, colours: FunctionBackbone) -> None:
    interrupt(images, colours, HEAD)
    with steps_counted() as steps:
        train_embedder(images, colours, HEAD, resume=False)
    assert len(steps) == HEAD.steps(30, 12)


def test_other_settings_do_not_resume(
    images: ImageSet, colours: FunctionBackbone, cache: Path
) -> None:
    interrupt(images, colours, HEAD)
    with steps_counted() as steps:
        train_embedder(images, colours, replace(HEAD, seed=1))
    assert len(steps) == HEAD.steps(30, 12)
    assert len(list((cache / "training").iterdir())) == 1  # that of the first is kept


def test_pretrained_statistics_stay(images: ImageSet) -> None:
    fresh, trained = small(), small()
    trained.pretrained = True
    for backbone, stays in ((fresh, False), (trained, True)):
        before = backbone.network.state_dict()["1.running_mean"].clone()
        result = train_embedder(images, backbone, WHOLE).backbone
        assert isinstance(result, NetworkBackbone)
        after = result.network.state_dict()["1.running_mean"]
        assert bool(torch.equal(before, after)) is stays


def test_bad_recipes(images: ImageSet, colours: FunctionBackbone) -> None:
    with pytest.raises(OpenGCNError, match="dim: expected 1 or more"):
        Recipe(dim=0)
    with pytest.raises(OpenGCNError, match="rate: expected above 0, received nan"):
        Recipe(rate=float("nan"))
    with pytest.raises(OpenGCNError, match="dim: expected at most the 8 dimensions of colours"):
        train_embedder(images, colours, Recipe(dim=9))
    with pytest.raises(OpenGCNError, match="colours: expected a torch network to fine-tune"):
        train_embedder(images, colours, WHOLE)
    with pytest.raises(
        OpenGCNError, match="small: expected pretrained weights, received random ones"
    ):
        train_embedder(images, small(), HEAD)
