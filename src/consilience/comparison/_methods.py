"""The methods of a comparison, as the user gives them: names, classifiers, records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from consilience.comparison.study import CHANCE
from consilience.methods import METHODS, Method, find_methods, method_from_estimator

__all__ = ["read_methods"]


def read_methods(methods: Any) -> list[Method]:
    """Return the methods that the user means, with unique names."""
    if methods is None:
        return [method for method in METHODS.values() if method.in_default_selection]
    if isinstance(methods, str):
        if methods == "all":
            return list(METHODS.values())
        raise TypeError(f"methods must be a list or a dict, got {methods!r}; write [{methods!r}]")
    if isinstance(methods, Mapping):
        named = [_read_named(name, value) for name, value in methods.items()]
    else:
        named = [_read_unnamed(value) for value in methods]
    if not named:
        raise ValueError("methods is empty")
    names = [method.name for method in named]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(f"two methods are called {repeated[0]!r}; give names with a dict")
    if CHANCE.name in names:
        raise ValueError(f"{CHANCE.name!r} is the name of the chance level; call yours differently")
    return named


def _read_unnamed(value: Any) -> Method:
    if isinstance(value, str):
        return find_methods([value])[0]
    if isinstance(value, Method):
        return value
    if isinstance(value, type):
        raise TypeError(f"methods has the class {value.__name__}; write {value.__name__}()")
    return _read_named(type(value).__name__, value)


def _read_named(name: Any, value: Any) -> Method:
    if not isinstance(name, str) or not name:
        raise TypeError(f"names of methods must be non-empty strings, got {name!r}")
    if isinstance(value, str):
        method = find_methods([value])[0]
        if method.name != name:
            raise ValueError(
                f"{value!r} is the method {method.name!r} and keeps its name; it cannot be {name!r}"
            )
        return method
    if name in METHODS:
        raise ValueError(f"{name!r} is the name of a known method; call yours differently")
    if isinstance(value, Method):
        raise TypeError(f"method {name!r}: give a list of Method records, not a dict")
    return method_from_estimator(name, value)
