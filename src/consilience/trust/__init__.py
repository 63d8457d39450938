"""How far a prediction can be trusted, and what to do where it cannot."""

from consilience.trust._conformal import ConformalClassifier
from consilience.trust._displays import (
    PatternReliabilityDisplay,
    SuspectsDisplay,
    ViewConflictDisplay,
    ViewCostDisplay,
)
from consilience.trust._label_errors import find_label_errors
from consilience.trust._mismatch import find_mismatched_samples
from consilience.trust._next_view import next_view
from consilience.trust._opinions import view_opinions
from consilience.trust._robust import RobustPoolingClassifier
from consilience.trust._selective import SelectiveClassifier
from consilience.trust._view_costs import view_cost_curve

__all__ = [
    "ConformalClassifier",
    "PatternReliabilityDisplay",
    "RobustPoolingClassifier",
    "SelectiveClassifier",
    "SuspectsDisplay",
    "ViewConflictDisplay",
    "ViewCostDisplay",
    "find_label_errors",
    "find_mismatched_samples",
    "next_view",
    "view_cost_curve",
    "view_opinions",
]
