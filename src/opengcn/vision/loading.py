"""Batches of pixels, prepared by threads while the network is busy with the one before."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from opengcn.threads import cores

__all__ = ["prepared"]

T = TypeVar("T")

AHEAD = 2  # batches in preparation: enough to hide a slow image, and few enough for the memory


def prepared(
    batches: Iterable[Sequence[T]], prepare: Callable[[T], NDArray[np.uint8]]
) -> Iterator[NDArray[np.uint8]]:
    """Yield stacks of images, in order.

    Parameters
    ----------
    batches : iterable of sequences
        What to prepare, batch by batch.
    prepare : callable
        Makes one image, of shape (size, size, 3), of one item. It is called from several
        threads, and its results must not depend on their order.

    Yields
    ------
    pixels : ndarray of shape (len(batch), size, size, 3), uint8
        One batch.
    """
    waiting: deque[list[Future[NDArray[np.uint8]]]] = deque()
    with ThreadPoolExecutor(cores()) as pool:
        try:
            for batch in batches:
                waiting.append([pool.submit(prepare, item) for item in batch])
                if len(waiting) > AHEAD:
                    yield np.stack([job.result() for job in waiting.popleft()])
            while waiting:
                yield np.stack([job.result() for job in waiting.popleft()])
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
