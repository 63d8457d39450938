"""Plots of reliability, conflict, suspects and costs, in the style of scikit-learn."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from consilience._default._rows import group_by_pattern
from consilience.trust._left_out import class_probabilities
from consilience.trust._opinions import read_codes, read_fitted

__all__ = [
    "PatternReliabilityDisplay",
    "SuspectsDisplay",
    "ViewConflictDisplay",
    "ViewCostDisplay",
]

MIN_BIN_ROWS = 5


def _get_axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib; pip install 'consilience[report]'") from None
    return plt.subplots()[1]


def _check_result(result: Any, key: str, functions: str) -> None:
    """Raise a TypeError for anything but a result of these functions, which has this key."""
    if not (isinstance(result, Bunch) and key in result):
        raise TypeError(f"result must be what {functions} returns, got {type(result).__name__}")


def _check_count(value: Any, name: str) -> None:
    """Raise a ValueError unless this is a whole number from 1."""
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of 1 or more, got {value!r}")


def _plain_legend(ax: Any) -> None:
    """A legend in which a dollar sign does not start a formula."""
    for text in ax.legend().get_texts():
        text.set_parse_math(False)


class ViewCostDisplay:
    """Accuracy against the cost of the views: chosen for each sample, or in a fixed order.

    Parameters
    ----------
    result : Bunch
        What ``view_cost_curve`` returns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure with the plot.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import ViewCostDisplay, view_cost_curve
    >>> data, y = make_multiview_classification(100, random_state=0)
    >>> model = LateFusionClassifier().fit(data[:60], y[:60])
    >>> held_out = data[60:80], y[60:80]
    >>> curve = view_cost_curve(model, data[80:], y[80:], reference=held_out)
    >>> ViewCostDisplay(curve).plot().ax_.get_ylabel() != ""
    True
    """

    def __init__(self, result: Bunch) -> None:
        self.result = result

    def plot(self, *, ax: Any = None, **style: Any) -> ViewCostDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``plot``, for the curve of the policy.

        Returns
        -------
        self
        """
        _check_result(self.result, "fixed_cost", "view_cost_curve")
        self.ax_ = _get_axes(ax)
        self.figure_ = self.ax_.figure
        result = self.result
        self.ax_.plot(result.cost, result.accuracy, label="chosen for each sample", **style)
        order = " → ".join(result.fixed_order)
        self.ax_.plot(result.fixed_cost, result.fixed_accuracy, "o--", label=order)
        self.ax_.axhline(result.accuracy[-1], color="grey", lw=0.8, label="all views")
        self.ax_.set_xlabel("mean cost of a sample")
        self.ax_.set_ylabel("accuracy")
        _plain_legend(self.ax_)
        return self


