"""Training on random sub-graphs of a labelled set, resumable at any step.

Step t of a stage draws its graphs from a generator seeded by (seed, stage, t) and sets its
learning rate from t, so nothing but weights, moments and t is needed to go on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from opengcn.embeddings import EmbeddingSet
from opengcn.graph.losses import LossWeights, total_loss
from opengcn.graph.network import ConnectivityNetwork
from opengcn.progress import progress_bar
from opengcn.threads import one_torch_thread

__all__ = ["Progress", "Stage", "draw_nodes", "put_moments", "take_moments", "train"]


@dataclass(frozen=True)
class Stage:
    """How one stage of training goes.

    Attributes
    ----------
    name : str
        For progress bars and checkpoints.
    steps : int
        Steps of the optimiser.
    rate : float
        Initial learning rate of Adam, annealed to zero along a cosine. The coordinates of
        unit vectors are small, so the usual 1e-3 leaves the first layer nearly untrained
        after a thousand steps.
    nodes : int
        Nodes of a graph; 256 in the paper.
    graphs : int
        Graphs a step.
    classes : int
        Classes of a graph, at most: see `draw_nodes`.
    loss : LossWeights
        The objective.
    """

    name: str
    steps: int
    rate: float = 1e-2
    nodes: int = 256
    graphs: int = 1
    classes: int = 64
    loss: LossWeights = field(default_factory=LossWeights)


@dataclass
class Progress:
    """Where a stage stands.

    Attributes
    ----------
    step : int
        Steps done.
    losses : list of float
        Loss of each step.
    moments : dict of str to Tensor
        Adam's first and second moments, by parameter.
    """

    step: int = 0
    losses: list[float] = field(default_factory=list)
    moments: dict[str, Tensor] = field(default_factory=dict)


def draw_nodes(
    codes: NDArray[np.intp], nodes: int, classes: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw the nodes of a training graph: uniformly from a random choice of classes.

    The paper does not say how a batch is drawn. Uniformly from everything would leave a
    graph of 256 nodes of a set with thousands of classes without same-class pairs; so some
    classes are drawn first (64, four nodes each on average) where there are more.

    Parameters
    ----------
    codes : ndarray of shape (n,), int
        Classes 0, 1, ...
    nodes : int
        How many nodes; all there are, if there are fewer.
    classes : int
        How many classes at most.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    rows : ndarray of shape (m,), int
        Distinct rows, in random order.
    """
    there = int(codes.max()) + 1
    rows = np.arange(len(codes))
    if there > classes:
        chosen = np.zeros(there, bool)
        chosen[rng.choice(there, classes, replace=False)] = True
        rows = rows[chosen[codes]]
    return rng.choice(rows, min(nodes, len(rows)), replace=False)


def train(
    network: ConnectivityNetwork,
    data: EmbeddingSet,
    stage: Stage,
    seed: int,
    *,
    start: Progress | None = None,
    save: Callable[[Progress], None] | None = None,
    save_every: int = 100,
    show: bool = True,
) -> list[float]:
    """Train the parameters of a network that are not frozen.

    Parameters
    ----------
    network : ConnectivityNetwork
        Changed in place.
    data : EmbeddingSet
        Labelled.
    stage : Stage
        How.
    seed : int
        Seed of the graphs drawn.
    start : Progress, optional
        Where to go on; `network` holds the weights of that step.
    save : callable, optional
        Called with the progress every `save_every` steps, and at the end.
    save_every : int, default 100
        See `save`.
    show : bool, default True
        Show a progress bar.

    Returns
    -------
    losses : list of float
        Loss of each step.
    """
    device = next(network.parameters()).device
    X, codes = torch.from_numpy(np.array(data.embeddings)).to(device), data.codes
    y = torch.from_numpy(codes).to(device)
    named = {name: p for name, p in network.named_parameters() if p.requires_grad}
    now = start or Progress()
    optimiser = torch.optim.Adam(named.values(), lr=stage.rate)
    put_moments(optimiser, named, now)
    network.train()
    with one_torch_thread(), progress_bar(stage.name, stage.steps, show=show) as advance:
        advance(now.step)
        for step in range(now.step, stage.steps):
            rng = np.random.default_rng([seed, step])
            rows = [draw_nodes(codes, stage.nodes, stage.classes, rng) for _ in range(stage.graphs)]
            smallest = min(map(len, rows))  # classes may be small, and graphs in a batch are equal
            index = torch.from_numpy(np.stack([r[:smallest] for r in rows])).to(device)
            for group in optimiser.param_groups:
                group["lr"] = 0.5 * stage.rate * (1 + math.cos(math.pi * step / stage.steps))
            x, labels = X[index], y[index]
            optimiser.zero_grad()
            same = labels[:, :, None] == labels[:, None]
            loss = total_loss(x, network(x), same, stage.loss)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            now.losses.append(float(loss.detach()))
            now.step = step + 1
            if save and (now.step % save_every == 0 or now.step == stage.steps):
                now.moments = take_moments(optimiser, named)
                save(now)
            advance(1)
    network.eval()
    return now.losses


def take_moments(
    optimiser: torch.optim.Adam, named: dict[str, torch.nn.Parameter]
) -> dict[str, Tensor]:
    """Copy Adam's moments out of an optimiser.

    Parameters
    ----------
    optimiser : torch.optim.Adam
        After a step or more.
    named : dict of str to Parameter
        What it optimises, by name.

    Returns
    -------
    moments : dict of str to Tensor
        As `Progress` holds them.
    """
    moments = {}
    for name, parameter in named.items():
        state = optimiser.state[parameter]
        moments[f"first.{name}"] = state["exp_avg"].clone()
        moments[f"second.{name}"] = state["exp_avg_sq"].clone()
    return moments


def put_moments(
    optimiser: torch.optim.Adam, named: dict[str, torch.nn.Parameter], now: Progress
) -> None:
    """Give an optimiser the moments of an earlier run; nothing to do before the first step.

    Parameters
    ----------
    optimiser : torch.optim.Adam
        Changed in place.
    named : dict of str to Parameter
        What it optimises, by name.
    now : Progress
        Where the earlier run stood.
    """
    for name, parameter in named.items():
        if now.step:
            optimiser.state[parameter] = {
                "step": torch.tensor(float(now.step)),
                "exp_avg": now.moments[f"first.{name}"].to(parameter.device).clone(),
                "exp_avg_sq": now.moments[f"second.{name}"].to(parameter.device).clone(),
            }
