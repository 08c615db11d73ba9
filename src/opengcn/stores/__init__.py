"""Embedding sets in vector stores: LanceDB tables, FAISS indices, Qdrant collections.

A store is named by an address, in Python as on the command line: its kind, a colon, and
where it is. Rows are read in batches, and only those that are asked for.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from opengcn.errors import DataError
from opengcn.files import Columns, Names
from opengcn.stores.faiss_index import open_index
from opengcn.stores.lance_table import open_table
from opengcn.stores.qdrant_collection import open_collection

__all__ = ["open_store", "store_address"]

_FORMS = {
    "faiss": "faiss:FILE",
    "lancedb": "lancedb:FOLDER/TABLE",
    "qdrant": "qdrant:FOLDER/COLLECTION or qdrant:URL/COLLECTION",
}


def store_address(path: str | os.PathLike[str]) -> str | None:
    """Return the address when this is one of a store, None for a path of a file.

    Parameters
    ----------
    path : path
        As given by the user. A file whose name begins like an address can be given as
        ``./faiss:FILE``.

    Returns
    -------
    address : str or None
        As in ``lancedb:data/birds``.
    """
    text = os.fspath(path)
    kind, colon, _ = text.partition(":")
    if not colon or kind not in _FORMS:
        return None
    # pathlib makes one slash of the two in http://
    return re.sub(r"^(\w+:\w{2,}):/(?!/)", r"\1://", text)


def open_store(address: str, names: Names, labels_file: Path | None = None) -> Columns:
    """Open what an address names.

    Parameters
    ----------
    address : str
        From `store_address`.
    names : Names
        Columns or payload fields, where they are not the usual ones.
    labels_file : Path, optional
        Labels of a FAISS index, which holds none itself.

    Returns
    -------
    columns : Columns
        The contents; the vectors are not read yet.
    """
    kind, _, place = address.partition(":")
    if not place.strip("/"):
        raise DataError(f"{address}: expected an address {_FORMS[kind]}, received '{address}'")
    if kind == "faiss":
        return open_index(Path(place), names, labels_file)
    if labels_file is not None:
        raise DataError(
            f"{address}: expected a labels file beside a .npy file or a FAISS index only, "
            f"received {labels_file}"
        )
    if kind == "lancedb":
        return open_table(*_split(address), names)
    return open_collection(*_split(address), names)


def _split(address: str) -> tuple[str, str, str]:
    """Return the address, the folder or URL in it, and the name of the table there."""
    place = address.partition(":")[2]
    if "://" in place:
        folder, _, name = place.rpartition("/")
    else:
        folder, name = str(Path(place).parent), Path(place).name
    return address, folder, name
