"""What a comparison does unless it is told otherwise."""

from __future__ import annotations

from typing import Any

from consilience.benchmark.recipes import RECIPES

__all__ = ["GRIDS", "METRICS", "default_methods"]

# fusion baselines, strong plain ones, and the papers' methods; those that this version has
METHODS = (
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

# for --tune; names as in the engine's settings, the last step of a pipeline needs no name
GRIDS: dict[str, dict[str, list[Any]]] = {
    "Early+SVM": {"estimator__svc__C": [0.1, 1.0, 10.0, 100.0]},
    "ExtraTrees": {"estimator__min_samples_leaf": [1, 3, 10]},
    "RandomForest": {"estimator__min_samples_leaf": [1, 3, 10]},
    "MuMBo": {"max_depth": [1, 3, 5], "learning_rate": [0.3, 1.0]},
    "ShareBoost": {"max_depth": [1, 3, 5]},
    "rShareBoost": {"max_depth": [1, 3, 5]},
    "SMVMED": {"c": [0.01, 0.1, 1.0, 10.0], "alpha": [0.1, 0.5, 0.9]},
    "MVMED": {"c": [0.01, 0.1, 1.0, 10.0]},
    "SVM-2K": {"C": [0.01, 0.1, 1.0], "D": [0.01, 0.1, 1.0]},
}


def default_methods() -> list[str]:
    """Names of the methods that are compared by default."""
    return [name for name in METHODS if name in RECIPES]
