"""Multi-view boosting: MuMBo, ShareBoost, rShareBoost, iBoost, MVWAB."""

from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from consilience._estimators import with_dense_input
from consilience._method import Method
from consilience.boosting._bounds import (
    exp3p_regret_bound,
    margin_distribution,
    rounds_to_zero_error,
)
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
    "exp3p_regret_bound",
    "margin_distribution",
    "rounds_to_zero_error",
]

DEPTH_GRID = {"max_depth": [1, 3, 5]}
NAIVE_BAYES_GRID = {"estimator__gaussiannb__var_smoothing": [1e-9, 1e-4, 1e-2]}
KOCO, PENG = "Koço & Capponi 2011", "Peng et al. 2011"


def _naive_bayes() -> Pipeline:
    return with_dense_input(GaussianNB())


METHODS = (
    Method(
        "MuMBo",
        "100 rounds of boosting with cooperating views, trees of depth 3",
        KOCO,
        lambda random_state: MuMBoClassifier(random_state=random_state),
        {**DEPTH_GRID, "learning_rate": [0.3, 1.0]},
        in_default_selection=True,
    ),
    Method(
        "ShareBoost",
        "100 rounds of boosting with shared weights, trees of depth 3",
        PENG,
        lambda random_state: ShareBoostClassifier(random_state=random_state),
        DEPTH_GRID,
    ),
    Method(
        "rShareBoost",
        "100 rounds of boosting, one view per round drawn by a bandit, trees of depth 3",
        PENG,
        lambda random_state: RShareBoostClassifier(random_state=random_state),
        DEPTH_GRID,
        in_default_selection=True,
    ),
    Method(
        "iBoost",
        "100 rounds of boosting with separate weights for each view, trees of depth 3",
        PENG,
        lambda random_state: IBoostClassifier(random_state=random_state),
        DEPTH_GRID,
    ),
    Method(
        "MVWAB",
        "100 rounds of AdaBoost over votes of all views, trees of depth 3",
        "Xiao & Guo 2012",
        lambda random_state: MVWABClassifier(random_state=random_state),
        DEPTH_GRID,
    ),
    Method(
        "ShareBoost-NB",
        "150 rounds of ShareBoost with naive Bayes",
        PENG,
        lambda random_state: ShareBoostClassifier(
            _naive_bayes(), n_estimators=150, random_state=random_state
        ),
        NAIVE_BAYES_GRID,
    ),
    Method(
        "rShareBoost-NB",
        "150 rounds of rShareBoost with naive Bayes",
        PENG,
        lambda random_state: RShareBoostClassifier(
            _naive_bayes(), n_estimators=150, random_state=random_state
        ),
        NAIVE_BAYES_GRID,
    ),
    Method(
        "iBoost-NB",
        "150 rounds of iBoost with naive Bayes",
        PENG,
        lambda random_state: IBoostClassifier(
            _naive_bayes(), n_estimators=150, random_state=random_state
        ),
        NAIVE_BAYES_GRID,
    ),
    Method(
        "rBoost.SH",
        "rShareBoost with full decision trees, as in the comparison of the MwMvC2 paper",
        "Goyal et al. 2018",
        lambda random_state: RShareBoostClassifier(
            DecisionTreeClassifier(), random_state=random_state
        ),
        {"estimator__min_samples_leaf": [1, 3, 10]},
    ),
)
