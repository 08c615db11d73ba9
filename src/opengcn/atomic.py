"""Files that are either there whole or not there at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it becomes `path`.

    The temporary file lies in the same folder, so the rename is atomic; when the body
    raises, it is removed and `path` stays as it was.

    Parameters
    ----------
    path : path
        Where the finished file goes. Missing parent folders are made.

    Yields
    ------
    temporary : pathlib.Path
        Where to write. It keeps the suffix of `path`, since some writers look at it.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: its files are readable by their owner alone, and stay so when renamed.
    temporary = target.with_name(f".{target.stem}-{secrets.token_hex(6)}{target.suffix}")
    temporary.touch()  # to see the mode of a new file: some writers keep theirs to its owner
    mode = temporary.stat().st_mode
    temporary.unlink()
    try:
        yield temporary
        temporary.chmod(mode)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
