"""Plots of features: bars by view, effects against q-values, heatmap, network of correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.inspection._displays import get_axes
from consilience.inspection._feature_table import FeatureImportance
from consilience.inspection._redundancy import correlate, feature_matrix, standardise_columns
from consilience.views import as_multiview
from consilience.views._index import check_aligned

__all__ = [
    "FeatureHeatmapDisplay",
    "FeatureImportanceDisplay",
    "FeatureNetworkDisplay",
    "FeatureVolcanoDisplay",
]

MIN_Q_VALUE = 1e-12  # smaller ones are drawn there
CLIP = 3.0  # standard deviations at which the colours of the heatmap end


def _label(result: FeatureImportance, j: int) -> str:
    return f"{result.view[j]}: {result.feature[j]}"


class FeatureImportanceDisplay:
    """Bars of the most important features, one panel for each view.

    The error bars are standard deviations over the folds; the darker a bar, the larger the share of
    folds in which the feature is significant by itself.

    Parameters
    ----------
    result : FeatureImportance
        The features that are drawn.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One for each view.
    figure_ : matplotlib Figure
        Figure with the plot.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from consilience.datasets import make_multiview_biomarkers
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import feature_importance
    >>> problem = make_multiview_biomarkers(100, n_features=[20, 40], random_state=0)
    >>> result = feature_importance(LateFusionClassifier(), problem.data, problem.target)
    >>> display = result.plot(5)
    >>> [ax.get_title() for ax in display.axes_]
    ['view0', 'view1']
    """

    def __init__(self, *, result: FeatureImportance) -> None:
        self.result = result

    @classmethod
    def from_result(
        cls, result: FeatureImportance, *, k: int = 10, ax: Any = None, **style: Any
    ) -> FeatureImportanceDisplay:
        """Draw the k most important features of each view.

        Parameters
        ----------
        result : FeatureImportance
            Importance of the features.
        k : int, default=10
            Number of features of each view.
        ax : matplotlib Axes or list of them, optional
            Axes to draw on, one for each view; new ones by default.
        **style : dict
            Passed to ``barh``.

        Returns
        -------
        FeatureImportanceDisplay
        """
        return cls(result=result.top(k, per_view=True)).plot(ax=ax, **style)

    def plot(self, *, ax: Any = None, **style: Any) -> FeatureImportanceDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes or list of them, optional
            Axes to draw on, one for each view; new ones by default.
        **style : dict
            Passed to ``barh``.

        Returns
        -------
        self
        """
        names = list(dict.fromkeys(self.result.view.tolist()))
        self.axes_ = np.atleast_1d(get_axes(ax, len(names)))
        if len(self.axes_) != len(names):
            raise ValueError(f"ax must be {len(names)} axes, one for each view")
        self.figure_ = self.axes_[0].figure
        for axes, name in zip(self.axes_, names, strict=True):
            own = self.result.take(self.result.view == name)
            own = own.take(np.arange(len(own))[::-1])
            shades = style.get("color", [(0.12, 0.35, 0.6, 0.25 + 0.75 * f) for f in own.frequency])
            axes.barh(range(len(own)), own.importance, xerr=own.std, **{**style, "color": shades})
            # a dollar sign in a name does not start a formula
            axes.set_yticks(range(len(own)), [str(f) for f in own.feature], parse_math=False)
            axes.set_title(name, parse_math=False)
            axes.set_xlabel("importance")
        return self


