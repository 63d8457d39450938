"""Handling of the user's own scikit-learn classifiers: weights, seeds, errors that say where."""

from __future__ import annotations

import inspect

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

__all__ = ["fit_weighted", "seeded", "takes_weight", "with_seed"]


def fit_weighted(estimator, X, y, weight, where):
    """Fit a clone; weights go to every step that takes them and are left out if all are 1."""
    fitted = clone(estimator)
    params = {} if (weight == 1).all() else _weight_params(fitted, weight, where)
    try:
        return fitted.fit(X, y, **params)
    except Exception as error:
        error.add_note(f"raised by {type(estimator).__name__} on {where}")
        raise


def _weight_params(estimator, weight, where):
    if isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]:
        last = estimator.steps[-1][0]
        names = [name for name, step in estimator.steps if takes_weight(step)]
        if last in names:
            return {f"{name}__sample_weight": weight for name in names}
        estimator = estimator.steps[-1][1]
    elif takes_weight(estimator):
        return {"sample_weight": weight}
    raise ValueError(
        f"sample_weight or class_weight was given, but {type(estimator).__name__} on {where} "
        "does not take sample_weight"
    )


def takes_weight(estimator):
    if not hasattr(estimator, "fit"):
        return False
    parameters = inspect.signature(estimator.fit).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)


def seeded(estimators, random_state):
    """Clones with every ``random_state`` left None set from ``random_state``, if that is given."""
    if random_state is None:
        return estimators
    rng = check_random_state(random_state)
    seeds = rng.randint(np.iinfo(np.int32).max, size=len(estimators))
    return {
        name: with_seed(estimator, int(seed))
        for (name, estimator), seed in zip(estimators.items(), seeds, strict=True)
    }


def with_seed(estimator, seed):
    if estimator is None:
        return None
    estimator = clone(estimator)
    params = estimator.get_params(deep=True)
    unset = [
        key
        for key, value in params.items()
        if value is None and (key == "random_state" or key.endswith("__random_state"))
    ]
    return estimator.set_params(**dict.fromkeys(unset, seed))
