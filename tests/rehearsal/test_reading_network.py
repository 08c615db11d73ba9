from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from opengcn.rehearsal.examples import Examples
from opengcn.rehearsal.reading_network import (
    GIVEN_FEATURES,
    Lessons,
    ReadingNetworks,
    teach,
)

FEATURES = 40


def networks(count: int, seed: int = 0) -> ReadingNetworks:
    torch.manual_seed(seed)
    made = ReadingNetworks(count, FEATURES)
    for parameter in made.parameters():  # heads start at zero: nothing would be compared
        torch.nn.init.normal_(parameter, std=0.2)
    return made.eval()


def inputs(examples: int) -> Tensor:
    shape = (5, examples, FEATURES + GIVEN_FEATURES)
    return torch.randn(shape, generator=torch.manual_seed(1))


def alone(all_of_them: ReadingNetworks, k: int, x: Tensor) -> list[Tensor]:
    """Network k, a layer at a time."""
    w = {name: value[k] for name, value in all_of_them.state_dict().items()}

    def layer(name: str, h: Tensor) -> Tensor:
        return h @ w[f"{name}.weight"] + w[f"{name}.bias"]

    h = layer("body.0", x).relu()
    h = layer("body.3", h).relu()
    return [layer("move", h), layer("spread", h), layer("prior", h)[:, 0]]


def test_networks_together_equal_each_alone() -> None:
    made, x = networks(5), inputs(7)
    together = made(x)
    for k in range(5):
        for whole, part in zip(together, alone(made, k, x[k]), strict=True):
            torch.testing.assert_close(whole[k], part)


def test_networks_do_not_learn_from_rows_that_they_may_not_see() -> None:
    """Network 1 sees rows with truth 2, network 0 others with truth 0.5."""
    rng = np.random.default_rng(0)
    n = 40
    truth = np.repeat([0.5, 2.0], n // 2)[:, None] * np.ones((n, 24))
    examples = Examples(
        rng.standard_normal((n, FEATURES)).astype(np.float32),
        np.zeros((n, 5), np.float32),
        np.ones((n, 24), np.float32),
        truth.astype(np.float32),
        np.full(n, -4.0, np.float32),
    )
    middle, scale = np.zeros(FEATURES, np.float32), np.ones(FEATURES, np.float32)
    lessons = Lessons.of(examples, middle, scale, torch.device("cpu"))
    torch.manual_seed(0)
    made = ReadingNetworks(2, FEATURES)
    rows = np.arange(n).reshape(2, -1)
    teach(made, [(lessons, rows, 16)], rng, steps=300, rate=1e-2)
    move = made(lessons.inputs(torch.from_numpy(rows), rng, chance=0))[0].exp()
    torch.testing.assert_close(move[0].mean(), torch.tensor(0.5), atol=0.1, rtol=0)
    torch.testing.assert_close(move[1].mean(), torch.tensor(2.0), atol=0.3, rtol=0)
