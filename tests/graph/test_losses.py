from __future__ import annotations

import math

import pytest
import torch

from opengcn.graph.losses import LossWeights, connectivity_loss, densities, total_loss


def batch(graphs: int = 2, nodes: int = 12, classes: int = 3) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    x = torch.nn.functional.normalize(torch.randn(graphs, nodes, 6), dim=-1)
    y = torch.randint(classes, (graphs, nodes))
    logits = torch.randn(graphs, nodes, nodes)
    return x, 0.5 * (logits + logits.transpose(1, 2)), y[:, :, None] == y[:, None]


def test_connectivity_loss_by_a_loop() -> None:
    _, logits, same = batch()
    total = 0.0
    for g in range(2):
        terms: dict[bool, list[float]] = {True: [], False: []}
        for i in range(12):
            for j in range(12):
                if i != j:
                    p = 1 / (1 + math.exp(-float(logits[g, i, j])))
                    is_same = bool(same[g, i, j])
                    terms[is_same].append(-math.log(p if is_same else 1 - p))
        total += sum(sum(t) / len(t) for t in terms.values()) / 2
    assert float(connectivity_loss(logits, same)) == pytest.approx(total, rel=1e-5)


def test_perfect_predictions_have_no_loss() -> None:
    x, _, same = batch()
    logits = torch.where(same, 40.0, -40.0)
    assert float(total_loss(x, logits, same, LossWeights())) == pytest.approx(0, abs=1e-6)


def test_densities_by_a_loop() -> None:
    x, _, same = batch()
    a = x @ x.transpose(1, 2)
    found = densities(a, same)
    for i in range(12):
        others = [j for j in range(12) if j != i]
        average = sum(float(a[0, i, j]) * bool(same[0, i, j]) for j in others) / 11
        neighbour = sum(float(a[0, i, j]) * (1 if same[0, i, j] else -1) for j in others) / 11
        assert float(found.average[0, i]) == pytest.approx(average, abs=1e-6)
        assert float(found.neighbour[0, i]) == pytest.approx(neighbour, abs=1e-6)


def test_the_two_density_losses_are_one() -> None:
    """s_nbr = 2 s_avg - a_avg, for truth and estimate alike, so L_nbr = 4 L_avg."""
    x, logits, same = batch()
    a = x @ x.transpose(1, 2)
    off = 1 - torch.eye(12)
    a_average = (a * off).sum(-1) / 11
    for s in (densities(a, same), densities(a, logits.sigmoid())):
        torch.testing.assert_close(s.neighbour, 2 * s.average - a_average, atol=1e-6, rtol=1e-5)
    average = total_loss(x, logits, same, LossWeights(0, 1, 0))
    neighbour = total_loss(x, logits, same, LossWeights(0, 0, 1))
    assert float(neighbour / average) == pytest.approx(4, rel=1e-4)
    both = total_loss(x, logits, same, LossWeights(1, 10, 10))
    matched = total_loss(x, logits, same, LossWeights(1, 50, 0))  # the same objective
    assert float(both) == pytest.approx(float(matched), rel=1e-5)


@pytest.mark.parametrize("labels", [[0, 1, 2, 3], [0, 0, 0, 0]])
def test_graphs_without_one_kind_of_pair(labels: list[int]) -> None:
    x, logits, _ = batch(1, 4)
    y = torch.tensor([labels])
    logits.requires_grad_()
    loss = total_loss(x, logits, y[:, :, None] == y[:, None], LossWeights())
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()


def test_terms_can_be_left_out() -> None:
    x, logits, same = batch()
    conn, avg, nbr = (
        total_loss(x, logits, same, LossWeights(*w)) for w in ((1, 0, 0), (0, 10, 0), (0, 0, 10))
    )
    assert float(total_loss(x, logits, same, LossWeights())) == pytest.approx(
        float(conn + avg + nbr), rel=1e-5
    )
