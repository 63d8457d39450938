"""Baselines: classifiers of scikit-learn, and AdaBoost, in the roles that papers compare with."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from consilience._estimators import with_dense_input
from consilience._method import Method
from consilience.boosting import ShareBoostClassifier
from consilience.fusion import (
    BestViewClassifier,
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
)
from consilience.kernel import LaplacianCompletion, MKLClassifier, ViewKernels
from consilience.kernel._laplacian import MOST_PRESENT
from consilience.views import ViewTransformer
from consilience.views._maps import ViewMapper

__all__ = ["METHODS"]

GOYAL = "Goyal et al. 2018"
KOCO = "Koço & Capponi 2011"
PENG = "Peng et al. 2011"
ZANTEDESCHI = "Zantedeschi et al. 2018"

LEAF_SIZE_GRID = {"estimator__min_samples_leaf": [1, 3, 10]}
LOGISTIC_GRID = {"estimator__C": [0.01, 0.1, 1.0, 10.0]}
ROUNDS_GRID = {"estimator__n_estimators": [50, 150, 450]}
SVM_C = [0.1, 1.0, 10.0, 100.0]
SVM_GRID = {"estimator__C": SVM_C}
SCALED_SVM_GRID = {"estimator__svc__C": SVM_C}
HIST_BOOSTING = "estimator__histgradientboostingclassifier"
HIST_BOOSTING_GRID: dict[str, list[Any]] = {
    f"{HIST_BOOSTING}__learning_rate": [0.03, 0.1],
    f"{HIST_BOOSTING}__max_leaf_nodes": [7, 31],
}


def _logistic() -> Any:
    return LogisticRegression(max_iter=1000)


def _scaled_svm() -> Any:
    # not centred: it would not change this kernel, and sparse views cannot be centred
    return make_pipeline(StandardScaler(with_mean=False), SVC(gamma="auto"))


def _with_mapped_views(model: Any) -> Any:
    # the same transformation of the views as in the default classifier
    return make_pipeline(ViewTransformer(ViewMapper()), model)


def _kernel_vote(random_state: int | None) -> Any:
    return LateFusionClassifier(SVC(kernel="precomputed"), voting="hard", random_state=random_state)


def _adaboost(n_estimators: int) -> Any:
    # ShareBoost on a single view is AdaBoost
    return ShareBoostClassifier(n_estimators=n_estimators, max_depth=1)


METHODS = (
    Method(
        "ExtraTrees",
        "200 extremely randomised trees on the concatenated views",
        "baseline",
        lambda random_state: EarlyFusionClassifier(
            ExtraTreesClassifier(200), random_state=random_state
        ),
        LEAF_SIZE_GRID,
        in_default_selection=True,
    ),
    Method(
        "RandomForest",
        "random forest of 200 trees on the concatenated views",
        "baseline",
        lambda random_state: EarlyFusionClassifier(
            RandomForestClassifier(200), random_state=random_state
        ),
        LEAF_SIZE_GRID,
    ),
    Method(
        "RandomForest votes",
        "random forest of 200 trees per view, mean of the probabilities",
        "baseline",
        lambda random_state: LateFusionClassifier(
            RandomForestClassifier(200), random_state=random_state
        ),
        LEAF_SIZE_GRID,
    ),
    Method(
        "ExtraTrees votes",
        "200 extremely randomised trees per view, mean of the probabilities",
        "baseline",
        lambda random_state: LateFusionClassifier(
            ExtraTreesClassifier(200), random_state=random_state
        ),
        LEAF_SIZE_GRID,
    ),
    Method(
        "Mapped early fusion",
        "logistic regression on the concatenated views, mapped as by the default",
        "baseline",
        lambda random_state: _with_mapped_views(
            EarlyFusionClassifier(_logistic(), random_state=random_state)
        ),
        LOGISTIC_GRID,
    ),
    Method(
        "Mapped late fusion",
        "logistic regression per view, mapped as by the default, mean of the probabilities",
        "baseline",
        lambda random_state: _with_mapped_views(
            LateFusionClassifier(_logistic(), random_state=random_state)
        ),
        LOGISTIC_GRID,
    ),
    Method(
        "Mapped SVM",
        "RBF SVM on the concatenated views, mapped as by the default",
        "baseline",
        lambda random_state: _with_mapped_views(
            EarlyFusionClassifier(SVC(), random_state=random_state)
        ),
        SVM_GRID,
    ),
    Method(
        "Mapped ExtraTrees",
        "200 extremely randomised trees on the concatenated views, mapped as by the default",
        "baseline",
        lambda random_state: _with_mapped_views(
            EarlyFusionClassifier(ExtraTreesClassifier(200), random_state=random_state)
        ),
        LEAF_SIZE_GRID,
    ),
    Method(
        "Mapped sum of kernels",
        "SVM on the mean of the RBF kernels of the views, mapped as by the default",
        "baseline",
        lambda random_state: _with_mapped_views(MKLClassifier("mean", C=10.0)),
        {"C": SVM_C},
    ),
    Method(
        "HistGradientBoosting",
        "gradient boosting on binned columns of the concatenated views",
        "baseline",
        lambda random_state: EarlyFusionClassifier(
            with_dense_input(HistGradientBoostingClassifier()), random_state=random_state
        ),
        HIST_BOOSTING_GRID,
        in_default_selection=True,
    ),
    Method(
        "Mono",
        "decision tree on the best single view",
        GOYAL,
        lambda random_state: BestViewClassifier(
            DecisionTreeClassifier(), random_state=random_state
        ),
        LEAF_SIZE_GRID,
    ),
    Method(
        "Concat",
        "decision tree on the concatenated views",
        GOYAL,
        lambda random_state: EarlyFusionClassifier(
            DecisionTreeClassifier(), random_state=random_state
        ),
        LEAF_SIZE_GRID,
    ),
    Method(
        "Fusion",
        "decision tree per view on 60 % of the rows, another on their predictions for the rest",
        GOYAL,
        lambda random_state: StackingFusionClassifier(
            DecisionTreeClassifier(),
            final_estimator=DecisionTreeClassifier(),
            cv=0.4,
            random_state=random_state,
        ),
        LEAF_SIZE_GRID,
    ),
    Method(
        "MV-MV",
        "decision tree per view, majority vote",
        GOYAL,
        lambda random_state: LateFusionClassifier(
            DecisionTreeClassifier(), voting="hard", random_state=random_state
        ),
        LEAF_SIZE_GRID,
    ),
    Method(
        "Mono AdaBoost",
        "50 rounds of AdaBoost with stumps on the best single view",
        GOYAL,
        lambda random_state: BestViewClassifier(_adaboost(50), random_state=random_state),
        ROUNDS_GRID,
    ),
    Method(
        "Concat AdaBoost",
        "50 rounds of AdaBoost with stumps on the concatenated views",
        GOYAL,
        lambda random_state: EarlyFusionClassifier(_adaboost(50), random_state=random_state),
        ROUNDS_GRID,
    ),
    Method(
        "Fusion AdaBoost",
        "AdaBoost per view on 60 % of the rows, another on their predictions for the rest",
        GOYAL,
        lambda random_state: StackingFusionClassifier(
            _adaboost(50), final_estimator=_adaboost(50), cv=0.4, random_state=random_state
        ),
        ROUNDS_GRID,
    ),
    Method(
        "MV-MV AdaBoost",
        "50 rounds of AdaBoost with stumps per view, majority vote",
        GOYAL,
        lambda random_state: LateFusionClassifier(
            _adaboost(50), voting="hard", random_state=random_state
        ),
        ROUNDS_GRID,
    ),
    Method(
        "SVMs",
        "RBF SVM per view with gamma = 1 / number of columns, majority vote",
        ZANTEDESCHI,
        lambda random_state: LateFusionClassifier(
            SVC(gamma="auto"), voting="hard", random_state=random_state
        ),
        SVM_GRID,
    ),
    Method(
        "Kernel SVMs",
        "SVM per view on its kernel, RBF or from distances, majority vote",
        ZANTEDESCHI,
        lambda random_state: make_pipeline(ViewKernels(), _kernel_vote(random_state)),
        SVM_GRID,
    ),
    Method(
        "Completed SVMs",
        "the same after Laplacian completion of the kernels by the view that most rows have",
        ZANTEDESCHI,
        lambda random_state: make_pipeline(
            ViewKernels(), LaplacianCompletion(MOST_PRESENT), _kernel_vote(random_state)
        ),
        SVM_GRID,
    ),
    Method(
        "SVM-MV",
        "RBF SVM per scaled view, majority vote",
        PENG,
        lambda random_state: LateFusionClassifier(
            _scaled_svm(), voting="hard", random_state=random_state
        ),
        SCALED_SVM_GRID,
    ),
    Method(
        "Stacking",
        "RBF SVM per scaled view, combined by another SVM",
        PENG,
        lambda random_state: StackingFusionClassifier(
            _scaled_svm(), final_estimator=_scaled_svm(), random_state=random_state
        ),
        SCALED_SVM_GRID,
    ),
    Method(
        "Early+SVM",
        "RBF SVM on the concatenated scaled views",
        KOCO,
        lambda random_state: EarlyFusionClassifier(_scaled_svm(), random_state=random_state),
        SCALED_SVM_GRID,
        in_default_selection=True,
    ),
    Method(
        "SVM+Late",
        "RBF SVM per scaled view, sum of the decision values",
        KOCO,
        lambda random_state: LateFusionClassifier(
            _scaled_svm(), voting="sum", random_state=random_state
        ),
        SCALED_SVM_GRID,
        in_default_selection=True,
    ),
    Method(
        "Early+AdaBoost",
        "100 rounds of AdaBoost with stumps on the concatenated views",
        KOCO,
        lambda random_state: EarlyFusionClassifier(_adaboost(100), random_state=random_state),
        ROUNDS_GRID,
    ),
    Method(
        "AdaBoost-Ca",
        "150 rounds of AdaBoost with stumps on the concatenated views",
        PENG,
        lambda random_state: EarlyFusionClassifier(_adaboost(150), random_state=random_state),
        ROUNDS_GRID,
    ),
    Method(
        "AdaBoost-MV",
        "150 rounds of AdaBoost with stumps per view, majority vote",
        PENG,
        lambda random_state: LateFusionClassifier(
            _adaboost(150), voting="hard", random_state=random_state
        ),
        ROUNDS_GRID,
    ),
)
