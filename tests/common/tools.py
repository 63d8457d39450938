"""scikit-learn tools, each a function of (estimator, X, y) that must end in finite numbers."""

import pickle

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, SelectFromModel, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils import resample, shuffle


def grid(est):
    """A parameter that every classifier of its kind has, with two values."""
    if "class_weight" in est.get_params():
        return {"class_weight": [None, "balanced"]}
    if "n_estimators" in est.get_params():
        return {"n_estimators": [3, 5]}
    if "n_components" in est.get_params():
        return {"n_components": [1, 2]}
    return {"cv": [2, 3]}


def fitted(model, X, y):
    return model.fit(X, y).predict(X)


def train_test(est, X, y):
    X_train, X_test, y_train, _ = train_test_split(X, y, random_state=0)
    return est.fit(X_train, y_train).predict(X_test)


def two_targets(est, X, y, model):
    return model(est).fit(X, np.column_stack([y, 1 - y])).predict(X)


def half_labelled(est, X, y):
    y = np.where(np.arange(len(y)) % 3 == 0, -1, y)
    return fitted(SelfTrainingClassifier(est), X, y)


def copied(est, X, y):
    return pickle.loads(pickle.dumps(clone(est).fit(X, y))).predict(X)


def shuffled(est, X, y):
    return fitted(est, *shuffle(X, y, random_state=0))


def bootstrapped(est, X, y):
    return fitted(est, *resample(X, y, random_state=0))


def curve(est, X, y):
    ((name, values),) = grid(est).items()
    return validation_curve(
        est, X, y, cv=3, param_name=name, param_range=values, error_score="raise"
    )[1]


TOOLS = {
    "fit": lambda est, X, y: fitted(est, X, y),
    "clone and pickle": copied,
    "scorer": lambda est, X, y: get_scorer("neg_log_loss")(est.fit(X, y), X, y),
    "train_test_split": train_test,
    "shuffle": shuffled,
    "resample": bootstrapped,
    "cross_val_score": lambda est, X, y: cross_val_score(est, X, y, cv=3, error_score="raise"),
    "cross_validate": lambda est, X, y: cross_validate(est, X, y, cv=3, error_score="raise")[
        "test_score"
    ],
    "cross_val_predict": lambda est, X, y: cross_val_predict(
        est, X, y, cv=3, method="predict_proba"
    ),
    "learning_curve": lambda est, X, y: learning_curve(
        est, X, y, cv=3, train_sizes=[0.5, 1.0], error_score="raise"
    )[2],
    "validation_curve": curve,
    "permutation_test_score": lambda est, X, y: permutation_test_score(
        est, X, y, cv=3, n_permutations=2, random_state=0
    )[1],
    "GridSearchCV": lambda est, X, y: fitted(
        GridSearchCV(est, grid(est), cv=3, error_score="raise"), X, y
    ),
    "RandomizedSearchCV": lambda est, X, y: fitted(
        RandomizedSearchCV(est, grid(est), n_iter=2, cv=3, error_score="raise", random_state=0),
        X,
        y,
    ),
    "HalvingGridSearchCV": lambda est, X, y: fitted(
        HalvingGridSearchCV(est, grid(est), cv=3, error_score="raise", random_state=0), X, y
    ),
    "Pipeline": lambda est, X, y: fitted(make_pipeline("passthrough", est), X, y),
    "CalibratedClassifierCV": lambda est, X, y: fitted(CalibratedClassifierCV(est, cv=3), X, y),
    "TunedThresholdClassifierCV": lambda est, X, y: fitted(
        TunedThresholdClassifierCV(est, cv=3), X, y
    ),
    "FixedThresholdClassifier": lambda est, X, y: fitted(FixedThresholdClassifier(est), X, y),
    "FrozenEstimator": lambda est, X, y: fitted(FrozenEstimator(est.fit(X, y)), X, y),
    "VotingClassifier": lambda est, X, y: fitted(
        VotingClassifier([("a", est), ("b", est)], voting="soft"), X, y
    ),
    "StackingClassifier": lambda est, X, y: fitted(
        StackingClassifier([("a", est)], LogisticRegression(), cv=3), X, y
    ),
    "BaggingClassifier": lambda est, X, y: fitted(
        BaggingClassifier(est, n_estimators=3, random_state=0), X, y
    ),
    "AdaBoostClassifier": lambda est, X, y: fitted(
        AdaBoostClassifier(est, n_estimators=3, random_state=0), X, y
    ),
    "OneVsRestClassifier": lambda est, X, y: fitted(OneVsRestClassifier(est), X, y),
    "OneVsOneClassifier": lambda est, X, y: fitted(OneVsOneClassifier(est), X, y),
    "OutputCodeClassifier": lambda est, X, y: fitted(
        OutputCodeClassifier(est, random_state=0), X, y
    ),
    "MultiOutputClassifier": lambda est, X, y: two_targets(est, X, y, MultiOutputClassifier),
    "ClassifierChain": lambda est, X, y: two_targets(est, X, y, ClassifierChain),
    "SelfTrainingClassifier": half_labelled,
    "permutation_importance": lambda est, X, y: permutation_importance(
        est.fit(X, y), X, y, n_repeats=2, random_state=0
    )["importances"],
    "SelectFromModel": lambda est, X, y: (
        SelectFromModel(est, importance_getter=lambda e: np.arange(e.n_features_in_))
        .fit(X, y)
        .get_support()
    ),
    "RFE": lambda est, X, y: RFE(est, importance_getter=lambda e: e.view_weights_).fit(X, y),
    "SequentialFeatureSelector": lambda est, X, y: SequentialFeatureSelector(est, cv=2).fit(X, y),
}
