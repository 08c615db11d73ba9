"""Model files: arrays as safetensors, everything else as JSON in its header.

Loading such a file reads numbers and text; it cannot run code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opengcn.atomic import replacing
from opengcn.errors import DataError

__all__ = ["read_model", "write_model"]

SCHEMA = 17  # raise it when a file of an earlier version could be misread
KEY = "opengcn"


def write_model(
    path: str | PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model file, whole or not at all.

    Parameters
    ----------
    path : path
        Where to, usually in .ogcn.
    header : mapping
        What JSON can hold.
    arrays : mapping of str to ndarray
        The arrays.
    """
    from safetensors.numpy import save_file

    text = json.dumps({"schema": SCHEMA, **header})
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with replacing(path) as temporary:
        save_file(contiguous, temporary, {KEY: text})


def read_model(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `write_model` wrote.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    header : dict
        What JSON held.
    arrays : dict of str to ndarray
        The arrays.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: expected a model file, received a path where there is none")
    try:
        with safe_open(path, "numpy") as file:
            text = (file.metadata() or {}).get(KEY)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if text is None:
            raise DataError(
                f"{path}: expected a model of opengcn, received another safetensors file"
            )
        header: dict[str, Any] = json.loads(text)
    except (SafetensorError, json.JSONDecodeError) as error:
        raise DataError(
            f"{path}: expected a model file, received one that is truncated, damaged or of "
            f"another format ({error})"
        ) from error
    if header.get("schema") != SCHEMA:
        raise DataError(
            f"{path}: expected schema {SCHEMA}, received {header.get('schema')}: the file was "
            f"written by another version of opengcn ({header.get('version', 'unknown')}); fit the "
            f"model again, or install that version"
        )
    return header, arrays
