"""How long the benchmark still takes, from the cells measured so far."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean, median

from opengcn.scenarios.results import Cell, Result

__all__ = ["TimeLeft", "in_words"]


class TimeLeft:
    """Seconds of fits and of what follows them, by method.

    The first fit of a method on a data set includes what depends on D_train alone and takes
    longest; later ones share it, and cells of one split share their fit.

    Parameters
    ----------
    results : iterable of Result
        What is known already, as from an earlier run.
    """

    def __init__(self, results: Iterable[Result]) -> None:
        self._fits: dict[str, dict[Cell, float]] = {}
        self._rests: dict[str, list[float]] = {}
        for result in results:
            self.learn(result)

    def learn(self, result: Result) -> None:
        """Take in a finished cell.

        Parameters
        ----------
        result : Result
            The cell; failed ones and exact curves say nothing.
        """
        if result.failure or result.is_truth:
            return
        fit, spent = result.seconds["fit"], result.seconds["spent"]
        method = result.cell.method
        self._fits.setdefault(method, {})[result.cell.fit] = fit
        # A cell that took less than the fit found it done.
        self._rests.setdefault(method, []).append(spent - fit if spent >= fit else spent)

    def estimate(self, cells: Iterable[Cell], processes: int) -> float:
        """Return the seconds that cells will take.

        Parameters
        ----------
        cells : iterable of Cell
            Those to run.
        processes : int
            How many run at once.

        Returns
        -------
        seconds : float
            NaN while nothing is known.
        """
        if not self._rests:
            return float("nan")
        total = 0.0
        by_method: dict[str, list[Cell]] = {}
        for cell in cells:
            by_method.setdefault(cell.method, []).append(cell)
        for method, own in by_method.items():
            # Of a method not seen yet nothing is known but what others take.
            alike = [method] if method in self._rests else list(self._rests)
            known = {fit: s for name in alike for fit, s in self._fits[name].items()}
            total += len(own) * fmean(s for name in alike for s in self._rests[name])
            missing = {cell.fit for cell in own} - set(known)
            begun = {_first(fit) for fit in known}
            firsts = {_first(fit) for fit in missing} - begun
            for first in firsts:  # as long as with another seed, or as the longest of all
                same = [s for fit, s in known.items() if fit.data == first.data]
                total += max(same or known.values())
            total += (len(missing) - len(firsts)) * median(known.values())
        return total / processes


def _first(fit: Cell) -> Cell:
    """Return what fits that share D_train have in common."""
    return Cell("", fit.data, "", 0, fit.seed, fit.method)


def in_words(seconds: float) -> str:
    """Say a duration.

    Parameters
    ----------
    seconds : float
        How long.

    Returns
    -------
    words : str
        As in "40 s", "12 min" or "1 h 05 min"; "?" for NaN.

    Examples
    --------
    >>> in_words(40), in_words(700), in_words(3900)
    ('40 s', '12 min', '1 h 05 min')
    """
    if seconds != seconds:
        return "?"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
