"""How far a prediction can be trusted, and what to do where it cannot."""

from consilience.trust._conformal import ConformalClassifier
from consilience.trust._opinions import view_opinions
from consilience.trust._robust import RobustPoolingClassifier
from consilience.trust._selective import SelectiveClassifier

__all__ = [
    "ConformalClassifier",
    "RobustPoolingClassifier",
    "SelectiveClassifier",
    "view_opinions",
]