class FeatureVolcanoDisplay:
    """Effect of each feature in a class against its q-value.

    Parameters
    ----------
    result : FeatureImportance
        Importance of the features.
    target : label
        Class whose effects are drawn.
    fdr : float, default=0.1
        False discovery rate at which a line is drawn.

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
    >>> from consilience.inspection import FeatureVolcanoDisplay, feature_importance
    >>> data, y = make_multiview_classification(60, n_views=2, n_features=3, random_state=0)
    >>> importance = feature_importance(LateFusionClassifier(), data, y, cv=2)
    >>> FeatureVolcanoDisplay.from_result(importance).fdr
    0.1
    """

    def __init__(self, *, result: FeatureImportance, target: Any, fdr: float = 0.1) -> None:
        self.result = result
        self.target = target
        self.fdr = fdr

    @classmethod
    def from_result(
        cls,
        result: FeatureImportance,
        *,
        target: Any = None,
        fdr: float = 0.1,
        ax: Any = None,
        **style: Any,
    ) -> FeatureVolcanoDisplay:
        """Draw the effects in one class.

        Parameters
        ----------
        result : FeatureImportance
            Importance of the features.
        target : label, optional
            The class; by default the last one.
        fdr : float, default=0.1
            False discovery rate at which a line is drawn.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``scatter``.

        Returns
        -------
        FeatureVolcanoDisplay
        """
        target = result.classes[-1] if target is None else target
        if target not in result.classes:
            raise ValueError(f"target must be one of {result.classes.tolist()}, got {target!r}")
        return cls(result=result, target=target, fdr=fdr).plot(ax=ax, **style)

    def plot(self, *, ax: Any = None, **style: Any) -> FeatureVolcanoDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.
        **style : dict
            Passed to ``scatter``.

        Returns
        -------
        self
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        effect = self.result.class_effect[:, np.flatnonzero(self.result.classes == self.target)[0]]
        height = -np.log10(np.maximum(self.result.q_value, MIN_Q_VALUE))
        for name in dict.fromkeys(self.result.view.tolist()):
            own = self.result.view == name
            # a leading underscore would hide the name in the legend
            points = self.ax_.scatter(effect[own], height[own], **{"s": 12, **style})
            points.set_label(f"\u200b{name}" if name.startswith("_") else name)
        self.ax_.axhline(-np.log10(self.fdr), linestyle="--", color="grey", linewidth=1)
        self.ax_.set_xlabel(f"standardised effect, higher in {self.target}", parse_math=False)
        self.ax_.set_ylabel("−log10 of the q-value")
        for text in self.ax_.legend().get_texts():
            text.set_parse_math(False)
        return self


