"""The folder for what can be made again: data sets made on the spot, features of images."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["user_cache"]


def user_cache() -> Path:
    """Return ``$OPENGCN_CACHE``, or else the place that the system has for caches.

    Returns
    -------
    folder : Path
        It need not exist.
    """
    if folder := os.environ.get("OPENGCN_CACHE"):
        return Path(folder)
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder) / "opengcn"
    if sys.platform == "win32" and (folder := os.environ.get("LOCALAPPDATA")):
        return Path(folder) / "opengcn" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "opengcn"
    return Path.home() / ".cache" / "opengcn"
