from __future__ import annotations

import pytest
import torch
from torch.nn.functional import normalize

from opengcn.vision.smooth_ap import smooth_ap_loss


def by_definition(x: torch.Tensor, per_class: int, t: float) -> torch.Tensor:
    """The formula of the paper of Smooth-AP, pair by pair."""
    s, n, total = x @ x.T, len(x), torch.zeros(())
    for i in range(n):
        own = range(i // per_class * per_class, (i // per_class + 1) * per_class)
        for j in own:
            among = [torch.sigmoid((s[i, k] - s[i, j]) / t) for k in range(n) if k != j]
            within = [torch.sigmoid((s[i, k] - s[i, j]) / t) for k in own if k != j]
            total = total + (1 + sum(within)) / (1 + sum(among)) / per_class
    return 1 - total / n


@pytest.mark.parametrize(("classes", "per_class"), [(6, 2), (2, 5), (4, 4), (5, 3)])
def test_value_and_gradient_by_definition(classes: int, per_class: int) -> None:
    torch.manual_seed(0)
    raw = torch.randn(classes * per_class, 6, dtype=torch.float64, requires_grad=True)
    ours = smooth_ap_loss(normalize(raw), per_class, 0.1)
    theirs = by_definition(normalize(raw), per_class, 0.1)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(*(torch.autograd.grad(loss, raw)[0] for loss in (ours, theirs)))


def test_pytorch_metric_learning_agrees_where_it_is_right() -> None:
    losses = pytest.importorskip("pytorch_metric_learning.losses")
    torch.manual_seed(0)
    x = normalize(torch.randn(25, 8))
    labels = torch.arange(5).repeat_interleave(5)  # as many classes as rows of each
    torch.testing.assert_close(smooth_ap_loss(x, 5), losses.SmoothAPLoss()(x, labels))


def test_perfect_and_worst_ranking() -> None:
    apart = torch.eye(8).repeat_interleave(4, 0) + 0.01 * torch.rand(32, 8)
    assert float(smooth_ap_loss(normalize(apart), 4)) < 1e-3
    mixed = torch.eye(4).repeat(8, 1)  # every class has one row in each corner
    assert float(smooth_ap_loss(mixed, 4)) > 0.5
