"""What goes wrong while reading from somebody else's store, told in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opengcn.errors import DataError, OpenGCNError

__all__ = ["check_folder", "reading"]


@contextmanager
def reading(address: str, what: str) -> Iterator[None]:
    """Turn whatever a store's own library raises into one clear error.

    Parameters
    ----------
    address : str
        The store.
    what : str
        What was expected there, as in "a LanceDB table".
    """
    try:
        yield
    except OpenGCNError:
        raise
    except Exception as error:  # their libraries raise RuntimeError, ValueError and their own
        reason = " ".join(str(error).split())
        raise DataError(
            f"{address}: expected {what}, received {type(error).__name__}: {reason}"
        ) from error


def check_folder(address: str, folder: str) -> None:
    """Refuse a folder that is not there: the stores' libraries would make it.

    Parameters
    ----------
    address : str
        The store.
    folder : str
        Its folder.
    """
    if not Path(folder).is_dir():
        raise DataError(f"{address}: expected a folder '{folder}', received no such folder")
