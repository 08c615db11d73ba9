"""A small convolutional network that embeds glyphs, trained in less than a minute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opengcn.progress import progress_bar
from opengcn.threads import one_torch_thread

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["embed", "train_embedder"]

DIM = 128
WIDTH = 24  # channels of the first layer; doubled twice
EPOCHS = 16
MIN_STEPS = 60  # few pictures make short epochs
BATCH = 128
LEARNING_RATE = 3e-3
SHARPNESS = 8.0  # of the softmax over cosines: the lower, the closer a seen class must lie


def train_embedder(
    images: NDArray[np.uint8],
    labels: NDArray[np.str_],
    seed: int = 0,
    *,
    progress: bool = True,
) -> dict[str, NDArray[Any]]:
    """Train the network with a softmax over the cosines to one proxy for each class.

    Parameters
    ----------
    images : ndarray of shape (n, 32, 32), uint8
        Pictures.
    labels : ndarray of shape (n,)
        Their classes.
    seed : int, default 0
        Seed of the first weights and of the order of the pictures.
    progress : bool, default True
        Draw a progress bar on standard error when it takes longer than two seconds.

    Returns
    -------
    dict of str to ndarray
        The weights by name. The same seed on the same machine gives the same bits.
    """
    import torch
    from torch.nn import functional

    classes, codes = np.unique(labels, return_inverse=True)
    target = torch.from_numpy(codes)
    batch = min(BATCH, len(images))
    steps = max(MIN_STEPS, EPOCHS * len(images) // batch)
    with _private_torch(seed), progress_bar("Training", steps, show=progress) as advance:
        pictures = _as_input(images)
        network = _network()
        # Of length 1 at the start: steps of Adam hardly turn a long vector.
        proxies = torch.nn.Parameter(functional.normalize(torch.randn(len(classes), DIM)))
        parameters = [*network.parameters(), proxies]
        optimizer = torch.optim.AdamW(parameters, lr=LEARNING_RATE, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps)
        for rows in _batches(len(images), batch, steps):
            embeddings = functional.normalize(network(pictures[rows]))
            cosines = embeddings @ functional.normalize(proxies).T
            loss = functional.cross_entropy(SHARPNESS * cosines, target[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            advance(1)
    return {name: value.numpy() for name, value in network.state_dict().items()}


def embed(weights: Mapping[str, NDArray[Any]], images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Embed pictures.

    Parameters
    ----------
    weights : mapping of str to ndarray
        From `train_embedder`.
    images : ndarray of shape (n, 32, 32), uint8
        Pictures.

    Returns
    -------
    ndarray of shape (n, 128), float32
        Unit vectors.
    """
    import torch
    from torch.nn import functional

    with _private_torch(0), torch.no_grad():
        network = _network()
        network.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
        network.eval()
        vectors = [
            functional.normalize(network(_as_input(images[begin : begin + 512])))
            for begin in range(0, len(images), 512)
        ]
        return torch.cat(vectors).numpy()


@contextmanager
def _private_torch(seed: int) -> Iterator[None]:
    """Seed torch, use one thread and learn whatever the caller's mode, for the body alone."""
    import torch

    with (
        one_torch_thread(),
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(False),
        torch.enable_grad(),
    ):
        # torch.manual_seed would seed the accelerators too, which fork_rng does not restore.
        torch.default_generator.manual_seed(seed)
        yield


def _network() -> nn.Sequential:
    import torch
    from torch import nn

    layers: list[nn.Module] = []
    channels = (1, WIDTH, 2 * WIDTH, 4 * WIDTH)
    for size, before, after in zip((5, 3, 3), channels, channels[1:], strict=False):
        layers += [
            nn.Conv2d(before, after, size, stride=2, padding=size // 2, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
        ]
    layers += [nn.Flatten(), nn.Linear(4 * 4 * channels[-1], DIM)]
    # Convolutions of one thread run a quarter to a third faster in this layout.
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


def _as_input(images: NDArray[np.uint8]) -> Tensor:
    import torch

    return torch.from_numpy(images).unsqueeze(1).to(torch.float32) / 255


def _batches(n: int, batch: int, steps: int) -> Iterator[Tensor]:
    """Yield `steps` batches of row numbers, each picture once an epoch."""
    import torch

    done = 0
    while True:
        order = torch.randperm(n)
        for begin in range(0, n - batch + 1, batch):
            if done == steps:
                return
            yield order[begin : begin + batch]
            done += 1
