"""Defaults of a comparison: methods, metrics and tuning grids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from consilience.benchmark.recipes import RECIPES

__all__ = ["DEFAULT_METHODS", "METRICS", "TUNING_GRIDS", "disable_scaling", "incompatibility"]

# fusion baselines, strong general-purpose classifiers, and methods from papers
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

# for --tune; the last step of a pipeline need not be named (see tasks.parameter_name).
# The default classifier is not listed, since it chooses its own parameters in fit.
DEPTH_GRID = {"max_depth": [1, 3, 5]}
LEAF_SIZE_GRID = {"estimator__min_samples_leaf": [1, 3, 10]}
LOGISTIC_GRID = {"estimator__C": [0.01, 0.1, 1.0, 10.0]}
MARGIN_C = [0.01, 0.1, 1.0, 10.0]
NAIVE_BAYES_GRID = {"estimator__gaussiannb__var_smoothing": [1e-9, 1e-4, 1e-2]}
ROUNDS_GRID = {"estimator__n_estimators": [50, 150, 450]}
REGULARIZATION = [0.0001, 0.01, 1.0]
SVM_C = [0.1, 1.0, 10.0, 100.0]
SCALED_SVM_GRID = {"estimator__svc__C": SVM_C}
SVM_GRID = {"estimator__C": SVM_C}
KERNEL_SVM_GRID = {"C": SVM_C}
HIST_BOOSTING = "estimator__histgradientboostingclassifier"
TUNING_GRIDS: dict[str, dict[str, list[Any]]] = {
    **dict.fromkeys(("Best view", "Early fusion", "Late fusion", "Stacking fusion"), LOGISTIC_GRID),
    **dict.fromkeys(("ExtraTrees", "RandomForest", "Mapped ExtraTrees"), LEAF_SIZE_GRID),
    **dict.fromkeys(("ExtraTrees votes", "RandomForest votes"), LEAF_SIZE_GRID),
    **dict.fromkeys(("Mapped early fusion", "Mapped late fusion"), LOGISTIC_GRID),
    "HistGradientBoosting": {
        f"{HIST_BOOSTING}__learning_rate": [0.03, 0.1],
        f"{HIST_BOOSTING}__max_leaf_nodes": [7, 31],
    },
    **dict.fromkeys(("Mono", "Concat", "Fusion", "MV-MV", "rBoost.SH"), LEAF_SIZE_GRID),
    **dict.fromkeys(("SVMs", "Mapped SVM"), SVM_GRID),
    **dict.fromkeys(("SVM-MV", "Stacking", "Early+SVM", "SVM+Late"), SCALED_SVM_GRID),
    **dict.fromkeys(("Early+AdaBoost", "AdaBoost-Ca", "AdaBoost-MV"), ROUNDS_GRID),
    **dict.fromkeys(("ShareBoost-NB", "rShareBoost-NB", "iBoost-NB"), NAIVE_BAYES_GRID),
    "MwMvC2": {"max_depth": [None, 3, 6], "n_iter": [2, 10]},
    "MuMBo": {**DEPTH_GRID, "learning_rate": [0.3, 1.0]},
    **dict.fromkeys(("ShareBoost", "rShareBoost", "iBoost", "MVWAB"), DEPTH_GRID),
    "SMVMED": {"c": MARGIN_C, "alpha": [0.1, 0.5, 0.9]},
    "MVMED": {"c": MARGIN_C},
    "AMVMED": {"c": MARGIN_C},
    "SVM-2K": {"C": [0.01, 0.1, 1.0], "D": [0.01, 0.1, 1.0]},
    "MVL-SVM": {"C": [10.0, 100.0, 1000.0, 10000.0]},
    **dict.fromkeys(("Sum of kernels", "Mapped sum of kernels", "MKL"), KERNEL_SVM_GRID),
    "MVML": {"reg": REGULARIZATION},
    "MVMLsp": {"reg": REGULARIZATION},
}


def incompatibility(method: str, kinds: Mapping[str, str], metric: str) -> str:
    """Reason why a method cannot handle views of these kinds or this metric; empty if it can."""
    recipe = RECIPES[method]
    for view, kind in kinds.items():
        if kind not in recipe.kinds:
            return f"the view {view!r} is a {kind} matrix, and only feature columns are supported"
    if metric == "log_loss" and not recipe.has_probabilities:
        return "log_loss needs probabilities, which are not available"
    return ""


def disable_scaling(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Settings that turn off the scaling of views, which kernel and distance views cannot have."""
    return {
        method: {"viewtransformer": "passthrough"}
        for method in methods
        if "viewtransformer" in RECIPES[method].build(None).get_params()
    }
