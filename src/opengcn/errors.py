"""Every error and warning that the package raises on purpose."""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["DataError", "MissingDependencyError", "OpenGCNError", "OpenGCNWarning", "require"]


class OpenGCNError(ValueError):
    """Root of every error that the package raises on purpose.

    Its message is one line: what was expected, what was received, and where.

    Examples
    --------
    >>> import opengcn as og
    >>> try:
    ...     og.convert(3.0, "l2", "cosine")
    ... except og.OpenGCNError as error:
    ...     print(error)
    threshold: expected a distance in [0, 2], received 3.0
    """


class DataError(OpenGCNError):
    """An embedding set, a label array or a file that cannot be used as it is.

    Examples
    --------
    >>> import opengcn as og
    >>> try:
    ...     og.EmbeddingSet([[1.0, 0.0], [0.0, 0.0]])
    ... except og.DataError as error:
    ...     print(error)
    embeddings: row 1: expected a vector with a direction, received only zeros
    """


class MissingDependencyError(OpenGCNError, ImportError):
    """An optional dependency is not installed."""


class OpenGCNWarning(UserWarning):
    """The result is usable, but the reader should know something about it.

    Examples
    --------
    >>> import warnings
    >>> import opengcn as og
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     curve = og.OperatingCurve.from_labels([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    >>> print(caught[0].message)
    no same-class pair, so TPR is unknown (NaN)
    """


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
