"""Fitting of user-provided scikit-learn classifiers: weights, seeds, errors that name the view."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import OneToOneFeatureMixin, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import check_random_state, get_tags

from consilience._model_types import model_type

__all__ = [
    "ConstantClassifier",
    "LabelEncodedClassifier",
    "check_classifier",
    "fit_label_encoded",
    "fit_weighted",
    "last_step",
    "takes_nan",
    "takes_weight",
    "views_taking_nan",
    "with_dense_input",
    "with_seed",
    "with_seeds",
]


def check_classifier(estimator: Any, where: str) -> None:
    """Raise an error for anything but a classifier with one score per class."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type) or not is_classifier(estimator):
        raise ValueError(f"the estimator for {where} must be a classifier, got {estimator!r}")
    last = last_step(estimator)
    if getattr(last, "decision_function_shape", "ovr") == "ovo":
        raise ValueError(
            f"{type(last).__name__} on {where} has decision_function_shape='ovo', which is not "
            "supported; use 'ovr'"
        )


def last_step(estimator: Any) -> Any:
    """Return the classifier at the end of a pipeline, or the estimator itself."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def fit_weighted(
    estimator: Any, X: Any, y: Any, weight: np.ndarray, where: str, **attributes: Any
) -> Any:
    """Fit a clone; weights are passed to every step that supports them, unless all are 1.

    ``attributes`` are set before the fit.
    """
    check_classifier(estimator, where)
    fitted = clone(estimator)
    vars(fitted).update(attributes)
    params = {} if (weight == 1).all() else weight_params(fitted, weight, where)
    try:
        return fitted.fit(X, y, **params)
    except Exception as error:
        error.add_note(f"raised by the estimator {type(estimator).__name__} on {where}")
        raise


@model_type("estimators.LabelEncodedClassifier")
@dataclass(eq=False)
class LabelEncodedClassifier:
    """A fitted classifier that predicts class codes, from the storage it was fitted on."""

    estimator: Any
    classes: np.ndarray
    sparse: bool

    def predict(self, X: Any) -> np.ndarray:
        """Class codes of the rows."""
        if self.sparse != sp.issparse(X):
            X = sp.csr_array(X) if self.sparse else X.toarray()
        # some classifiers predict a column
        return np.searchsorted(self.classes, np.ravel(self.estimator.predict(X)))


@model_type("estimators.ConstantClassifier")
@dataclass(eq=False)
class ConstantClassifier:
    """Predicts a constant class, if the training rows have a single class."""

    code: int

    def predict(self, X: Any) -> np.ndarray:
        """The same class code for every row."""
        return np.full(X.shape[0], self.code)


def fit_label_encoded(
    estimator: Any, X: Any, codes: np.ndarray, weight: np.ndarray, classes: np.ndarray, where: str
) -> LabelEncodedClassifier | ConstantClassifier:
    """Fit a clone on labels ``classes[codes]``; with fewer than two classes, a constant."""
    if isinstance(estimator, FrozenEstimator):
        unknown = [label for label in estimator.classes_ if label not in classes]
        if unknown:
            raise ValueError(f"the frozen classifier on {where} has unknown classes: {unknown}")
        return LabelEncodedClassifier(estimator, classes, sp.issparse(X))
    check_classifier(estimator, where)
    if len(codes) == 0 or (codes == codes[0]).all():
        return ConstantClassifier(int(codes[0]) if len(codes) else 0)
    fitted = fit_weighted(estimator, X, classes[codes], weight, where)
    return LabelEncodedClassifier(fitted, classes, sp.issparse(X))


def weight_params(estimator: Any, weight: np.ndarray, where: str) -> dict[str, np.ndarray]:
    """Keyword arguments of ``fit`` for the weights; an error if they are not supported."""
    if not takes_weight(estimator):
        raise ValueError(
            "sample_weight or class_weight was given, but "
            f"{type(last_step(estimator)).__name__} on {where} does not support "
            "sample_weight"
        )
    return _nested_params(estimator, weight)


def _nested_params(estimator: Any, weight: np.ndarray) -> dict[str, np.ndarray]:
    if not isinstance(estimator, Pipeline) or get_config()["enable_metadata_routing"]:
        return {"sample_weight": weight}
    return {
        f"{name}__{key}": value
        for name, step in estimator.steps
        if takes_weight(step)
        for key, value in _nested_params(step, weight).items()
    }


def takes_weight(estimator: Any) -> bool:
    """Return whether ``fit`` (of the last step, or of the searched estimator) has sample_weight."""
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
    if hasattr(estimator, "refit"):  # a search passes it on, but a pipeline does not accept it
        return not isinstance(inner, Pipeline) and takes_weight(inner)
    return inner is None


def views_taking_nan(members: Any, names: Iterable[str]) -> list[str]:
    """Names of the views whose estimators (one for all views, or a dict) support NaN."""
    is_dict = isinstance(members, Mapping)
    return [name for name in names if takes_nan(members.get(name) if is_dict else members)]


def takes_nan(estimator: Any) -> bool:
    """Return whether an estimator, or each of a list or dict of them, supports NaN by its tags.

    A pipeline does if NaN only reaches steps that support it.
    """
    if isinstance(estimator, (list, tuple, Mapping)):
        members = estimator.values() if isinstance(estimator, Mapping) else estimator
        return len(estimator) > 0 and all(takes_nan(member) for member in members)
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        first_imputer = next((k for k, step in enumerate(steps) if not _keeps_nan(step)), None)
        return takes_nan(steps[: None if first_imputer is None else first_imputer + 1])
    if isinstance(estimator, (FeatureUnion, ColumnTransformer)):
        return takes_nan(_parallel_parts(estimator))
    if not hasattr(estimator, "__sklearn_tags__") or isinstance(estimator, type):
        return False
    if isinstance(estimator, FrozenEstimator) or hasattr(estimator, "cv"):
        # searches and calibration pass X on as it is, which their tags do not say
        inner = getattr(estimator, "estimator", None)
        if inner is not None:
            return takes_nan(inner)
    return get_tags(estimator).input_tags.allow_nan


def _keeps_nan(step: Any) -> bool:
    """Return whether a step leaves NaN in place, as scalers and selectors do and imputers do not.

    The last step of a pipeline, which is no transformer, does not pass anything on.
    """
    if isinstance(step, Pipeline):
        return all(_keeps_nan(s) for _, s in step.steps if s not in (None, "passthrough"))
    if isinstance(step, (FeatureUnion, ColumnTransformer)):
        return any(_keeps_nan(part) for part in _parallel_parts(step))
    return not hasattr(step, "transform") or isinstance(
        step, (OneToOneFeatureMixin, SelectorMixin, FunctionTransformer)
    )


def _parallel_parts(union: FeatureUnion | ColumnTransformer) -> list[Any]:
    """Transformers that are applied side by side; "passthrough" is one that does nothing."""
    if isinstance(union, FeatureUnion):
        parts = [part for _, part in union.transformer_list]
    else:
        parts = [*(part for _, part, _ in union.transformers), union.remainder]
    nothing = FunctionTransformer()
    return [nothing if part == "passthrough" else part for part in parts if part != "drop"]


def with_seeds(estimators: dict[str, Any], random_state: Any) -> dict[str, Any]:
    """Clone the estimators and seed each ``random_state`` that is None, unless ours is None."""
    if random_state is None:
        return estimators
    rng = check_random_state(random_state)
    seeds = rng.randint(np.iinfo(np.int32).max, size=len(estimators))
    return {
        name: with_seed(estimator, int(seed))
        for (name, estimator), seed in zip(estimators.items(), seeds, strict=True)
    }


def with_seed(estimator: Any, seed: int) -> Any:
    """Clone an estimator and set each ``random_state`` that is None to ``seed``."""
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


@model_type("estimators.as_dense")
def as_dense(X: Any) -> Any:
    """Convert a sparse matrix to an array."""
    return X.toarray() if sp.issparse(X) else X


def with_dense_input(estimator: Any) -> Pipeline:
    """Precede a classifier that does not support sparse matrices by a conversion."""
    return make_pipeline(FunctionTransformer(as_dense, accept_sparse=True), estimator)
