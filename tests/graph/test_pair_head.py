from __future__ import annotations

import pytest
import torch

from opengcn.graph import additive_pairs as module
from opengcn.graph.additive_pairs import additive_pairs, additive_pairs_plain
from opengcn.graph.pair_head import PairHead


def naive(head: PairHead, z: torch.Tensor) -> torch.Tensor:
    """Concatenate both ends of every ordered pair, apply the network, average the orders."""
    nodes = z.shape[1]
    left = z[:, :, None].expand(-1, -1, nodes, -1)
    right = z[:, None].expand(-1, nodes, -1, -1)
    both = torch.cat([left, right], dim=-1)
    ordered = head.second(torch.relu(head.first(both))).squeeze(-1)
    return 0.5 * (ordered + ordered.transpose(1, 2))


@pytest.mark.parametrize(("graphs", "nodes", "hidden"), [(1, 1, 3), (2, 7, 16), (3, 40, 33)])
def test_head_equals_the_naive_concatenation(graphs: int, nodes: int, hidden: int) -> None:
    torch.manual_seed(0)
    head, z = PairHead(5, hidden), torch.randn(graphs, nodes, 5)
    logits = head(z)
    torch.testing.assert_close(logits, naive(head, z), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(logits, logits.transpose(1, 2))
    with torch.inference_mode():
        torch.testing.assert_close(head(z), naive(head, z), atol=1e-5, rtol=1e-5)


def test_head_learns_as_the_naive_form_does() -> None:
    torch.manual_seed(0)
    head = PairHead(5, 16)
    z, target = torch.randn(2, 9, 5), torch.randn(2, 9, 9)
    found = []
    for form in (lambda z: head(z), lambda z: naive(head, z)):
        leaf = z.clone().requires_grad_()
        head.zero_grad()
        ((form(leaf) - target) ** 2).mean().backward()
        found.append([leaf.grad, *(p.grad.clone() for p in head.parameters())])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_compiled_sums_do_not_depend_on_threads(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    a, b, w = torch.randn(2, 30, 16), torch.randn(2, 30, 16), torch.randn(16)
    expected = additive_pairs(a, b, w)
    monkeypatch.setattr(module, "cores", lambda: threads)
    assert torch.equal(additive_pairs(a, b, w), expected)
    torch.testing.assert_close(expected, additive_pairs_plain(a, b, w), atol=1e-5, rtol=1e-5)


def test_other_precisions_take_the_plain_path() -> None:
    torch.manual_seed(0)
    a, b, w = (
        torch.randn(*s, dtype=torch.float64, requires_grad=True)
        for s in ((1, 4, 3), (1, 4, 3), (3,))
    )
    assert torch.autograd.gradcheck(additive_pairs, (a, b, w))