class FeatureHeatmapDisplay:
    """Standardised values of features, with samples ordered by class.

    Parameters
    ----------
    values : array of shape (n_samples, n_features)
        Standardised values, NaN where they are missing.
    labels : list of str
        Names of the features.
    target : array of shape (n_samples,)
        Classes of the samples.

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
    >>> from consilience.inspection import FeatureHeatmapDisplay, feature_importance
    >>> data, y = make_multiview_classification(60, n_views=2, n_features=3, random_state=0)
    >>> importance = feature_importance(LateFusionClassifier(), data, y, cv=2)
    >>> display = FeatureHeatmapDisplay.from_result(importance, data, y, k=4)
    >>> display.values.shape
    (60, 4)
    """

    def __init__(self, *, values: np.ndarray, labels: list[str], target: np.ndarray) -> None:
        self.values = values
        self.labels = labels
        self.target = target

    @classmethod
    def from_result(
        cls, result: FeatureImportance, X: Any, y: Any, *, k: int = 30, ax: Any = None
    ) -> FeatureHeatmapDisplay:
        """Draw the most important features of some samples.

        Parameters
        ----------
        result : FeatureImportance
            Importance of the features.
        X : MultiViewData or any multi-view input
            Samples.
        y : array of shape (n_samples,)
            Labels.
        k : int, default=30
            Number of features.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        FeatureHeatmapDisplay
        """
        best = result.top(k)
        order = np.argsort(best.class_effect.argmax(axis=1), kind="stable")
        best = best.take(order)
        data = as_multiview(X)
        check_aligned(data, y=y)
        values = feature_matrix(data, best)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = (values - np.nanmean(values, axis=0)) / np.nanstd(values, axis=0)
        labels = [_label(best, j) for j in range(len(best))]
        return cls(values=values, labels=labels, target=np.asarray(y)).plot(ax=ax)

    def plot(self, *, ax: Any = None, **style: Any) -> FeatureHeatmapDisplay:
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
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        classes, codes = np.unique(self.target, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        limits = {"vmin": -CLIP, "vmax": CLIP, "cmap": "RdBu_r", "aspect": "auto"}
        image = self.ax_.imshow(
            self.values[order].T, **{**limits, "interpolation": "nearest", **style}
        )
        self.figure_.colorbar(image, ax=self.ax_, label="standard deviations")
        self.ax_.set_yticks(range(len(self.labels)), self.labels, parse_math=False)
        ends = np.cumsum(np.bincount(codes))
        for end in ends[:-1]:
            self.ax_.axvline(end - 0.5, color="black", linewidth=1)
        middles = ends - np.bincount(codes) / 2 - 0.5
        self.ax_.set_xticks(middles, [str(c) for c in classes], parse_math=False)
        return self


class FeatureNetworkDisplay:
    """Correlations between features of different views, as lines between them on a circle.

    Parameters
    ----------
    correlations : array of shape (n_features, n_features)
        Correlations.
    views : array of shape (n_features,)
        View of each feature.
    labels : list of str
        Names of the features.
    min_correlation : float, default=0.5
        Minimum absolute correlation of a line.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure with the plot.
    edges_ : list of tuple
        Pairs of features that are joined.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import FeatureNetworkDisplay, feature_importance
    >>> data, y = make_multiview_classification(60, n_views=2, n_features=3, random_state=0)
    >>> importance = feature_importance(LateFusionClassifier(), data, y, cv=2)
    >>> FeatureNetworkDisplay.from_result(importance, data, k=2).correlations.shape
    (4, 4)
    """

    def __init__(
        self,
        *,
        correlations: np.ndarray,
        views: np.ndarray,
        labels: list[str],
        min_correlation: float = 0.5,
    ) -> None:
        self.correlations = correlations
        self.views = views
        self.labels = labels
        self.min_correlation = min_correlation

    @classmethod
    def from_result(
        cls,
        result: FeatureImportance,
        X: Any,
        *,
        k: int = 15,
        min_correlation: float = 0.5,
        ax: Any = None,
    ) -> FeatureNetworkDisplay:
        """Draw the correlations among the most important features of each view.

        Parameters
        ----------
        result : FeatureImportance
            Importance of the features.
        X : MultiViewData or any multi-view input
            Samples.
        k : int, default=15
            Number of features of each view.
        min_correlation : float, default=0.5
            Minimum absolute correlation of a line.
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        FeatureNetworkDisplay
        """
        best = result.top(k, per_view=True)
        Z = standardise_columns(feature_matrix(as_multiview(X), best))
        labels = [str(feature) for feature in best.feature]
        display = cls(
            correlations=correlate(Z, Z),
            views=best.view,
            labels=labels,
            min_correlation=min_correlation,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> FeatureNetworkDisplay:
        """Draw the plot; lines are red for positive correlations and blue for negative ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        self
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        angles = np.linspace(0, 2 * np.pi, len(self.labels), endpoint=False)
        x, y = np.cos(angles), np.sin(angles)
        is_edge = np.abs(self.correlations) >= self.min_correlation
        is_edge &= self.views[:, None] != self.views
        self.edges_ = [(int(a), int(b)) for a, b in np.argwhere(np.triu(is_edge, 1))]
        for a, b in self.edges_:
            r = self.correlations[a, b]
            colour = "firebrick" if r > 0 else "steelblue"
            self.ax_.plot(x[[a, b]], y[[a, b]], color=colour, linewidth=2 * abs(r), zorder=1)
        for name in dict.fromkeys(self.views.tolist()):
            own = self.views == name
            points = self.ax_.scatter(x[own], y[own], zorder=2)
            points.set_label(f"\u200b{name}" if name.startswith("_") else name)
        for j, label in enumerate(self.labels):
            side = "left" if x[j] >= 0 else "right"
            style = {"ha": side, "va": "center", "fontsize": 8, "parse_math": False}
            self.ax_.text(1.08 * x[j], 1.08 * y[j], label, **style)
        self.ax_.set_axis_off()
        self.ax_.set_aspect("equal")
        for text in self.ax_.legend(loc="upper left", bbox_to_anchor=(1.15, 1)).get_texts():
            text.set_parse_math(False)
        return self
