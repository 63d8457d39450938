"""Methods by name: ``METHODS``, and records of your own.

Every family of the package declares its records in ``METHODS`` of its ``__init__``; the baselines,
which combine families with classifiers of scikit-learn, are in ``_baselines``. Other packages add
theirs through the entry point group ``consilience.methods``: each entry refers to a ``Method``, a
classifier or a class of classifiers. ``module:Class`` is a name, too, and needs no registration.
"""

from __future__ import annotations

import importlib
import sys
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from consilience._base import MultiViewClassifier
from consilience._estimators import last_step, with_seed
from consilience._method import Method
from consilience._suggest import suggest
from consilience.fusion import EarlyFusionClassifier
from consilience.views import ViewTransformer
from consilience.views._preparation import ViewPreparer

__all__ = [
    "METHODS",
    "Method",
    "find_methods",
    "is_from_main",
    "load_method",
    "method_from_estimator",
    "with_own_methods",
]

ENTRY_POINT_GROUP = "consilience.methods"
SOURCES = (
    "_default",
    "fusion",
    "_baselines",
    "vote",
    "boosting",
    "margin",
    "landmark",
    "kernel",
    "sparse",
)


class MethodRegistry(Mapping[str, Method]):
    """All registered methods by name: those of the package, then those of entry points.

    Names in brackets, ``METHODS["module:Class"]``, are imported on the spot.
    """

    def __init__(self) -> None:
        self._own: dict[str, Method] | None = None
        self._entry_points: dict[str, EntryPoint] = {}
        self._loaded: dict[str, Method] = {}

    def _records(self) -> dict[str, Method]:
        if self._own is None:
            modules = [importlib.import_module(f"consilience.{name}") for name in SOURCES]
            own = {method.name: method for module in modules for method in module.METHODS}
            points = entry_points(group=ENTRY_POINT_GROUP)
            self._entry_points = {point.name: point for point in points if point.name not in own}
            self._own = own
        return self._own

    def __getitem__(self, name: str) -> Method:
        own = self._records()
        if name in own:
            return own[name]
        if name not in self._loaded:
            if name in self._entry_points:
                self._loaded[name] = _load_entry_point(self._entry_points[name])
            elif ":" in name:
                self._loaded[name] = load_method(name)
            else:
                raise KeyError(name)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._records() or name in self._entry_points

    def __iter__(self) -> Iterator[str]:
        return iter([*self._records(), *self._entry_points])

    def __len__(self) -> int:
        return len(self._records()) + len(self._entry_points)


METHODS: Mapping[str, Method] = MethodRegistry()


def with_own_methods(own: Mapping[str, Method]) -> Mapping[str, Method]:
    """Return the registered methods together with ``own``, which come first.

    Examples
    --------
    >>> from consilience.methods import METHODS, with_own_methods
    >>> "Mine" in with_own_methods({"Mine": METHODS["Late fusion"]})
    True
    """
    return ChainMap(dict(own), METHODS)  # type: ignore[arg-type]


def find_methods(names: Iterable[str], methods: Mapping[str, Method] = METHODS) -> list[Method]:
    """Return methods by name (ignoring case, spaces and hyphens) or by ``module:Class``.

    Examples
    --------
    >>> from consilience.methods import find_methods
    >>> [method.name for method in find_methods(["late fusion", "mkl"])]
    ['Late fusion', 'MKL']
    """
    by_name = {_normalize(name): name for name in methods}
    matches, unknown = {}, []
    for name in names:
        if _normalize(name) in by_name:
            method = methods[by_name[_normalize(name)]]
        elif ":" in name:
            method = load_method(name)
        else:
            unknown.append(name)
            continue
        matches[method.name] = method
    if unknown:
        named = ", ".join(f"{name!r}{suggest(name, methods)}" for name in unknown)
        raise ValueError(
            f"unknown method {named}; known are {', '.join(methods)}, or give your own as "
            "module:Class"
        )
    return list(matches.values())


