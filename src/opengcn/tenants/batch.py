"""What a worker is handed: some tenants whose rows are read together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from numpy.typing import NDArray

__all__ = ["Batch", "Name", "TenantRows", "Tenants", "grouped"]

ROWS = 16_384  # of a batch: some seconds of work, and all that a kill loses
TENANTS = 256  # of a batch, however small they are

Name = str | int


@dataclass(frozen=True, eq=False)
class TenantRows:
    """The rows of one tenant, or why there are none.

    Attributes
    ----------
    tenant : str or int
        Its name.
    total : int or None
        How many rows it has; None when that is unknown.
    raw : ndarray of shape (m, D) or None
        All of them, or a sample of a large tenant's. Not checked or normalised yet.
    error : str
        Why they could not be read; "" otherwise.
    """

    tenant: Name
    total: int | None
    raw: NDArray[Any] | None
    error: str = ""


class Batch(Protocol):
    """Some tenants. Small when pickled: it says where rows are, and reads them in the worker."""

    @property
    def names(self) -> Sequence[Name]:
        """The tenants."""

    def read(self, dim: int) -> Iterator[TenantRows]:
        """Yield the rows of each tenant, which should be of dimension `dim`."""

    def split(self) -> list[Self]:
        """Return a batch for each tenant, so that a bad one spoils no other."""


class Tenants(Protocol):
    """All tenants of a data set."""

    @property
    def names(self) -> Sequence[Name]:
        """The tenants, in the order of the result."""

    def without(self, done: set[Name]) -> Self:
        """Return the same data without tenants that are done."""

    def batches(self) -> Iterator[Batch]:
        """Yield every tenant once, in batches."""


def grouped(rows: Iterable[int]) -> Iterator[slice]:
    """Cut tenants into runs of about `ROWS` rows and at most `TENANTS` tenants.

    Parameters
    ----------
    rows : iterable of int
        Rows that each tenant will take.

    Yields
    ------
    run : slice
        Tenants of a batch; one at least.

    Examples
    --------
    >>> list(grouped([10_000, 6_000, 1_000, 50_000, 10]))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    begin = end = held = 0
    for count in rows:
        if end > begin and (held + count > ROWS or end - begin == TENANTS):
            yield slice(begin, end)
            begin, held = end, 0
        held += count
        end += 1
    if end > begin:
        yield slice(begin, end)
