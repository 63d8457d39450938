"""Plots of view weights, view importances and staged scores, in the style of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import Bunch

from consilience.inspection._permutation import view_permutation_importance
from consilience.inspection._shapley import view_shapley
from consilience.views._index import check_series
from consilience.views._input import sample_labels

__all__ = ["StagedScoreDisplay", "ViewImportanceDisplay", "ViewWeightsDisplay", "get_axes"]


def get_axes(ax: Any, n_panels: int = 1) -> Any:
    """The given axes, or new ones, side by side if there are several panels."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib; pip install 'consilience[report]'") from None
    if n_panels == 1:
        return plt.subplots()[1]
    size = (5.0 * n_panels, 4.8)
    return plt.subplots(1, n_panels, figsize=size, layout="constrained")[1]


def _draw_bars(ax: Any, names: list[str], values: np.ndarray, errors: Any, **style: Any) -> None:
    """Draw horizontal bars, the largest on top."""
    order = np.argsort(values, kind="stable")
    errors = None if errors is None else np.asarray(errors)[order]
    ax.barh(range(len(order)), np.asarray(values)[order], xerr=errors, **style)
    # a dollar sign in a name does not start a formula
    labels = [names[v] for v in order]
    ax.set_yticks(range(len(order)), labels, parse_math=False)


class ViewWeightsDisplay:
    """Bar chart of ``view_weights_``, the contribution of each view to the decision.

    Parameters
    ----------
    view_weights : array of shape (n_views,)
        Weights of the views.
    view_names : list of str
        Names of the views.

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
    >>> from consilience.boosting import MuMBoClassifier
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.inspection import ViewWeightsDisplay
    >>> data, y = load_digits_views(return_X_y=True)
    >>> model = MuMBoClassifier(n_estimators=10, random_state=0).fit(data, y)
    >>> display = ViewWeightsDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'share of the decision'
    """

    def __init__(self, *, view_weights: Any, view_names: list[str]) -> None:
        self.view_weights = view_weights
        self.view_names = view_names

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **style: Any) -> ViewWeightsDisplay:
        """Draw the weights of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            One that has ``view_weights_``.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``barh``.

        Returns
        -------
        ViewWeightsDisplay
        """
        display = cls(
            view_weights=np.asarray(estimator.view_weights_), view_names=list(estimator.view_names_)
        )
        return display.plot(ax=ax, **style)

    def plot(self, *, ax: Any = None, **style: Any) -> ViewWeightsDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``barh``.

        Returns
        -------
        self
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        _draw_bars(self.ax_, list(self.view_names), self.view_weights, None, **style)
        self.ax_.set_xlabel("share of the decision")
        return self


