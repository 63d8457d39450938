"""Names of types in the schema of a model file, and consent to types of other packages.

The schema (``schema.json`` of skops) is a tree of nodes, each with the module and name of a type.
In a file the types of consilience have their public names; in memory, for skops, their import
paths. ``_model_bounds.schema_nodes`` lists the nodes; any of their values may be hostile.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from consilience._model_types import import_path, public_name, resolve

__all__ = [
    "can_be_trusted",
    "check_trusted",
    "to_import_paths",
    "to_public_names",
    "untrusted_types",
]

# trust in one of these would let a file call almost anything; the types that models need of them
# are trusted already
PACKAGES_NEVER_TRUSTED = {
    *sys.stdlib_module_names,
    "consilience",
    "joblib",
    "numpy",
    "scipy",
    "skops",
    "sklearn",
}


def to_public_names(nodes: Iterable[dict[str, Any]]) -> set[str]:
    """Replace the import paths of our types by public names, and return the paths.

    LookupError if a type has no public name.
    """
    paths = set()
    for node in own_nodes(nodes):
        path = f"{node['__module__']}.{node.get('__class__')}"
        node["__module__"], _, node["__class__"] = public_name(path).rpartition(".")
        paths.add(path)
    return paths


def to_import_paths(nodes: Iterable[dict[str, Any]]) -> set[str]:
    """Replace the public names of our types by import paths, and return the paths.

    LookupError if a name is not a public name, in particular if it is an import path.
    """
    paths = set()
    for node in own_nodes(nodes):
        item = resolve(f"{node['__module__']}.{node.get('__class__')}")
        node["__module__"], node["__class__"] = item.__module__, item.__qualname__
        paths.add(import_path(item))
    return paths


def own_nodes(nodes: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Nodes of a schema that name a type of consilience."""
    for node in nodes:
        module = node.get("__module__")
        if isinstance(module, str) and module.partition(".")[0] == "consilience":
            yield node


def check_trusted(trusted: Iterable[str]) -> tuple[str, ...]:
    """Names of modules and types that the caller trusts, validated."""
    if isinstance(trusted, str):
        raise TypeError(f"trusted must be a list of names, got the string {trusted!r}")
    names = tuple(trusted)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"trusted must contain names of modules or types, got {name!r}")
        if not can_be_trusted(name):
            raise ValueError(
                "trusted must contain names of modules or types of other packages than the "
                "standard library, consilience, scikit-learn, NumPy and SciPy (what models need "
                f"of these is trusted already), got {name!r}"
            )
    return names


def can_be_trusted(name: str) -> bool:
    """Whether a caller may trust a module or type with this name."""
    parts = name.split(".")
    return all(part.isidentifier() for part in parts) and parts[0] not in PACKAGES_NEVER_TRUSTED


def untrusted_types(types: Iterable[str], trusted: tuple[str, ...]) -> list[str]:
    """Those of the foreign types that the caller does not trust.

    Trust in a module covers the classes that are defined in it. Functions, and what the module
    imports from elsewhere, must be trusted by their full names, because a file can make skops call
    whatever is trusted. Only modules that are trusted are imported.
    """
    return sorted(
        name
        for name in types
        if name not in trusted
        and not (any(name.startswith(f"{each}.") for each in trusted) and is_own_class(name))
    )


def is_own_class(name: str) -> bool:
    """Whether a dotted name is that of a class where it is defined."""
    if "__main__" in name.split(".")[1:]:  # whose import runs a program
        return False
    try:
        item = pkgutil.resolve_name(name)
    except (AttributeError, ValueError):
        return False
    return isinstance(item, type) and import_path(item) == name
