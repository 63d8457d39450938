"""Handling of the user's own scikit-learn classifiers: weights, seeds, errors that say where."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

__all__ = [
    "ConstantClassifier",
    "LabelEncodedClassifier",
    "check_classifier",
    "fit_label_encoded",
    "fit_weighted",
    "last_step",
    "takes_weight",
    "with_seed",
    "with_seeds",
]


def check_classifier(estimator: Any, where: str) -> None:
    """Refuse what is no classifier, or decides between pairs of classes."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type) or not is_classifier(estimator):
        raise ValueError(f"a classifier is needed on {where}, got {estimator!r}")
    last = last_step(estimator)
    if getattr(last, "decision_function_shape", "ovr") == "ovo":
        raise ValueError(
            f"{type(last).__name__} on {where} has decision_function_shape='ovo', a score for each "
            "pair of classes; use 'ovr', a score for each class"
        )


def last_step(estimator: Any) -> Any:
    """The classifier at the end of a pipeline, or the estimator itself."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def fit_weighted(estimator: Any, X: Any, y: Any, weight: np.ndarray, where: str) -> Any:
    """Fit a clone; weights go to every step that takes them and are left out if all are 1."""
    check_classifier(estimator, where)
    fitted = clone(estimator)
    params = {} if (weight == 1).all() else weight_params(fitted, weight, where)
    try:
        return fitted.fit(X, y, **params)
    except Exception as error:
        error.add_note(f"raised by {type(estimator).__name__} on {where}")
        raise


@dataclass(eq=False)
class LabelEncodedClassifier:
    """A fitted classifier that answers with class codes, in the storage it was fitted on."""

    estimator: Any
    classes: np.ndarray
    sparse: bool

    def predict(self, X: Any) -> np.ndarray:
        """Class codes of the rows."""
        if self.sparse != sp.issparse(X):
            X = sp.csr_array(X) if self.sparse else X.toarray()
        return np.searchsorted(self.classes, self.estimator.predict(X))


@dataclass(eq=False)
class ConstantClassifier:
    """Says one class: all that rows of a single class can teach."""

    code: int

    def predict(self, X: Any) -> np.ndarray:
        """The same class code for every row."""
        return np.full(X.shape[0], self.code)


def fit_label_encoded(
    estimator: Any, X: Any, codes: np.ndarray, weight: np.ndarray, classes: np.ndarray, where: str
) -> Any:
    """Fit a clone on labels ``classes[codes]``; rows of one class, or none, give a constant."""
    if isinstance(estimator, FrozenEstimator):
        unknown = [label for label in estimator.classes_ if label not in classes]
        if unknown:
            raise ValueError(f"the frozen classifier on {where} knows other classes: {unknown}")
        return LabelEncodedClassifier(estimator, classes, sp.issparse(X))
    check_classifier(estimator, where)
    if len(codes) == 0 or (codes == codes[0]).all():
        return ConstantClassifier(int(codes[0]) if len(codes) else 0)
    fitted = fit_weighted(estimator, X, classes[codes], weight, where)
    return LabelEncodedClassifier(fitted, classes, sp.issparse(X))


def weight_params(estimator: Any, weight: np.ndarray, where: str) -> Any:
    """Arguments of ``fit`` that carry the weights, or an error if the classifier takes none."""
    if not takes_weight(estimator):
        raise ValueError(
            "sample_weight or class_weight was given, but "
            f"{type(last_step(estimator)).__name__} on {where} does not take sample_weight"
        )
    return _nested_params(estimator, weight)


def _nested_params(estimator: Any, weight: np.ndarray) -> Any:
    if not isinstance(estimator, Pipeline) or get_config()["enable_metadata_routing"]:
        return {"sample_weight": weight}
    return {
        f"{name}__{key}": value
        for name, step in estimator.steps
        if takes_weight(step)
        for key, value in _nested_params(step, weight).items()
    }


def takes_weight(estimator: Any) -> Any:
    """Whether ``fit`` takes sample_weight: of a pipeline its last step, of a search its inside."""
    if not hasattr(estimator, "fit"):
        return False
    if isinstance(estimator, Pipeline):
        return takes_weight(estimator.steps[-1][1])
    parameters = inspect.signature(estimator.fit).parameters.values()
    if any(p.name == "sample_weight" for p in parameters):
        return True
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        return False
    if get_config()["enable_metadata_routing"]:
        return True
    inner = getattr(estimator, "estimator", None)
    if hasattr(estimator, "refit"):  # a search hands its arguments on, which pipelines refuse
        return not isinstance(inner, Pipeline) and takes_weight(inner)
    return inner is None


def with_seeds(estimators: Any, random_state: Any) -> Any:
    """Clones with every ``random_state`` left None set from ``random_state``, if that is given."""
    if random_state is None:
        return estimators
    rng = check_random_state(random_state)
    seeds = rng.randint(np.iinfo(np.int32).max, size=len(estimators))
    return {
        name: with_seed(estimator, int(seed))
        for (name, estimator), seed in zip(estimators.items(), seeds, strict=True)
    }


def with_seed(estimator: Any, seed: int) -> Any:
    if estimator is None:
        return None
    estimator = clone(estimator)
    params = estimator.get_params(deep=True)
    unset = [
        key
        for key, value in params.items()
        if value is None and (key == "random_state" or key.endswith("__random_state"))
    ]
    return estimator.set_params(**dict.fromkeys(unset, seed)) if unset else estimator
