"""Plot of a ranking, in the style of scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["ComparisonDisplay"]


class ComparisonDisplay:
    """Mean scores of methods with their confidence intervals, best on top.

    Parameters
    ----------
    methods : list of str
        Names of the methods, best first.
    scores : array of shape (n_methods,)
        Mean scores.
    intervals : array of shape (n_methods, 2)
        Lower and upper ends of their intervals.
    metric : str
        Name of the metric.
    chance : float, optional
        Score of chance.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure with the plot.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from consilience.comparison import ComparisonDisplay
    >>> intervals = [(0.8, 0.9), (0.7, 0.8)]
    >>> display = ComparisonDisplay(["a", "b"], [0.85, 0.75], intervals, "accuracy").plot()
    >>> display.ax_.get_xlabel()
    'accuracy (mean and 95 % interval)'
    """

    def __init__(
        self,
        methods: Sequence[str],
        scores: Any,
        intervals: Any,
        metric: str,
        chance: float | None = None,
    ) -> None:
        self.methods = list(methods)
        self.scores = np.asarray(scores, dtype=np.float64)
        self.intervals = np.asarray(intervals, dtype=np.float64)
        self.metric = metric
        self.chance = chance

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        ComparisonDisplay
        """
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError:
                raise ImportError(
                    "plots need matplotlib; pip install 'consilience[report]'"
                ) from None
            height = 0.9 + 0.26 * len(self.methods)
            _, ax = plt.subplots(figsize=(6.4, height), layout="constrained")
        y = np.arange(len(self.methods))[::-1]
        errors = np.nan_to_num(np.abs(self.intervals - self.scores[:, None])).T
        ax.errorbar(self.scores, y, xerr=errors, fmt="o", ms=4.5)
        if self.chance is not None:
            ax.axvline(self.chance, color="grey", lw=0.9, ls="--", label="chance")
            ax.legend()
        ax.set_yticks(y, self.methods, parse_math=False)
        label = f"{self.metric.replace('_', ' ')} (mean and 95 % interval)"
        ax.set_xlabel(label, parse_math=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