class ViewConflictDisplay:
    """Map of the conflicts of each view with the others, the most conflicting samples on top.

    Parameters
    ----------
    result : Bunch
        What ``view_opinions`` returns.
    n_samples : int, default=40
        Number of samples to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure with the plot.
    rows_ : ndarray
        Numbers of the samples, from top to bottom.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import ViewConflictDisplay, view_opinions
    >>> data, y = make_multiview_classification(100, random_state=0)
    >>> model = LateFusionClassifier().fit(data[:60], y[:60])
    >>> len(ViewConflictDisplay(view_opinions(model, data[60:]), n_samples=10).plot().rows_)
    10
    """

    def __init__(self, result: Bunch, *, n_samples: int = 40) -> None:
        self.result = result
        self.n_samples = n_samples

    def plot(self, *, ax: Any = None, **style: Any) -> ViewConflictDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``imshow``.

        Returns
        -------
        self
        """
        _check_result(self.result, "conflict", "view_opinions")
        _check_count(self.n_samples, "n_samples")
        self.ax_ = _get_axes(ax)
        self.figure_ = self.ax_.figure
        conflict = self.result.conflict
        highest = np.where(np.isnan(conflict), -np.inf, conflict).max(axis=1)
        self.rows_ = np.argsort(-highest, kind="stable")[: self.n_samples]
        image = self.ax_.imshow(conflict[self.rows_], aspect="auto", **style)
        self.figure_.colorbar(image, ax=self.ax_, label="conflict with the other views")
        names = self.result.view_names
        self.ax_.set_xticks(range(len(names)), names, parse_math=False)
        self.ax_.set_ylabel("samples")
        return self


class SuspectsDisplay:
    """Probability that something is wrong with each sample, and the suspects.

    Parameters
    ----------
    result : Bunch
        What ``find_mismatched_samples`` or ``find_label_errors`` returns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure with the plot.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import SuspectsDisplay, find_label_errors
    >>> data, y = make_multiview_classification(100, random_state=0)
    >>> result = find_label_errors(LateFusionClassifier(), data, y, cv=3)
    >>> SuspectsDisplay(result).plot().ax_.get_ylabel() != ""
    True
    """

    def __init__(self, result: Bunch) -> None:
        self.result = result

    def plot(self, *, ax: Any = None, **style: Any) -> SuspectsDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``scatter``, for the suspects.

        Returns
        -------
        self
        """
        _check_result(self.result, "suspects", "find_mismatched_samples or find_label_errors")
        self.ax_ = _get_axes(ax)
        self.figure_ = self.ax_.figure
        probability, suspects = self.result.probability, self.result.suspects
        self.ax_.plot(np.arange(len(probability)), probability, ".", color="lightgrey")
        self.ax_.scatter(suspects, probability[suspects], **{"label": "suspects", **style})
        self.ax_.set_xlabel("row")
        self.ax_.set_ylabel("probability")
        _plain_legend(self.ax_)
        return self


class PatternReliabilityDisplay:
    """Accuracy against confidence, for each pattern of present views.

    Parameters
    ----------
    curves : dict of str -> tuple (confidence, accuracy)
        Mean confidence and accuracy of the bins of each pattern.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure with the plot.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.trust import PatternReliabilityDisplay
    >>> data, y = make_multiview_classification(100, random_state=0)
    >>> model = LateFusionClassifier().fit(data[:60], y[:60])
    >>> display = PatternReliabilityDisplay.from_estimator(model, data[60:], y[60:])
    >>> len(display.curves)
    1
    """

    def __init__(self, curves: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 5, ax: Any = None, **style: Any
    ) -> PatternReliabilityDisplay:
        """Predict samples, preferably not used for training, and draw the curves.

        Parameters
        ----------
        estimator : fitted classifier
            A classifier of this package.
        X : MultiViewData, or any input of several views
            Samples.
        y : array of shape (n_samples,)
            Labels.
        n_bins : int, default=5
            Number of bins with equally many rows.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``plot``.

        Returns
        -------
        PatternReliabilityDisplay
        """
        _check_count(n_bins, "n_bins")
        data = read_fitted(estimator, X, "PatternReliabilityDisplay")[1]
        p = class_probabilities(estimator, data, estimator.classes_)
        codes = read_codes(estimator, y, data, "PatternReliabilityDisplay")
        is_right = p.argmax(axis=1) == codes
        curves = {}
        for pattern, rows in group_by_pattern(data.present):
            names = [n for n, has in zip(data.view_names, pattern, strict=True) if has]
            order = rows[np.argsort(p[rows].max(axis=1), kind="stable")]
            bins = np.array_split(order, max(1, min(n_bins, len(order) // MIN_BIN_ROWS)))
            curves["+".join(names) or "no view"] = (
                np.array([p[own].max(axis=1).mean() for own in bins]),
                np.array([is_right[own].mean() for own in bins]),
            )
        return cls(curves).plot(ax=ax, **style)

    def plot(self, *, ax: Any = None, **style: Any) -> PatternReliabilityDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``plot``.

        Returns
        -------
        self
        """
        self.ax_ = _get_axes(ax)
        self.figure_ = self.ax_.figure
        self.ax_.plot([0, 1], [0, 1], color="grey", lw=0.8)
        for name, (confidence, accuracy) in self.curves.items():
            self.ax_.plot(confidence, accuracy, "o-", label=name, **style)
        self.ax_.set_xlabel("confidence")
        self.ax_.set_ylabel("accuracy")
        _plain_legend(self.ax_)
        return self
