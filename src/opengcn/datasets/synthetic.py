"""Directional mixtures: classes of known concentration, whose population curve is known."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import DataError
from opengcn.pairs import GRID

__all__ = ["synthetic", "synthetic_truth"]

SPREAD = 0.3  # standard deviation of the logarithm of the classes' concentrations
CELLS = 4096  # of the angle 0 to pi, for integrals

SizeLaw = Literal["balanced", "zipf"]


def synthetic(
    n_classes: int = 50,
    samples: int = 20,
    dim: int = 64,
    *,
    concentration: float | ArrayLike = 100.0,
    size_law: SizeLaw = "balanced",
    seed: int = 0,
) -> EmbeddingSet:
    """Draw a labelled mixture of von Mises-Fisher distributions.

    Each class has a mean direction, uniform on the sphere, and a concentration kappa of its
    own; its vectors have the density exp(kappa mean.x) up to a constant. The cosine of two
    vectors of a class is A(kappa)**2 on average, where A(kappa) is the ratio of the Bessel
    functions I of order dim/2 and dim/2 - 1; that of vectors of different classes is 0.

    Parameters
    ----------
    n_classes : int, default 50
        The number of classes.
    samples : int, default 20
        Mean number of vectors of a class.
    dim : int, default 64
        Dimension, at least 2.
    concentration : float or array_like of shape (n_classes,), default 100
        A number: the median of the classes' concentrations, which are log-normal with 0.3
        as standard deviation of the logarithm. An array: the concentrations themselves.
    size_law : {"balanced", "zipf"}, default "balanced"
        Classes of `samples` vectors each; or of sizes in proportion to 1, 1/2, 1/3, ...,
        with at least one vector. Both have ``n_classes * samples`` vectors in total.
    seed : int, default 0
        Seed of everything random.

    Returns
    -------
    EmbeddingSet
        ``n_classes * samples`` unit vectors of shape (n, dim) with labels 0, 1, ...; class 0
        is the largest, and vectors of a class are adjacent.

    See Also
    --------
    synthetic_truth : the curve that this set has in the long run.

    Examples
    --------
    >>> import numpy as np
    >>> import opengcn as og
    >>> og.datasets.synthetic(n_classes=10, samples=5, dim=16)
    EmbeddingSet(n=50, dim=16, classes=10)
    >>> long_tailed = og.datasets.synthetic(n_classes=5, samples=10, size_law="zipf")
    >>> np.bincount(long_tailed.labels)
    array([21, 11,  8,  6,  4])
    """
    sizes = _class_sizes(n_classes, samples, size_law)
    kappa = _concentrations(n_classes, dim, concentration, seed)
    labels = np.repeat(np.arange(n_classes), sizes)
    rng = np.random.default_rng([seed, 1])
    means = _unit(rng.standard_normal((n_classes, dim)))[labels]
    gap = _gap_to_mean(kappa[labels], dim, rng)[:, None]
    across = rng.standard_normal((len(labels), dim))
    across -= np.einsum("ij,ij->i", across, means)[:, None] * means
    vectors = (1 - gap) * means + np.sqrt(gap * (2 - gap)) * _unit(across)
    return EmbeddingSet(vectors, labels, source="synthetic")


def synthetic_truth(
    n_classes: int = 50,
    samples: int = 20,
    dim: int = 64,
    *,
    concentration: float | ArrayLike = 100.0,
    size_law: SizeLaw = "balanced",
    seed: int = 0,
) -> OperatingCurve:
    """Compute the population curve of the mixture that `synthetic` draws from.

    It is the expectation of the exact curve of the set, over the mean directions and the
    vectors, with the sizes and concentrations of the classes as they are.

    Parameters
    ----------
    n_classes, samples, dim, concentration, size_law, seed
        As for `synthetic`.

    Returns
    -------
    OperatingCurve
        TPR(d) and TNR(d) by quadrature, without sampling error. TPR is NaN when no class
        has two vectors, TNR when there is one class alone.

    Notes
    -----
    Two vectors x, y of a class have the joint density exp(kappa mean.(x + y)). The law of
    their angle t does not depend on the mean, so one may average over it: what remains is
    h(kappa |x + y|) with |x + y| = 2 cos(t/2), where h(r) is the mean of exp(r u.v) over
    directions u. The density of t is thus sin(t)**(dim-2) h(2 kappa cos(t/2)), up to a
    constant. Vectors of different classes are independent and uniform: kappa = 0.

    Examples
    --------
    >>> import opengcn as og
    >>> truth = og.datasets.synthetic_truth(n_classes=10)
    >>> truth.source
    'population'
    """
    sizes = _class_sizes(n_classes, samples, size_law)
    kappa = _concentrations(n_classes, dim, concentration, seed)
    pairs = sizes * (sizes - 1) / 2
    nan = np.full(len(GRID), np.nan)
    tpr = pairs @ _shares_below(kappa, dim) / pairs.sum() if pairs.any() else nan
    tnr = 1 - _shares_below(np.zeros(1), dim)[0] if n_classes > 1 else nan
    return OperatingCurve(tpr, tnr, source="population")


def _class_sizes(n_classes: int, samples: int, size_law: SizeLaw) -> NDArray[np.int64]:
    """Return the sizes of the classes, largest first, of shape (n_classes,)."""
    for name, value in (("n_classes", n_classes), ("samples", samples)):
        if value < 1:
            raise DataError(f"{name}: expected 1 or more, received {value}")
    if size_law == "balanced":
        return np.full(n_classes, samples)
    if size_law != "zipf":
        raise DataError(f"size_law: expected 'balanced' or 'zipf', received {size_law!r}")
    share = 1 / np.arange(1, n_classes + 1)
    spare = n_classes * (samples - 1)  # after one vector for each class
    sizes: NDArray[np.int64] = 1 + np.floor(spare * share / share.sum()).astype(np.int64)
    sizes[: n_classes * samples - sizes.sum()] += 1  # what rounding left over; keeps the order
    return sizes


def _concentrations(
    n_classes: int, dim: int, concentration: float | ArrayLike, seed: int
) -> NDArray[np.float64]:
    """Return the concentrations of the classes, of shape (n_classes,)."""
    if dim < 2:
        raise DataError(f"dim: expected 2 or more, received {dim}")
    kappa = np.asarray(concentration, dtype=np.float64)
    if kappa.ndim == 0:
        law = np.random.default_rng([seed, 0])
        kappa = kappa * np.exp(SPREAD * law.standard_normal(n_classes))
    if kappa.shape != (n_classes,):
        raise DataError(
            f"concentration: expected a number or one for each of {n_classes} classes, "
            f"received shape {kappa.shape}"
        )
    if not (np.isfinite(kappa) & (kappa >= 0)).all():
        raise DataError(
            f"concentration: expected finite numbers of 0 or more, received {concentration!r}"
        )
    return kappa


def _gap_to_mean(
    kappa: NDArray[np.float64], dim: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw 1 - mean.x for one vector x of each concentration (Wood 1994), of shape (n,).

    Written for 1 - w rather than for the cosine w, which is too near to 1 to keep its
    digits when the concentration is high.
    """
    b = (dim - 1) / (2 * kappa + np.sqrt(4 * kappa**2 + (dim - 1) ** 2))
    pole = (1 - b) / (1 + b)
    gap = np.empty_like(kappa)
    rest = np.arange(len(kappa))
    while len(rest):
        z = rng.beta((dim - 1) / 2, (dim - 1) / 2, size=len(rest))
        drawn = 2 * b[rest] * z / (1 - (1 - b[rest]) * z)
        ratio = kappa[rest] * (1 - pole[rest] - drawn) + (dim - 1) * np.log(
            (1 - pole[rest] * (1 - drawn)) / (1 - pole[rest] ** 2)
        )
        accepted = ratio >= np.log1p(-rng.random(len(rest)))
        gap[rest[accepted]] = drawn[accepted]
        rest = rest[~accepted]
    return gap


def _shares_below(kappa: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """Return the share of same-class pairs below each distance, of shape (n_classes, 201)."""
    edges = np.linspace(0, np.pi, CELLS + 1)
    angle = (edges[1:] + edges[:-1]) / 2
    log_sine = (dim - 2) * np.log(np.sin(angle))
    # log h on a grid, since each pair of a class and an angle asks for it at another place.
    radius = np.linspace(0, 2 * kappa.max(), 1024)
    exponent = radius[:, None] * np.cos(angle) + log_sine
    top = exponent.max(axis=1)
    log_h = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
    wanted = 2 * np.arcsin(GRID / 2)  # the angle at each distance
    shares = np.empty((len(kappa), len(GRID)))
    for i, k in enumerate(kappa):
        log_density = log_sine + np.interp(2 * k * np.cos(angle / 2), radius, log_h)
        below = np.exp(log_density - log_density.max()).cumsum()
        shares[i] = np.interp(wanted, edges, np.concatenate([[0.0], below / below[-1]]))
    return shares


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    norm: NDArray[np.float64] = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / norm