def _normalize(name: str) -> str:
    return name.casefold().translate(str.maketrans("", "", " -_"))


def load_method(name: str) -> Method:
    """Import a method that is given as ``module:Class``.

    Examples
    --------
    >>> from consilience.methods import load_method
    >>> load_method("sklearn.naive_bayes:GaussianNB").preparation
    'standard'
    """
    module_name, _, attribute = name.partition(":")
    try:
        value: Any = importlib.import_module(module_name)
    except Exception as error:  # whatever the module does when it is imported
        raise ValueError(
            f"the method {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise ValueError(f"the module {module_name!r} has no {attribute!r}, given as {name!r}")
        value = getattr(value, part)
    return _as_method(name, value)


def _load_entry_point(point: EntryPoint) -> Method:
    try:
        value = point.load()
    except Exception as error:
        raise ValueError(
            f"the method {point.name!r} of the entry point {point.value!r} cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error
    return _as_method(point.name, value)


def _as_method(name: str, value: Any) -> Method:
    if isinstance(value, Method):
        return replace(value, name=name)
    if isinstance(value, type):
        try:
            value = value()
        except TypeError as error:
            raise ValueError(f"the class of method {name!r} needs arguments: {error}") from None
    return method_from_estimator(name, value)


def method_from_estimator(name: str, estimator: Any) -> Method:
    """Make a record for a classifier.

    Parameters
    ----------
    name : str
        Name of the method.
    estimator : classifier
        A classifier of this package, or one with the attribute ``takes_multiview = True``, gets
        the views as they are. Any other one gets the concatenation of all views, with categories
        encoded, empty cells imputed and columns standardised.

    Returns
    -------
    Method

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from consilience.methods import method_from_estimator
    >>> method_from_estimator("Bayes", GaussianNB()).name
    'Bayes'
    """
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"method {name!r} must be a classifier, got {estimator!r}")
    if not is_classifier(estimator) and not takes_views(estimator):
        raise TypeError(
            f"method {name!r} must be a classifier, but {type(estimator).__name__} is not"
        )
    class_name = type(last_step(estimator)).__name__
    if takes_views(estimator):
        return Method(name, class_name, "own", CloneWithSeed(estimator), preparation="none")
    return Method(
        name,
        f"{class_name} on the concatenated views, columns standardised",
        "own",
        CloneWithSeed(EarlyFusionClassifier(estimator)),
        preparation="standard",
    )


@dataclass(frozen=True)
class CloneWithSeed:
    """Builds clones of an estimator whose ``random_state`` is set wherever it is None."""

    estimator: Any

    def __call__(self, random_state: int | None) -> Any:
        if random_state is None:
            return clone(self.estimator)
        return with_seed(self.estimator, random_state)


def takes_views(estimator: Any) -> bool:
    """Return whether a classifier takes multi-view data."""
    if getattr(estimator, "takes_multiview", False):
        return True
    if isinstance(estimator, Pipeline):
        first = estimator.steps[0][1] if estimator.steps else None
        return takes_views(first) or isinstance(first, ViewTransformer | ViewPreparer)
    inner = getattr(estimator, "estimator", None)  # of a search or a calibration
    is_ours = isinstance(estimator, MultiViewClassifier)
    return is_ours or (inner is not None and takes_views(inner))


def is_from_main(method: Method) -> bool:
    """Return whether a class of the method is defined in ``__main__``, unknown to any worker.

    Examples
    --------
    >>> from consilience.methods import METHODS, is_from_main
    >>> is_from_main(METHODS["Late fusion"])
    False
    """
    if not isinstance(method.build, CloneWithSeed):
        return getattr(method.build, "__module__", None) == "__main__"
    estimator = method.build.estimator
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return any(_is_in_main(part) for part in parts)


def _is_in_main(value: Any) -> bool:
    place = value if callable(value) and hasattr(value, "__qualname__") else type(value)
    return getattr(place, "__module__", None) == "__main__" and "__main__" in sys.modules
