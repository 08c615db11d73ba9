"""Choosing the connectivity threshold tau on labelled pairs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from opengcn.pairs import BIN_OF_CELL, GRID

__all__ = ["TAUS", "PairTable", "tau_errors"]

# Candidates, even in the logit: p crowds near 0 and 1.
LOGITS = np.linspace(-12, 12, 241)
TAUS: NDArray[np.float64] = 1 / (1 + np.exp(-LOGITS))


class PairTable:
    """Labelled pairs by distance and logit, from any number of sub-graphs."""

    def __init__(self) -> None:
        self.counts = np.zeros((2, 201, len(LOGITS) + 1), np.int64)

    def add(
        self,
        similarity: NDArray[np.float32],
        logits: NDArray[np.float32],
        codes: NDArray[np.intp],
        touched: NDArray[np.bool_],
    ) -> None:
        """Add the pairs i < j of a sub-graph that touch some of its nodes.

        Parameters
        ----------
        similarity, logits : ndarray of shape (n, n)
            Cosine similarities, and logits of p_ij.
        codes : ndarray of shape (n,)
            Classes of the nodes.
        touched : ndarray of shape (n,), bool
            A pair counts when one of its ends is in here.
        """
        i, j = np.triu_indices(len(codes), 1)
        keep = touched[i] | touched[j]
        i, j = i[keep], j[keep]
        cell = np.clip(20_000 - 20_000 * similarity[i, j], 0, 40_000).astype(np.intp)
        level = np.searchsorted(LOGITS, logits[i, j])  # candidates below the logit
        index = (codes[i] != codes[j]).astype(np.intp), BIN_OF_CELL[cell], level
        flat = np.ravel_multi_index(index, self.counts.shape)
        self.counts += np.bincount(flat, minlength=self.counts.size).reshape(self.counts.shape)


def tau_errors(tables: Iterable[PairTable]) -> NDArray[np.float64]:
    """Return the mean over tables of MAE_comb at each candidate tau.

    Parameters
    ----------
    tables : iterable of PairTable
        One a fold.

    Returns
    -------
    errors : ndarray of shape (241,)
        NaN where a table has no pair predicted same, or none predicted different.
    """
    return np.asarray(np.mean([_errors(table.counts) for table in tables], axis=0))


def _errors(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    truth = counts.sum(axis=2)  # (2, 201): same, different
    everything = counts.sum(axis=0)  # (201, levels)
    # A pair of level l is predicted same at the candidates 0, ..., l - 1.
    above = everything[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:].T  # (taus, 201)
    below = everything.sum(axis=1) - above
    error = np.zeros(len(LOGITS))
    with np.errstate(invalid="ignore", divide="ignore"):
        for predicted, true in ((above, truth[0]), (below, truth[1])):
            gap = np.abs(_shares(predicted) - _shares(true[None]))
            error += 0.5 * np.trapezoid(gap, GRID, axis=1)
    return error


def _shares(bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of pairs below each grid point, of shape (rows, 201)."""
    below = np.concatenate([np.zeros((len(bins), 1)), bins.cumsum(axis=1)[:, :-1]], axis=1)
    shares: NDArray[np.float64] = below / bins.sum(axis=1, keepdims=True)
    return shares
