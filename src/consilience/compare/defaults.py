"""What a comparison does unless it is told otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from consilience.benchmark.recipes import RECIPES

__all__ = ["DEFAULT_METHODS", "METRICS", "TUNING_GRIDS", "disable_scaling", "incompatibility"]

# fusion baselines, strong plain ones, and the papers' methods
DEFAULT_METHODS = (
    "Consilience",
    "Early fusion",
    "Late fusion",
    "Stacking fusion",
    "Best view",
    "ExtraTrees",
    "HistGradientBoosting",
    "Early+SVM",
    "SVM+Late",
    "MwMvC2",
    "MuMBo",
    "rShareBoost",
    "SMVMED",
    "MVL-SVM",
    "MKL",
)

METRICS = ("accuracy", "balanced_accuracy", "f1", "log_loss", "roc_auc")

# for --tune; names as in the engine's settings, the last step of a pipeline needs no name.
# The default classifier is not here: it chooses its own parameters in fit.
DEPTHS = {"max_depth": [1, 3, 5]}
LEAVES = {"estimator__min_samples_leaf": [1, 3, 10]}
LOGISTIC = {"estimator__C": [0.01, 0.1, 1.0, 10.0]}
MARGIN = [0.01, 0.1, 1.0, 10.0]
NAIVE_BAYES = {"estimator__gaussiannb__var_smoothing": [1e-9, 1e-4, 1e-2]}
ROUNDS = {"estimator__n_estimators": [50, 150, 450]}
REGULARISATION = [0.0001, 0.01, 1.0]
SVM_C = [0.1, 1.0, 10.0, 100.0]
SVM = {"estimator__svc__C": SVM_C}
PLAIN_SVM = {"estimator__C": SVM_C}
KERNEL_SVM = {"C": SVM_C}
BOOSTED = "estimator__histgradientboostingclassifier"
TUNING_GRIDS: dict[str, dict[str, list[Any]]] = {
    **dict.fromkeys(("Best view", "Early fusion", "Late fusion", "Stacking fusion"), LOGISTIC),
    **dict.fromkeys(("ExtraTrees", "RandomForest", "Mapped ExtraTrees"), LEAVES),
    **dict.fromkeys(("ExtraTrees votes", "RandomForest votes"), LEAVES),
    **dict.fromkeys(("Mapped early fusion", "Mapped late fusion"), LOGISTIC),
    "HistGradientBoosting": {
        f"{BOOSTED}__learning_rate": [0.03, 0.1],
        f"{BOOSTED}__max_leaf_nodes": [7, 31],
    },
    **dict.fromkeys(("Mono", "Concat", "Fusion", "MV-MV", "rBoost.SH"), LEAVES),
    **dict.fromkeys(("SVMs", "Mapped SVM"), PLAIN_SVM),
    **dict.fromkeys(("SVM-MV", "Stacking", "Early+SVM", "SVM+Late"), SVM),
    **dict.fromkeys(("Early+AdaBoost", "AdaBoost-Ca", "AdaBoost-MV"), ROUNDS),
    **dict.fromkeys(("ShareBoost-NB", "rShareBoost-NB", "iBoost-NB"), NAIVE_BAYES),
    "MwMvC2": {"max_depth": [None, 3, 6], "n_iter": [2, 10]},
    "MuMBo": {**DEPTHS, "learning_rate": [0.3, 1.0]},
    **dict.fromkeys(("ShareBoost", "rShareBoost", "iBoost", "MVWAB"), DEPTHS),
    "SMVMED": {"c": MARGIN, "alpha": [0.1, 0.5, 0.9]},
    "MVMED": {"c": MARGIN},
    "AMVMED": {"c": MARGIN},
    "SVM-2K": {"C": [0.01, 0.1, 1.0], "D": [0.01, 0.1, 1.0]},
    "MVL-SVM": {"C": [10.0, 100.0, 1000.0, 10000.0]},
    **dict.fromkeys(("Sum of kernels", "Mapped sum of kernels", "MKL"), KERNEL_SVM),
    "MVML": {"reg": REGULARISATION},
    "MVMLsp": {"reg": REGULARISATION},
}


def incompatibility(method: str, kinds: Mapping[str, str], metric: str) -> str:
    """Why a method cannot be compared on views of these kinds by this metric; empty if it can."""
    recipe = RECIPES[method]
    for view, kind in kinds.items():
        if kind not in recipe.kinds:
            return f"it takes columns of features, and {view!r} is a {kind} matrix"
    if metric == "log_loss" and not recipe.has_probabilities:
        return "it has no probabilities, which log_loss needs"
    return ""


def disable_scaling(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Settings of methods that scale all views, for data with views that have no columns."""
    return {
        method: {"viewtransformer": "passthrough"}
        for method in methods
        if "viewtransformer" in RECIPES[method].build(None).get_params()
    }
