"""D_train as the material of which rehearsed worlds are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from opengcn.embeddings import EmbeddingSet
from opengcn.threads import one_blas_thread

__all__ = ["World", "class_means", "unit_vector"]

ROWS = 32_768  # of D_train that are kept: a few hundred classes are plenty to rehearse on
BLOCK = 1024  # rows that are compared with all classes at once
EMPTY = 1e-8  # variance along an axis, over the largest one, that is none: single precision

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class World:
    """D_train about its centre, class by class.

    Attributes
    ----------
    centre : ndarray of shape (D,)
        Mean of all rows.
    images : ndarray of shape (n, D)
        Rows less the centre.
    members : tuple of ndarray
        Row numbers of each class.
    axes : ndarray of shape (D, D)
        Principal axes, in columns. Mirroring along them makes a class elsewhere in space
        that keeps its shape, and keeps the covariance of the whole.
    spread : ndarray of shape (D,)
        Standard deviation along each principal axis.
    telling : ndarray of shape (D,)
        Share of the variance along each principal axis that is between classes: how well it
        tells them apart.
    other_axes : ndarray of shape (D, D)
        A random orthonormal basis, in columns.
    ease : ndarray of shape (n,)
        How much nearer a row is to the mean of its class than to any other; in each class
        with mean 0 and standard deviation 1.
    """

    centre: Floats
    images: Floats
    members: tuple[Ints, ...]
    axes: Floats
    spread: Floats
    telling: Floats
    other_axes: Floats
    ease: Floats

    @classmethod
    @one_blas_thread()  # the number of cores must not change a bit
    def of(cls, train: EmbeddingSet, rng: np.random.Generator) -> Self:
        """Make the world of D_train.

        Parameters
        ----------
        train : EmbeddingSet
            D_train, labelled.
        rng : Generator
            Chooses rows when there are more than 32,768.

        Returns
        -------
        world : World
            Classes of one row are left out.
        """
        rows = _some_rows(train.codes, rng)
        X: Floats = np.asarray(train.take(rows), np.float32)
        codes = np.unique(train.codes[rows], return_inverse=True)[1]
        order = np.argsort(codes, kind="stable")
        members = tuple(np.split(order, np.flatnonzero(np.diff(codes[order])) + 1))
        centre = X.mean(0)
        images = X - centre
        variance, axes = np.linalg.eigh(images.T @ images / np.float32(max(len(images), 1)))
        spread = np.sqrt(np.maximum(variance, 0))
        telling = _telling(images @ axes, members)
        other = np.linalg.qr(rng.standard_normal(axes.shape))[0].astype(np.float32)
        return cls(centre, images, members, axes, spread, telling, other, _ease(images, members))

    @property
    def dim(self) -> int:
        """Dimension D."""
        return int(self.images.shape[1])

    def direction(self, rng: np.random.Generator) -> Floats:
        """Draw a direction that a whole set may lean to: its own centre, an image, or any.

        Parameters
        ----------
        rng : Generator
            Source of randomness.

        Returns
        -------
        direction : ndarray of shape (D,)
            Unit vector.
        """
        pick = rng.random()
        if pick < 0.25:
            return unit_vector(self.centre)
        if pick < 0.5:
            return unit_vector(self.images[rng.integers(len(self.images))] + self.centre)
        return unit_vector(rng.standard_normal(self.dim).astype(np.float32))


def class_means(rows: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Return the mean of each class.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
        The rows.
    labels : ndarray of shape (n,)
        Their classes 0, ..., C - 1, none of them empty.

    Returns
    -------
    means : ndarray of shape (C, D)
        As precise as the rows.
    """
    order = np.argsort(labels, kind="stable")
    size = np.bincount(labels)
    total = np.add.reduceat(rows[order], np.cumsum(size) - size, axis=0)
    return np.asarray(total / size[:, None], rows.dtype)


def unit_vector(v: Floats) -> Floats:
    """Return a vector at length 1; one of length 0 stays."""
    return v / np.float32(max(float(np.linalg.norm(v)), 1e-12))


def _some_rows(codes: NDArray[Any], rng: np.random.Generator) -> Ints:
    """Return rows of classes with two rows or more, at most ROWS, as many of each class."""
    size = np.bincount(codes)
    rows = rng.permutation(np.flatnonzero(size[codes] > 1))
    if len(rows) <= ROWS:
        return np.sort(rows)
    classes = rng.permutation(np.flatnonzero(size > 1))[: ROWS // 2]
    rows = rows[np.isin(codes[rows], classes)]
    rows = rows[np.argsort(codes[rows], kind="stable")]
    first = np.flatnonzero(np.r_[True, np.diff(codes[rows]) > 0])
    rank = np.arange(len(rows)) - np.repeat(first, np.diff(np.r_[first, len(rows)]))
    return np.sort(rows[rank < max(2, ROWS // len(first))])


def _telling(along: Floats, members: tuple[Ints, ...]) -> Floats:
    """Return the attribute of that name, from images (n, D) along the axes."""
    within, variance = np.zeros((2, along.shape[1]))
    for own in members:
        rows = along[own].astype(np.float64)
        within += rows.var(0, ddof=1) * len(own)
        variance += np.square(rows).sum(0)
    # Where there is no variance, what rounding leaves of it goes with the class.
    some = variance > EMPTY * variance.max()
    share = 1 - within / np.where(some, variance, 1)
    return np.where(some, share.clip(0, 1), 0).astype(np.float32)


def _ease(images: Floats, members: tuple[Ints, ...]) -> Floats:
    """Return the attribute of that name."""
    ease = np.zeros(len(images), np.float32)
    if len(members) < 2:
        return ease
    means = np.stack([images[rows].mean(0) for rows in members])
    half = (means**2).sum(1) / 2
    order, size = np.concatenate(members), np.array([len(rows) for rows in members])
    own_class = np.repeat(np.arange(len(members)), size)
    margin = np.empty(len(order), np.float32)
    for start in range(0, len(order), BLOCK):
        part = slice(start, start + BLOCK)
        near = images[order[part]] @ means.T
        near -= half  # half the squared distance, up to its sign and a constant
        at = np.arange(len(near)), own_class[part]
        own = near[at]
        near[at] = -np.inf
        margin[part] = own - near.max(1)
    first = np.cumsum(size) - size
    margin -= np.repeat(np.add.reduceat(margin, first) / size, size)
    spread = np.sqrt(np.add.reduceat(margin**2, first) / size)
    ease[order] = margin / np.repeat(np.maximum(spread, 1e-6), size)
    return ease
