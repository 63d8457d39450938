"""Fusion of scikit-learn classifiers: early, late, stacking, and the best single view."""

from consilience.fusion._best_view import BestViewClassifier
from consilience.fusion._early import EarlyFusionClassifier
from consilience.fusion._late import LateFusionClassifier
from consilience.fusion._stacking import StackingFusionClassifier

__all__ = [
    "BestViewClassifier",
    "EarlyFusionClassifier",
    "LateFusionClassifier",
    "StackingFusionClassifier",
]
