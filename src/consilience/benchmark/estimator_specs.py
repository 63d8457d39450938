"""Estimators and all their settings as plain values, from which tasks are told apart.

What belongs to neither this package nor NumPy, SciPy or scikit-learn, whose versions are recorded
with the results, is described by its code: classes by their source, functions by their byte code.
Arrays are described by a digest of their contents, and so is whatever else cannot be told apart by
its ``repr``.
"""

from __future__ import annotations

import hashlib
import inspect
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

__all__ = ["estimator_spec"]

# packages whose version is recorded with the results, so that their source need not be
VERSIONED_PACKAGES = ("builtins", "consilience", "numpy", "scipy", "sklearn")
DIGEST_LENGTH = 16


def estimator_spec(value: Any) -> Any:
    """Describe an estimator and all its settings by plain values, the same in every process."""
    return _describe(value, ())


def _describe(value: Any, outer: tuple[int, ...]) -> Any:
    """Describe a value; ``outer`` are the ids of what it is part of, and may refer to again."""
    if isinstance(value, BaseEstimator):
        return {
            "class": _name(type(value)),
            **_source_digest(type(value)),
            **_describe_params(value, outer),
        }
    if isinstance(value, dict):
        return {str(k): _describe(v, outer) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_describe(v, outer) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) or sp.issparse(value):
        return _describe_array(value)
    if callable(value):
        return _describe_callable(value, outer)
    if isinstance(value, set | frozenset):  # whose order differs between processes
        return {"set": sorted(map(repr, value))}
    return _describe_other(value)


def _describe_other(value: Any) -> Any:
    """Describe a value by its ``repr``, with a digest of its contents if that may not be all."""
    text = repr(value)
    if _is_versioned(type(value)) and "..." not in text:
        return text
    try:
        digest = joblib.hash(value)
    except Exception:  # what cannot be pickled can neither be digested nor sent to a worker
        return text
    return {"object": _name(type(value)), **_source_digest(type(value)), "digest": digest}


def _describe_params(value: Any, outer: tuple[int, ...]) -> dict[str, Any]:
    params = value.get_params(deep=False)
    return {name: _describe(v, outer) for name, v in sorted(params.items())}


def _describe_array(value: Any) -> Any:
    if sp.issparse(value):
        rows = value.tocsr()
        return {
            "sparse": [_describe_array(part) for part in (rows.data, rows.indices, rows.indptr)],
            "shape": list(value.shape),
        }
    if value.dtype.hasobject:
        return {"array": _describe(value.tolist(), ()), "shape": list(value.shape)}
    content = np.ascontiguousarray(value).tobytes()
    return {"array": value.dtype.str, "shape": list(value.shape), "digest": _digest(content)}


def _describe_callable(value: Any, outer: tuple[int, ...]) -> Any:
    """Describe a class, a function, or an object that can be called."""
    if isinstance(value, partial):
        return {"partial": _describe([value.func, value.args, value.keywords], outer)}
    if isinstance(value, MethodType):
        return {"method": value.__name__, "of": _describe_object(value.__self__, outer)}
    if isinstance(value, FunctionType):
        if _is_versioned(value) or id(value) in outer:
            return _name(value)
        return {"function": _name(value), "code": _function_digest(value, (*outer, id(value)))}
    if isinstance(value, type):
        source = _source_digest(value)
        return {"class": _name(value), **source} if source else _name(value)
    if hasattr(value, "__qualname__"):  # a compiled function
        return f"{getattr(value, '__module__', None)}.{value.__qualname__}"
    return _describe_object(value, outer)


def _describe_object(value: Any, outer: tuple[int, ...]) -> Any:
    """Describe an object by its class and its parameters or attributes."""
    if isinstance(value, BaseEstimator | type):
        return _describe(value, outer)
    if id(value) in outer:
        return _name(type(value))
    inner = (*outer, id(value))
    if hasattr(value, "get_params"):  # such as a kernel of Gaussian processes
        settings = _describe_params(value, inner)
    else:
        settings = _describe(getattr(value, "__dict__", {}), inner)
    return {"object": _name(type(value)), **_source_digest(type(value)), "settings": settings}


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _is_versioned(value: Any) -> bool:
    return (value.__module__ or "").split(".")[0] in VERSIONED_PACKAGES


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]


def _function_digest(function: Any, outer: tuple[int, ...]) -> str:
    """Digest of the byte code of a function, its defaults and the values it encloses."""
    enclosed = [_cell_contents(cell, outer) for cell in function.__closure__ or ()]
    defaults = _describe([function.__defaults__, function.__kwdefaults__], outer)
    return _digest(repr([_code_parts(function.__code__), defaults, enclosed]).encode())


def _cell_contents(cell: Any, outer: tuple[int, ...]) -> Any:
    try:
        contents = cell.cell_contents
    except ValueError:  # not assigned yet
        return "empty"
    return _describe(contents, outer)


def _code_parts(code: CodeType) -> list[Any]:
    """Byte code with its names and constants, but neither its file nor its lines."""
    return [
        code.co_code.hex(),
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        [_constant(value) for value in code.co_consts],
    ]


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _code_parts(value)
    if isinstance(value, frozenset):  # whose order differs between processes
        return sorted(map(repr, value))
    return repr(value)


def _source_digest(cls: type) -> dict[str, str]:
    """Digest of the source code of a class and of its bases from unversioned packages."""
    own = [c for c in cls.__mro__ if not _is_versioned(c)]
    if not own:
        return {}
    return {"source": _digest("\n".join(map(_source, own)).encode())}


def _source(cls: type) -> str:
    """Source code of a class; if there is none, as in an interactive session, its byte code."""
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        functions = {name: getattr(f, "__code__", None) for name, f in vars(cls).items()}
        return "\n".join(
            f"{name} {_code_parts(code)!r}" for name, code in functions.items() if code is not None
        )
