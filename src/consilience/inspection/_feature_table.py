"""FeatureImportance: the result of ``feature_importance`` as arrays, table, text and plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import narwhals as nw
import numpy as np

__all__ = ["FeatureImportance"]

SHOWN_FEATURES = 10  # in the text


@dataclass(frozen=True, eq=False)
class FeatureImportance:
    """Importance of the features of all views.

    Attributes
    ----------
    view : ndarray of shape (n_features,)
        View of each feature.
    feature : ndarray of shape (n_features,)
        Name of the feature: that of its column, or the one given by ``feature_names``.
    column : ndarray of shape (n_features,)
        Column of the view: its name, or its number in views without names.
    importance : ndarray of shape (n_features,)
        How well the feature agrees with the labels, from −1 to 1, around 0 for a feature of no use:
        mean of ``in_model`` and ``alone``, or that of a pair if it is larger.
    std : ndarray of shape (n_features,)
        Standard deviation of the importance over the folds.
    in_model : ndarray of shape (n_features,)
        How well the feature's contributions to the model's scores agree with the labels of rows
        left out, from −1 to 1.
    alone : ndarray of shape (n_features,)
        How well the feature by itself agrees with the labels, from 0 to 1; NaN for columns of
        categories.
    partner : ndarray of shape (n_features,)
        ``"view: feature"`` of the partner if the importance is that of a pair, else empty.
    contribution : ndarray of shape (n_features,)
        Covariance of the feature's contributions with the labels of rows left out; the sum over the
        features is that of the score. Features that say the same share it.
    frequency : ndarray of shape (n_features,)
        Share of the folds in which the feature is significant by itself (one-sided, 5 %).
    p_value : ndarray of shape (n_features,)
        Probability of so large an importance if the feature is independent of the class.
    q_value : ndarray of shape (n_features,)
        Smallest false discovery rate at which the feature is selected (Benjamini–Hochberg).
    class_effect : ndarray of shape (n_features, n_classes)
        Mean of the feature in a class minus its mean in the others, in standard deviations;
        positive if it is higher in the class. NaN for columns of categories.
    classes : ndarray of shape (n_classes,)
        Labels.
    n_folds : int
        Number of folds.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.inspection import feature_importance
    >>> data, y = make_multiview_classification(60, n_views=2, n_features=3, random_state=0)
    >>> importance = feature_importance(LateFusionClassifier(), data, y, cv=2)
    >>> importance.class_effect.shape
    (6, 2)
    """

    view: np.ndarray
    feature: np.ndarray
    column: np.ndarray
    importance: np.ndarray
    std: np.ndarray
    in_model: np.ndarray
    alone: np.ndarray
    partner: np.ndarray
    contribution: np.ndarray
    frequency: np.ndarray
    p_value: np.ndarray
    q_value: np.ndarray
    class_effect: np.ndarray
    classes: np.ndarray
    n_folds: int

    def __len__(self) -> int:
        return len(self.feature)

    @property
    def higher_in(self) -> np.ndarray:
        """Class in which each feature is highest, compared with the others; else empty.

        Columns of categories and constant columns are not higher in any class.
        """
        effects = np.where(np.isnan(self.class_effect), -np.inf, self.class_effect)
        highest = self.classes.astype(object)[effects.argmax(axis=1)]
        highest[~(effects > 0).any(axis=1)] = ""
        return highest

    @property
    def view_contribution(self) -> dict[str, float]:
        """Sum of the contributions of the features of each view."""
        names = dict.fromkeys(self.view.tolist())
        return {name: float(self.contribution[self.view == name].sum()) for name in names}

    def take(self, rows: Any) -> FeatureImportance:
        """Return the same for some of the features.

        Parameters
        ----------
        rows : array
            Numbers or mask of the features.

        Returns
        -------
        FeatureImportance
        """
        own = {
            field.name: getattr(self, field.name)[rows]
            for field in fields(self)
            if field.name not in ("classes", "n_folds")
        }
        return replace(self, **own)

    def top(self, k: int = 20, *, per_view: bool = False) -> FeatureImportance:
        """Return the most important features, in descending order.

        Parameters
        ----------
        k : int, default=20
            Number of features.
        per_view : bool, default=False
            Whether k features of each view are returned, view by view.

        Returns
        -------
        FeatureImportance
        """
        order = np.argsort(-self.importance, kind="stable")
        if not per_view:
            return self.take(order[:k])
        names = dict.fromkeys(self.view.tolist())
        return self.take(np.concatenate([order[self.view[order] == name][:k] for name in names]))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, or a list of dicts if pandas is not installed.

        Returns
        -------
        DataFrame
            One row for each feature; the effects are in columns ``effect_<class>``.
        """
        return to_table(self.to_columns())

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return the columns of ``to_frame`` by name.

        Returns
        -------
        dict of str -> ndarray of shape (n_features,)
        """
        columns = {
            "view": self.view,
            "feature": self.feature,
            "importance": self.importance,
            "std": self.std,
            "in_model": self.in_model,
            "alone": self.alone,
            "partner": self.partner,
            "contribution": self.contribution,
            "frequency": self.frequency,
            "p_value": self.p_value,
            "q_value": self.q_value,
            "higher_in": self.higher_in,
        }
        for k, label in enumerate(self.classes):
            columns[f"effect_{label}"] = self.class_effect[:, k]
        return columns

    def plot(self, k: int = 10, *, ax: Any = None, **style: Any) -> Any:
        """Draw the most important features of each view as bars.

        Parameters
        ----------
        k : int, default=10
            Number of features of each view.
        ax : matplotlib Axes, optional
            Axes to draw on, one for each view; new ones by default.
        **style : dict
            Passed to ``barh``.

        Returns
        -------
        FeatureImportanceDisplay
        """
        from consilience.inspection._feature_displays import FeatureImportanceDisplay

        return FeatureImportanceDisplay.from_result(self, k=k, ax=ax, **style)

    def __str__(self) -> str:
        best = self.top(SHOWN_FEATURES)
        rows = [
            ("view", "feature", "importance", "in model", "alone", "frequency", "q", "higher in")
        ]
        for j in range(len(best)):
            rows.append(
                (
                    str(best.view[j]),
                    str(best.feature[j]),
                    f"{best.importance[j]:.3f} ± {best.std[j]:.3f}",
                    f"{best.in_model[j]:.3f}",
                    f"{best.alone[j]:.3f}",
                    f"{best.frequency[j]:.2f}",
                    f"{best.q_value[j]:.3f}",
                    str(best.higher_in[j]),
                )
            )
        return format_rows(rows)


def format_rows(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows of a table as text with columns of equal width."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def to_table(columns: dict[str, Any]) -> Any:
    """A pandas DataFrame, or a list of dicts without pandas."""
    try:
        return nw.from_dict(columns, backend="pandas").to_native()
    except ImportError:
        names = list(columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
