"""Inspection of fitted models: importance of views, and plots."""

from consilience.inspection._displays import (
    StagedScoreDisplay,
    ViewImportanceDisplay,
    ViewWeightsDisplay,
)
from consilience.inspection._permutation import view_permutation_importance
from consilience.inspection._shapley import view_shapley

__all__ = [
    "StagedScoreDisplay",
    "ViewImportanceDisplay",
    "ViewWeightsDisplay",
    "view_permutation_importance",
    "view_shapley",
]
