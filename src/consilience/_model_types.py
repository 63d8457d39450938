"""Stable public names of the types in model files.

A model file names each of its types by a public name, such as ``consilience.margin.Machine``, which
does not change when the type moves to another module. ``model_type`` declares the name at the
definition of the type::

    @model_type("margin.Machine")
    class Machine: ...

A type whose public name changes keeps the earlier one as an alias, so that earlier files load::

    @model_type("kernel.Machine", aliases=["margin.Machine"])
    class Machine: ...
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

__all__ = ["import_path", "model_type", "public_name", "resolve"]

T = TypeVar("T", bound=Callable[..., Any])

PUBLIC_PACKAGES = (
    "boosting",
    "fusion",
    "inspection",
    "kernel",
    "landmark",
    "margin",
    "sparse",
    "tables",
    "trust",
    "views",
    "vote",
)
# the modules that define the types with a prefix; nothing else is imported to find a type
MODULES = {
    **{package: (package,) for package in PUBLIC_PACKAGES},
    "": ("_binned_tree", "_default"),
    "core": ("_core.binned",),
    "default": ("_default", "_default._boosted"),
    "estimators": ("_estimators",),
    "kernel_views": ("_kernel_views",),
    "solvers": ("_solvers.kernels",),
    "trust": ("trust", "trust._reference"),
    "views": ("views", "views._maps"),
}
PUBLIC_NAME = re.compile(r"consilience\.(?:([a-z][a-z0-9_]*)\.)?[A-Za-z][A-Za-z0-9_]*", re.ASCII)

# import paths, not objects: a module that is reloaded replaces its types
_PATHS: dict[str, str] = {}  # public name or alias -> import path
_PUBLIC_NAMES: dict[str, str] = {}  # import path -> public name


def model_type(name: str, *, aliases: Iterable[str] = ()) -> Callable[[T], T]:
    """Decorator that gives a class or function its public name in model files.

    Parameters
    ----------
    name : str
        The name after ``consilience.``: where users import it from, such as
        ``"margin.SMVMEDClassifier"``; for an internal part its subpackage and name.
    aliases : iterable of str, default=()
        Names that the type had before; files that contain them can still be loaded.
    """
    names = [f"consilience.{each}" for each in (name, *aliases)]

    def register(item: T) -> T:
        path = import_path(item)
        if "." in item.__qualname__:
            raise ValueError(f"{path} must be defined at the top level of its module")
        if _PUBLIC_NAMES.get(path, names[0]) != names[0]:
            raise ValueError(f"{path} already has the public name {_PUBLIC_NAMES[path]}")
        if package_of(names[0]) not in MODULES:
            raise ValueError(f"the package of {names[0]} is not in MODULES")
        for each in names:
            package_of(each)
            if _PATHS.get(each, path) != path:
                raise ValueError(f"{each} is already the public name of {_PATHS[each]}")
        _PATHS.update(dict.fromkeys(names, path))
        _PUBLIC_NAMES[path] = names[0]
        return item

    return register


def import_path(item: Any) -> str:
    """Module and name of a class or function, as skops writes them."""
    return f"{item.__module__}.{item.__qualname__}"


def public_name(item: Any) -> str:
    """Public name of a class or function, or of an import path; LookupError if it has none."""
    path = item if isinstance(item, str) else import_path(item)
    if path not in _PUBLIC_NAMES:
        raise LookupError(f"{path} has no public name")
    return _PUBLIC_NAMES[path]


def package_of(name: str) -> str:
    """Package part of a public name, "" for ``consilience.Name``; LookupError for other names."""
    match = PUBLIC_NAME.fullmatch(name)
    if match is None:
        raise LookupError(f"{name} is not the public name of a model type")
    return match[1] or ""


def resolve(name: str) -> Any:
    """Class or function with a public name or alias; LookupError if there is none.

    Imports the package of the name and, if the type is no longer there, the other packages that
    define types. Modules outside of consilience are never imported.
    """
    _import_modules(MODULES.get(package_of(name), ()))
    if name not in _PATHS:  # an alias, perhaps of a type that moved to another package
        for modules in MODULES.values():
            try:
                _import_modules(modules)
            except ImportError:  # a package whose extra is not installed
                continue
    if name not in _PATHS:
        raise LookupError(f"{name} is not a model type of this version of consilience")
    module, _, attribute = _PATHS[name].rpartition(".")
    return getattr(sys.modules[module], attribute)


def _import_modules(modules: Iterable[str]) -> None:
    for module in modules:
        importlib.import_module(f"consilience.{module}")
