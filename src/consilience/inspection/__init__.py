"""Inspection of models: importance of views and features, and plots."""

from consilience.inspection._displays import (
    StagedScoreDisplay,
    ViewImportanceDisplay,
    ViewWeightsDisplay,
)
from consilience.inspection._feature_importance import feature_importance
from consilience.inspection._feature_selection import FeatureSelection, select_features
from consilience.inspection._feature_table import FeatureImportance
from consilience.inspection._permutation import view_permutation_importance
from consilience.inspection._shapley import view_shapley

__all__ = [
    "FeatureImportance",
    "FeatureSelection",
    "StagedScoreDisplay",
    "ViewImportanceDisplay",
    "ViewWeightsDisplay",
    "feature_importance",
    "select_features",
    "view_permutation_importance",
    "view_shapley",
]
