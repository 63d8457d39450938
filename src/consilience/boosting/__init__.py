"""Multi-view boosting: MuMBo, ShareBoost, rShareBoost, iBoost, MVWAB."""

from consilience.boosting._iboost import IBoostClassifier
from consilience.boosting._mumbo import MuMBoClassifier
from consilience.boosting._mvwab import MVWABClassifier
from consilience.boosting._rshareboost import RShareBoostClassifier
from consilience.boosting._shareboost import ShareBoostClassifier

__all__ = [
    "IBoostClassifier",
    "MVWABClassifier",
    "MuMBoClassifier",
    "RShareBoostClassifier",
    "ShareBoostClassifier",
]
