"""Fusion of scikit-learn classifiers: early, late, stacking, and the best single view."""

from sklearn.linear_model import LogisticRegression

from consilience._method import Method
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

LOGISTIC_GRID = {"estimator__C": [0.01, 0.1, 1.0, 10.0]}


def _logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=1000)


METHODS = (
    Method(
        "Best view",
        "logistic regression on the view that is best in cross-validation",
        "baseline",
        lambda random_state: BestViewClassifier(random_state=random_state),
        LOGISTIC_GRID,
        lambda random_state: BestViewClassifier(_logistic(), random_state=random_state),
        preparation="standard",
        in_default_selection=True,
    ),
    Method(
        "Early fusion",
        "logistic regression on the concatenated views",
        "baseline",
        lambda random_state: EarlyFusionClassifier(random_state=random_state),
        LOGISTIC_GRID,
        lambda random_state: EarlyFusionClassifier(_logistic(), random_state=random_state),
        preparation="standard",
        in_default_selection=True,
    ),
    Method(
        "Late fusion",
        "logistic regression per view, mean of the probabilities",
        "baseline",
        lambda random_state: LateFusionClassifier(random_state=random_state),
        LOGISTIC_GRID,
        lambda random_state: LateFusionClassifier(_logistic(), random_state=random_state),
        preparation="standard",
        in_default_selection=True,
    ),
    Method(
        "Stacking fusion",
        "logistic regression per view, combined by another one",
        "baseline",
        lambda random_state: StackingFusionClassifier(random_state=random_state),
        LOGISTIC_GRID,
        lambda random_state: StackingFusionClassifier(_logistic(), random_state=random_state),
        preparation="standard",
        in_default_selection=True,
    ),
)
