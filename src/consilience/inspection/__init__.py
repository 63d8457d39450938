"""Inspection of models: importance of views and features, explanations of samples, plots."""

from consilience.inspection._displays import (
    StagedScoreDisplay,
    ViewImportanceDisplay,
    ViewWeightsDisplay,
)
from consilience.inspection._feature_displays import (
    FeatureHeatmapDisplay,
    FeatureImportanceDisplay,
    FeatureNetworkDisplay,
    FeatureVolcanoDisplay,
)
from consilience.inspection._feature_importance import feature_importance
from consilience.inspection._feature_selection import FeatureSelection, select_features
from consilience.inspection._feature_table import FeatureImportance
from consilience.inspection._permutation import view_permutation_importance
from consilience.inspection._redundancy import FeatureClusters, feature_clusters
from consilience.inspection._sample_explanation import SampleExplanation, explain_sample
from consilience.inspection._selector import ViewFeatureSelector
from consilience.inspection._shapley import view_shapley

__all__ = [
    "FeatureClusters",
    "FeatureHeatmapDisplay",
    "FeatureImportance",
    "FeatureImportanceDisplay",
    "FeatureNetworkDisplay",
    "FeatureSelection",
    "FeatureVolcanoDisplay",
    "SampleExplanation",
    "StagedScoreDisplay",
    "ViewFeatureSelector",
    "ViewImportanceDisplay",
    "ViewWeightsDisplay",
    "explain_sample",
    "feature_clusters",
    "feature_importance",
    "select_features",
    "view_permutation_importance",
    "view_shapley",
]