class ViewImportanceDisplay:
    """Bar chart of view importances (permutation or Shapley values) with their errors.

    Parameters
    ----------
    importances : array of shape (n_views,)
        Importances of the views.
    errors : array of shape (n_views,) or None
        Standard errors.
    view_names : list of str
        Names of the views.
    label : str
        Label of the axis.

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
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import ViewImportanceDisplay
    >>> data, y = make_multiview_classification(100, random_state=0)
    >>> model = LateFusionClassifier().fit(data, y)
    >>> display = ViewImportanceDisplay.from_estimator(model, data, y, random_state=0)
    >>> display.ax_.get_xlabel()
    'score lost when the view is shuffled'
    """

    def __init__(self, *, importances: Any, errors: Any, view_names: list[str], label: str) -> None:
        self.importances = importances
        self.errors = errors
        self.view_names = view_names
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        kind: str = "permutation",
        scoring: Any = None,
        random_state: Any = None,
        ax: Any = None,
        **style: Any,
    ) -> ViewImportanceDisplay:
        """Compute importances and draw them.

        Parameters
        ----------
        estimator : fitted classifier
            A classifier of this package.
        X : MultiViewData, matrix or any multi-view input
            Samples, preferably not used for training.
        y : array of shape (n_samples,)
            Labels.
        kind : {"permutation", "shapley"}, default="permutation"
            Kind of importance.
        scoring : str or callable, optional
            As in scikit-learn; the estimator's ``score`` by default.
        random_state : int, RandomState or None, default=None
            Random seed.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``barh``.

        Returns
        -------
        ViewImportanceDisplay
        """
        functions: dict[str, Callable] = {
            "permutation": view_permutation_importance,
            "shapley": view_shapley,
        }
        if kind not in functions:
            raise ValueError(f"kind must be 'permutation' or 'shapley', got {kind!r}")
        result = functions[kind](estimator, X, y, scoring=scoring, random_state=random_state)
        return cls.from_result(result, ax=ax, **style)

    @classmethod
    def from_result(cls, result: Bunch, *, ax: Any = None, **style: Any) -> ViewImportanceDisplay:
        """Draw the result of ``view_permutation_importance`` or ``view_shapley``.

        Parameters
        ----------
        result : Bunch
            The result of either function.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``barh``.

        Returns
        -------
        ViewImportanceDisplay
        """
        if "importances_mean" in result:
            repeats = result.importances.shape[1]
            errors = result.importances_std / np.sqrt(repeats)
            values, label = result.importances_mean, "score lost when the view is shuffled"
        else:
            values, errors = result.shapley_values, result.standard_errors
            label = "contribution to the score (Shapley value)"
        display = cls(importances=values, errors=errors, view_names=result.view_names, label=label)
        return display.plot(ax=ax, **style)

    def plot(self, *, ax: Any = None, **style: Any) -> ViewImportanceDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``barh``.

        Returns
        -------
        self
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        _draw_bars(self.ax_, list(self.view_names), self.importances, self.errors, **style)
        self.ax_.set_xlabel(self.label)
        return self


class StagedScoreDisplay:
    """Score of a boosted classifier after each round.

    Parameters
    ----------
    scores : array of shape (n_rounds,)
        Score after each round.
    score_name : str
        Name of the score.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure with the plot.
    line_ : matplotlib Line2D
        The curve.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from consilience.boosting import MuMBoClassifier
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.inspection import StagedScoreDisplay
    >>> data, y = make_multiview_classification(100, random_state=0)
    >>> model = MuMBoClassifier(n_estimators=5, random_state=0).fit(data, y)
    >>> StagedScoreDisplay.from_estimator(model, data, y).ax_.get_xlabel()
    'round'
    """

    def __init__(self, *, scores: Any, score_name: str = "accuracy") -> None:
        self.scores = scores
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        metric: Callable[[Any, Any], float] = accuracy_score,
        ax: Any = None,
        name: str | None = None,
        **style: Any,
    ) -> StagedScoreDisplay:
        """Score the rounds of a fitted classifier on samples and draw the curve.

        Parameters
        ----------
        estimator : fitted classifier
            One that has ``staged_predict``.
        X : MultiViewData, matrix or any multi-view input
            Samples.
        y : array of shape (n_samples,)
            Labels.
        metric : callable, default=accuracy_score
            ``metric(y, predicted labels)``.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        name : str, optional
            Label of the curve.
        **style : dict
            Passed to ``plot``.

        Returns
        -------
        StagedScoreDisplay
        """
        if not hasattr(estimator, "staged_predict"):
            raise TypeError(
                f"{type(estimator).__name__} has no staged_predict; use a boosting method"
            )
        check_series(sample_labels(X), y=y)
        scores = np.array([metric(y, labels) for labels in estimator.staged_predict(X)])
        label = getattr(metric, "__name__", "score").removesuffix("_score").replace("_", " ")
        return cls(scores=scores, score_name=label).plot(ax=ax, name=name, **style)

    def plot(self, *, ax: Any = None, name: str | None = None, **style: Any) -> StagedScoreDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        name : str, optional
            Label of the curve.
        **style : dict
            Passed to ``plot``.

        Returns
        -------
        self
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        rounds = np.arange(1, len(self.scores) + 1)
        (self.line_,) = self.ax_.plot(rounds, self.scores, label=name, **style)
        self.ax_.set_xlabel("round")
        self.ax_.set_ylabel(self.score_name)
        if name is not None:
            for text in self.ax_.legend().get_texts():
                text.set_parse_math(False)
        return self
