"""Compare calibrators: the same sets for each, one table of errors and seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from sklearn.base import clone

from opengcn.calibrators.base import Calibrator
from opengcn.comparison import Comparison, Trial
from opengcn.curve import OperatingCurve
from opengcn.embeddings import EmbeddingSet
from opengcn.errors import OpenGCNError
from opengcn.metrics import ae_tnr, ae_tpr, mae_parts
from opengcn.open_world import check_open_world
from opengcn.progress import progress_bar

__all__ = ["compare", "compare_splits"]

Methods = Mapping[str, Calibrator] | Sequence[Calibrator]
Sets = tuple[EmbeddingSet, EmbeddingSet, EmbeddingSet]


def compare(
    methods: Methods,
    train: EmbeddingSet,
    cal: EmbeddingSet,
    test: EmbeddingSet,
    *,
    progress: bool = True,
) -> Comparison:
    """Fit each method on (train, cal), estimate `test`, and measure against its labels.

    Parameters
    ----------
    methods : mapping of str to Calibrator, or sequence of Calibrator
        The methods by name; a sequence is named by its classes. They are cloned.
    train, cal, test : EmbeddingSet
        Labelled sets without a class in common. The methods do not see the labels of
        `test`.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    comparison : Comparison
        A row a method. A method that raises is reported with its message. Seconds are
        those of the run: what depends on a set alone (its exact curve, a network trained
        on D_train) is computed once and paid by the method that asks for it first.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> train, rest = data.split_classes(0.5)
    >>> cal, test = rest.split_classes(0.2)
    >>> methods = [og.IsotonicCalibration(), og.SplitCurve()]
    >>> [row.method for row in og.compare(methods, train, cal, test).rows()]
    ['IsotonicCalibration', 'SplitCurve']
    """
    return _run(methods, [(train, cal, test)], 1, progress)


def compare_splits(
    methods: Methods,
    train: EmbeddingSet,
    open_world: EmbeddingSet,
    *,
    splits: int = 8,
    fraction: float = 0.1,
    progress: bool = True,
) -> Comparison:
    """Compare over random splits of the open-world classes into D_cal and D_test.

    Parameters
    ----------
    methods : mapping of str to Calibrator, or sequence of Calibrator
        The methods; see `compare`.
    train : EmbeddingSet
        D_train, the same in every split.
    open_world : EmbeddingSet
        The other classes; split s is ``open_world.split_classes(fraction, seed=s)``.
    splits : int, default 8
        How many.
    fraction : float, default 0.1
        Share of the classes that goes to D_cal.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    comparison : Comparison
        A row a method, mean and standard deviation over the splits.

    Examples
    --------
    >>> import opengcn as og
    >>> data = og.datasets.synthetic(n_classes=40, samples=10, seed=0)
    >>> train, rest = data.split_classes(0.5)
    >>> found = og.compare_splits([og.SplitCurve()], train, rest, splits=2, fraction=0.2)
    >>> [trial.split for trial in found.trials]
    [0, 1]
    """
    sets = ((train, *open_world.split_classes(fraction, seed)) for seed in range(splits))
    return _run(methods, sets, splits, progress)


def _run(methods: Methods, sets: Iterable[Sets], splits: int, progress: bool) -> Comparison:
    named = dict(_named(methods))
    trials = []
    with progress_bar("Comparing", splits * len(named), show=progress) as advance:
        for split, (train, cal, test) in enumerate(sets):
            check_open_world(train, cal, test)
            truth = OperatingCurve.from_labels(test)
            for name, method in named.items():
                trials.append(_trial(name, method, split, (train, cal, test), truth))
                advance(1)
    return Comparison(tuple(trials))


def _named(methods: Methods) -> Iterable[tuple[str, Calibrator]]:
    if not methods:
        raise OpenGCNError("methods: expected at least one, received none")
    if isinstance(methods, Mapping):
        return methods.items()
    names = [type(method).__name__ for method in methods]
    if len(set(names)) < len(names):
        raise OpenGCNError(
            f"methods: expected names for several of one class, as in {{'a': ...}}, "
            f"received {', '.join(names)}"
        )
    return zip(names, methods, strict=True)


def _trial(name: str, method: Calibrator, split: int, sets: Sets, truth: OperatingCurve) -> Trial:
    train, cal, test = sets
    begin = time.perf_counter()
    try:
        method = clone(method)
        method.fit(train, cal)
        fitted = time.perf_counter()
        curve = method.estimate(test.unlabelled())
        done = time.perf_counter()
        tpr_part, tnr_part = mae_parts(curve, truth)
        errors = {
            "mae": tpr_part + tnr_part,
            "mae_tpr": tpr_part,
            "mae_tnr": tnr_part,
            **{
                f"ae_{rate}_{percent}": _or_nan(partial(error, curve, truth, percent / 100))
                for rate, error in (("tpr", ae_tpr), ("tnr", ae_tnr))
                for percent in (80, 90)
            },
            "fit_seconds": fitted - begin,
            "estimate_seconds": done - fitted,
        }
    except Exception as error:  # one method's failure must not take the others down
        return Trial(name, split, {}, f"{type(error).__name__}: {error}")
    return Trial(name, split, errors, "")


def _or_nan(error: Callable[[], float]) -> float:
    """Return an error, or NaN when the estimated curve has no threshold for its target."""
    try:
        return error()
    except OpenGCNError:
        return float("nan")
