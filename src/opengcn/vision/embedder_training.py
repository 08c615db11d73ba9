"""Training an embedder on images: a head on frozen features, or the whole network."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from copy import deepcopy
from itertools import count

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from opengcn.errors import OpenGCNError
from opengcn.graph.checkpoint import Checkpoint
from opengcn.threads import one_torch_thread
from opengcn.user_cache import user_cache
from opengcn.vision.backbones import Backbone, NetworkBackbone
from opengcn.vision.balanced_batches import BalancedBatches
from opengcn.vision.embedder import Embedder
from opengcn.vision.features import features
from opengcn.vision.image_set import ImageSet
from opengcn.vision.loading import prepared
from opengcn.vision.pixels import random_crop
from opengcn.vision.training import Recipe, train

__all__ = ["train_embedder", "training_identity"]


def training_identity(images: ImageSet, backbone: Backbone, recipe: Recipe) -> str:
    """Return a digest of everything that the result of `train_embedder` depends on.

    Parameters
    ----------
    images, backbone, recipe
        As for `train_embedder`.

    Returns
    -------
    digest : str
        Hexadecimal.
    """
    everything = (images.fingerprint(), backbone.digest, recipe)
    return hashlib.sha256(repr(everything).encode()).hexdigest()


def train_embedder(
    images: ImageSet,
    backbone: Backbone,
    recipe: Recipe | None = None,
    *,
    resume: bool = True,
    progress: bool = True,
) -> Embedder:
    """Train an embedder with Smooth-AP.

    Parameters
    ----------
    images : ImageSet
        Images of the training classes.
    backbone : Backbone
        Where to start from. It is left as it is.
    recipe : Recipe, optional
        How; by default a head on frozen features.
    resume : bool, default True
        Go on where an earlier run of the same training was interrupted. The result is that
        of a run without a break.
    progress : bool, default True
        Show bars when it takes more than two seconds.

    Returns
    -------
    embedder : Embedder
        The backbone, trained or not, with a linear head.
    """
    recipe = recipe or Recipe()
    identity = training_identity(images, backbone, recipe)
    file = user_cache() / "training" / f"{identity[:32]}.safetensors"
    if not resume:
        file.unlink(missing_ok=True)
    checkpoint = Checkpoint(file, identity)
    if recipe.fine_tune:
        embedder = _fine_tune(images, backbone, recipe, checkpoint, progress)
    else:
        blocks = features(backbone, images, resume=resume, progress=progress)
        embedder = _head_on_features(images, backbone, blocks, recipe, checkpoint, progress)
    embedder.identity = identity
    file.unlink(missing_ok=True)
    return embedder


def _head_on_features(
    images: ImageSet,
    backbone: Backbone,
    blocks: Iterator[NDArray[np.float32]],
    recipe: Recipe,
    checkpoint: Checkpoint,
    progress: bool,
) -> Embedder:
    batches = BalancedBatches(images.codes, recipe.batch, recipe.per_class)
    seen = np.concatenate(list(blocks))
    if recipe.dim > seen.shape[1]:
        raise OpenGCNError(
            f"dim: expected at most the {seen.shape[1]} dimensions of {backbone.name}, received "
            f"{recipe.dim}"
        )
    table = torch.from_numpy(seen)
    head = _principal_head(seen, recipe.dim)

    def batches_from(step: int) -> Iterator[Tensor]:
        for now in count(step):
            yield table[torch.from_numpy(batches.draw(np.random.default_rng([recipe.seed, now])))]

    with one_torch_thread():
        train(
            head,
            batches_from,
            {"": recipe.rate},
            recipe.steps(len(images), len(batches)),
            recipe.per_class,
            checkpoint,
            progress=progress,
        )
    return Embedder(backbone, *_arrays(head))


def _principal_head(seen: NDArray[np.float32], dim: int) -> nn.Linear:
    """Return a head that projects on the principal components of the features.

    From a random start the head forgets what the backbone knows about unseen classes.
    """
    mean = seen.mean(0, dtype=np.float64)
    covariance = np.cov(seen, rowvar=False)
    _, vectors = np.linalg.eigh(np.atleast_2d(covariance))
    weight = vectors[:, ::-1][:, :dim].T
    head = nn.Linear(seen.shape[1], dim)
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(weight.copy()))
        head.bias.copy_(torch.from_numpy(-weight @ mean))
    return head


def _fine_tune(
    images: ImageSet,
    backbone: Backbone,
    recipe: Recipe,
    checkpoint: Checkpoint,
    progress: bool,
) -> Embedder:
    if not isinstance(backbone, NetworkBackbone):
        raise OpenGCNError(
            f"{backbone.name}: expected a torch network to fine-tune, received one that can only "
            f"be run; without --fine-tune a head is trained on its features"
        )
    network = deepcopy(backbone.network).cpu()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(recipe.seed)
        width = _width(network, backbone.size)
        head = nn.Linear(width, recipe.dim)
    model = nn.Sequential(OrderedDict(backbone=network, head=head))
    model.train()
    if backbone.pretrained:
        # Statistics of ImageNet are better than those of batches with few classes.
        for module in network.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()
    batches = BalancedBatches(images.codes, recipe.batch, recipe.per_class)

    def crop(item: tuple[int, int, int]) -> NDArray[np.uint8]:
        step, place, row = item
        rng = np.random.default_rng([recipe.seed, step, place])
        return random_crop(images.image(row, backbone.size), backbone.size, rng, flip=recipe.flip)

    def items(step: int) -> Iterator[list[tuple[int, int, int]]]:
        for now in count(step):
            rows = batches.draw(np.random.default_rng([recipe.seed, now]))
            yield [(now, place, int(row)) for place, row in enumerate(rows)]

    def batches_from(step: int) -> Iterator[Tensor]:
        for pixels in prepared(items(step), crop):
            yield torch.from_numpy(backbone.scale(pixels))

    rates = {
        "backbone.": recipe.backbone_rate if backbone.pretrained else recipe.rate,
        "head.": recipe.rate,
    }
    train(
        model,
        batches_from,
        rates,
        recipe.steps(len(images), len(batches)),
        recipe.per_class,
        checkpoint,
        device=backbone.device,
        progress=progress,
    )
    trained = NetworkBackbone(
        backbone.name,
        network,
        size=backbone.size,
        scaling_name=backbone.scaling_name,
        device=backbone.device,
        version=backbone.version,
    )
    return Embedder(trained, *_arrays(head))


def _width(network: nn.Module, size: int) -> int:
    """Return the number of features of a network."""
    with torch.no_grad():
        found = network.eval()(torch.zeros(1, 3, size, size))
    if found.ndim != 2:
        raise OpenGCNError(
            f"backbone: expected features of shape (n, D), received {tuple(found.shape)}"
        )
    return int(found.shape[1])


def _arrays(head: nn.Linear) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return head.weight.detach().cpu().numpy(), head.bias.detach().cpu().numpy()
