"""Score all pairs of a graph by an additive first layer, without a tensor of N x N x H.

``out[g, i, j] = sum_h w[h] relu(a[g, i, h] + b[g, j, h])`` and its derivatives. On the CPU
compiled loops keep the hidden activations of a pair in registers, which is 10 to 30 times
faster than writing them out; elsewhere plain torch does the same sums.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from opengcn.threads import cores

__all__ = ["additive_pairs", "additive_pairs_plain"]

Array = NDArray[np.float32]


def additive_pairs(a: Tensor, b: Tensor, w: Tensor) -> Tensor:
    """Return ``sum_h w[h] relu(a[g, i, h] + b[g, j, h])`` for all g, i and j.

    Parameters
    ----------
    a, b : Tensor of shape (graphs, nodes, hidden)
        The two halves of the first layer's output.
    w : Tensor of shape (hidden,)
        Weights of the second layer.

    Returns
    -------
    out : Tensor of shape (graphs, nodes, nodes)
        Scores of ordered pairs.
    """
    if a.device.type != "cpu" or a.dtype != torch.float32:
        return additive_pairs_plain(a, b, w)
    out: Tensor = _AdditivePairs.apply(a, b, w)  # type: ignore[no-untyped-call]
    return out


def additive_pairs_plain(a: Tensor, b: Tensor, w: Tensor) -> Tensor:
    """Return the same by broadcasting; see `additive_pairs`."""
    return torch.relu(a[:, :, None] + b[:, None]) @ w


class _AdditivePairs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(a, b, w)
        out = a.new_empty(*a.shape[:2], b.shape[1])
        a_rows, b_rows, weights, result = (_numpy(t) for t in (a, b, w, out))
        score = _loops()[0]
        _over_rows(
            out.shape[0] * out.shape[1],
            lambda begin, end: score(a_rows, b_rows, weights, begin, end, result),
        )
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor, Tensor]:
        a, b, w = ctx.saved_tensors
        gradient = gradients[0]
        of_a, of_w = _half_gradient(a, b, w, gradient)
        of_b, _ = _half_gradient(b, a, w, gradient.transpose(1, 2))
        return of_a, of_b, of_w


def _half_gradient(a: Tensor, b: Tensor, w: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the derivatives for the rows' half and for the weights."""
    of_a = torch.empty_like(a, memory_format=torch.contiguous_format)
    of_w = a.new_zeros(a.shape[0] * a.shape[1], a.shape[2])  # a row each: no race, fixed order
    arrays = [_numpy(t) for t in (a, b, w, gradient, of_a, of_w)]
    differentiate = _loops()[1]
    _over_rows(
        a.shape[0] * a.shape[1],
        lambda begin, end: differentiate(*arrays[:4], begin, end, *arrays[4:]),
    )
    return of_a, of_w.sum(0)


def _numpy(t: Tensor) -> Array:
    array: Array = t.detach().contiguous().numpy()
    return array


def _over_rows(rows: int, work: Callable[[int, int], None]) -> None:
    """Share rows between the cores."""
    threads = min(cores(), rows)
    if threads <= 1:
        work(0, rows)
        return
    edges = np.linspace(0, rows, threads + 1).astype(int).tolist()
    list(_pool(threads).map(work, edges[:-1], edges[1:]))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


@cache
def _loops() -> tuple[Callable[..., None], Callable[..., None]]:
    """Compile the loops on first use."""
    from opengcn.graph.additive_pairs_loops import differentiate, score

    return score, differentiate
