"""Every error and warning that the package raises on purpose."""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["DataError", "MissingDependencyError", "OpenGCNError", "OpenGCNWarning", "require"]


class OpenGCNError(ValueError):
    """Root of every error that the package raises on purpose.

    Its message is one line: what was expected, what was received, and where.
    """


class DataError(OpenGCNError):
    """An embedding set, a label array or a file that cannot be used as it is."""


class MissingDependencyError(OpenGCNError, ImportError):
    """An optional dependency is not installed."""


class OpenGCNWarning(UserWarning):
    """The result is usable, but the reader should know something about it."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra brings it.

    Parameters
    ----------
    module : str
        Name of the module to import.
    extra : str
        The extra of this package that installs it.

    Returns
    -------
    module
        The imported module.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"{module} is needed here and not installed: pip install 'opengcn[{extra}]'"
        ) from error
