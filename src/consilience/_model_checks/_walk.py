"""A walk over every object of a model."""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from consilience._compat import compiled_loss_types, compiled_tree_type
from consilience._model_checks import _own, _sklearn
from consilience._model_checks._arrays import (
    check_array,
    check_random_state,
    check_sparse,
    require,
)
from consilience._model_types import import_path, public_name

__all__ = ["check_model", "public_name_of"]

PLAIN_TYPES = (type(None), bool, int, float, complex, str, bytes, slice)
SEQUENCES = (list, tuple, set, frozenset)
MAX_JOBS = 1024

Children = Iterable[tuple[str, Any]]


def check_model(model: Any, foreign_types: Collection[str] = ()) -> None:
    """Check every object of a model; ValueError names the first that is wrong.

    Parameters
    ----------
    model : estimator
        A model that was loaded, or is to be saved.
    foreign_types : collection of str
        Types of other packages that the caller trusts; their values are not checked.
    """
    is_estimator = isinstance(model, BaseEstimator) or _is_table_model(model)
    require(is_estimator, f"it contains a {type(model).__name__}, not an estimator")
    visited = {id(model)}
    stack: list[tuple[str, Any]] = [(type(model).__name__, model)]
    while stack:
        path, value = stack.pop()
        try:
            children = _check_object(value, foreign_types)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        except (AttributeError, TypeError, KeyError, IndexError, OverflowError) as error:
            raise ValueError(f"{path} is not complete ({error})") from None
        for name, child in children:
            # small values are not worth the memory of a note
            if isinstance(child, PLAIN_TYPES):
                continue
            if id(child) not in visited:
                visited.add(id(child))
                stack.append((f"{path}.{name}", child))


def _is_table_model(model: Any) -> bool:
    return public_name_of(type(model)) == "consilience.tables.TableModel"


def public_name_of(kind: type) -> str:
    """Public name of a type of ours, empty for others."""
    try:
        return public_name(kind)
    except LookupError:
        return ""


def _check_object(value: Any, foreign_types: Collection[str]) -> Children:
    """Check an object and return the objects it consists of."""
    kind = type(value)
    if kind in SEQUENCES:
        return ((str(i), each) for i, each in enumerate(value))
    if kind is dict or kind is OrderedDict:
        return _check_dict(value)
    if kind is np.ndarray:
        check_array(value)
        return enumerate_objects(value) if value.dtype == object else ()
    if isinstance(value, np.generic | np.dtype):
        return ()
    if sp.issparse(value):
        check_sparse(value)
        return ()
    if kind in (np.random.RandomState, np.random.Generator):
        check_random_state(value)
        return ()
    if isinstance(value, type):
        is_plain = issubclass(value, np.generic) or value in (int, float, str, bool)
        require(is_plain, f"the type {value.__name__} cannot be a value")
        return ()
    if isinstance(value, np.ufunc):
        return ()
    return _check_instance(value, kind, foreign_types)


def _check_dict(value: dict) -> Children:
    for key in value:
        require(isinstance(key, (*PLAIN_TYPES, np.generic)), "keys must be plain values")
    return ((str(key), each) for key, each in value.items())


def enumerate_objects(array: np.ndarray) -> Children:
    """Elements of an array of objects."""
    return ((str(i), each) for i, each in enumerate(array.ravel()))


def _check_instance(value: Any, kind: type, foreign_types: Collection[str]) -> Children:
    # names of ours in a file are public ones, which has been checked
    package = (value if kind is types.FunctionType else kind).__module__.partition(".")[0]
    if kind is types.FunctionType:
        is_known = package == "consilience" or import_path(value) in foreign_types
        require(is_known, f"the function {value.__name__} is not supported")
        return ()
    if package == "consilience":
        return _check_own(value, public_name_of(kind))
    if package == "sklearn" or kind in compiled_loss_types():
        return _check_sklearn(value, kind)
    require(import_path(kind) in foreign_types, f"{import_path(kind)} is not supported")
    return vars(value).items() if hasattr(value, "__dict__") else ()


def _check_own(value: Any, name: str) -> Children:
    attributes = vars(value)
    for key, each in attributes.items():
        if key not in _own.NON_FINITE_ATTRIBUTES and not key.endswith("__"):
            _check_finite(key, each)
    if is_dataclass(value):
        missing = [field.name for field in fields(value) if not hasattr(value, field.name)]
        require(not missing, f"{', '.join(missing)} is missing")
    if name in _own.CHECKS:
        _own.CHECKS[name](value)
    _check_parameters(attributes)
    return attributes.items()


def _check_finite(name: str, value: Any) -> None:
    """Check the numbers in an attribute of ours, also in lists and dicts of arrays."""
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind in "fc":
            require(np.isfinite(value).all(), f"{name} is not finite")
    elif isinstance(value, list | tuple):
        for each in value:
            _check_finite(name, each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in _own.NON_FINITE_ATTRIBUTES:
                _check_finite(name, each)


def _check_sklearn(value: Any, kind: type) -> Children:
    if kind is compiled_tree_type():
        _sklearn.check_tree(value)
        return ()
    if kind.__name__ == "TreePredictor":
        _sklearn.check_histogram_tree(value)
    elif not _sklearn.is_internal(kind):
        name = kind.__name__
        require(name in _sklearn.SUPPORTED, f"{name} of scikit-learn is not supported")
        if name in _sklearn.CHECKS and _is_fitted(value):
            _sklearn.CHECKS[name](value)
    attributes = getattr(value, "__dict__", {})
    _check_parameters(attributes)
    return attributes.items()


def _is_fitted(model: Any) -> bool:
    # any fitted attribute counts: a file with only some of them is refused by the check
    return any(
        name.endswith("_") or name.startswith("_")
        for name in vars(model)
        if not name.startswith("__") and name not in ("_sklearn_version", "_metadata_requests")
    )


def _check_parameters(attributes: dict[str, Any]) -> None:
    """Check a parameter that could start any number of threads."""
    n_jobs = attributes.get("n_jobs")
    is_number = n_jobs is None or (type(n_jobs) is int and abs(n_jobs) <= MAX_JOBS)
    require(is_number, f"n_jobs is {n_jobs!r}")
