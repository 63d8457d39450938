"""Bounds on what a model file may contain, checked before skops reads its schema.

In a schema, an object that occurs several times is written in full each time, with the same id,
and skops reads the first. A hostile file could write it once and refer to it, again and again, by
its id: a few hundred bytes that need exponential time, or gigabytes. So all objects with the same
id must have the same size.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from typing import Any
from zipfile import BadZipFile, ZipFile

__all__ = ["check_loaders", "check_members", "schema_nodes", "unpacked_bytes"]

MAX_DEPTH = 100  # of nested objects
Node = dict[str, Any]

BUILTIN_LOADERS = {
    "builtins.dict": "DictNode",
    "collections.OrderedDict": "DictNode",
    "builtins.list": "ListNode",
    "builtins.tuple": "TupleNode",
    "builtins.set": "SetNode",
    "builtins.slice": "SliceNode",
    "builtins.bytes": "BytesNode",
    "numpy.dtype": "DTypeNode",
    "numpy.ndarray": "NdArrayNode",
    "numpy.random._generator.Generator": "RandomGeneratorNode",
    "numpy.random.mtrand.RandomState": "RandomStateNode",
    "sklearn.tree._tree.Tree": "TreeNode",
}
# names of which skops makes types of keys, and scalars of NumPy
PLAIN_TYPES = {f"builtins.{name}" for name in ("bool", "float", "int", "str")}
NUMPY_SCALARS = {
    f"numpy.{name}"
    for name in (
        "bool", "bool_", "float16", "float32", "float64", "int8", "int16", "int32", "int64",
        "str_", "uint8", "uint16", "uint32", "uint64",
    )
}  # fmt: skip


def schema_nodes(schema: Any) -> list[Node]:
    """Objects of a schema, depth first; ValueError if it is nested too deeply or repeats itself."""
    nodes: list[Node] = []
    first: dict[Any, tuple[int, Any]] = {}
    _collect(schema, 0, nodes, first)
    return nodes


def _collect(value: Any, depth: int, nodes: list[Node], first: dict[Any, tuple[int, Any]]) -> int:
    """Append the objects in ``value`` to ``nodes`` and return their number."""
    if depth > 4 * MAX_DEPTH:  # an object may be in a list in a dict
        raise ValueError(f"its objects are nested more than {MAX_DEPTH} deep")
    size = 0
    if isinstance(value, dict):
        is_node = "__loader__" in value
        if is_node:
            nodes.append(value)
            size = 1
        for child in value.values():
            if isinstance(child, (dict, list)):
                size += _collect(child, depth + 1, nodes, first)
        if is_node:
            _check_repetition(value, size, first)
    else:
        for child in value:
            if isinstance(child, (dict, list)):
                size += _collect(child, depth + 1, nodes, first)
    return size


def _check_repetition(node: Node, size: int, first: dict[Any, tuple[int, Any]]) -> None:
    """Check that an object is as large as others with its id."""
    identity = node.get("__id__")
    if identity is None:
        return
    if not isinstance(identity, int):
        raise ValueError(f"an object has the id {identity!r}")
    seen = first.setdefault(identity, (size, node["__loader__"]))
    if seen != (size, node["__loader__"]):
        raise ValueError("it refers to objects instead of containing them")


def check_members(nodes: list[Node], members: Collection[str]) -> None:
    """Check that each object with a member has its own, so that none is read again and again."""
    readers: dict[str, set[Any]] = {}
    for number, node in enumerate(nodes):
        file = node.get("file")
        if file is not None:
            if not isinstance(file, str) or file not in members:
                raise ValueError(f"it lacks the part {file!r}")
            if node["__loader__"] == "SparseMatrixNode" and not file.endswith(".npz"):
                raise ValueError(f"its part {file!r} is not a sparse matrix")
            readers.setdefault(file, set()).add(node.get("__id__", f"number {number}"))
    shared = [file for file, ids in readers.items() if len(ids) > 1]
    if shared:
        raise ValueError(f"several objects share the part {shared[0]}")


def check_loaders(nodes: list[Node], parts: ZipFile) -> None:
    """Check that each type of a known package is created in the way in which ``save`` writes it."""
    for node in nodes:
        name, loader = f"{node.get('__module__')}.{node.get('__class__')}", node["__loader__"]
        if not _is_regular(name, loader):
            raise ValueError(f"it creates {name} by {loader}")
        if loader == "TreeNode":
            _check_tree_arguments(node, parts)


def _is_regular(name: str, loader: Any) -> bool:
    if loader == "JsonNode":
        return True
    if name in BUILTIN_LOADERS:
        return loader == BUILTIN_LOADERS[name]
    if name in NUMPY_SCALARS:
        return loader in ("NdArrayNode", "TypeNode")
    if name in PLAIN_TYPES:
        return loader == "TypeNode"
    package = name.partition(".")[0]
    if name.startswith("scipy.sparse."):
        return loader == "SparseMatrixNode"
    if package in ("consilience", "sklearn"):
        return loader in ("ObjectNode", "FunctionNode", "LossNode")
    if package in ("builtins", "numpy", "scipy"):
        return loader == "FunctionNode"
    return loader not in ("CachedNode", "SparseMatrixNode", "TreeNode")


def _check_tree_arguments(node: Node, parts: ZipFile) -> None:
    """Check the arguments of a tree of scikit-learn: it reads one class count for each output."""
    import numpy as np

    arguments = node["__reduce__"]["args"]["content"]
    _, n_classes, n_outputs = arguments
    if n_outputs.get("__loader__") != "JsonNode" or n_outputs.get("content") != "1":
        raise ValueError("a tree does not have one output")
    array = np.load(io.BytesIO(parts.read(n_classes["file"])), allow_pickle=False)
    if n_classes["__loader__"] != "NdArrayNode" or array.shape != (1,) or not 0 < array[0] < 2**31:
        raise ValueError("a tree does not have one number of classes")


def unpacked_bytes(archive: ZipFile) -> int:
    """Size of everything in an archive, including the sparse matrices, which are archives too."""
    return sum(entry.file_size for entry in archive.infolist()) + sum(_inner_sizes(archive))


def _inner_sizes(archive: ZipFile) -> Iterator[int]:
    for entry in archive.infolist():
        if entry.filename.endswith(".npz"):
            try:
                with archive.open(entry) as file, ZipFile(file) as inner:
                    yield sum(each.file_size for each in inner.infolist())
            except BadZipFile:
                raise ValueError(f"its part {entry.filename} is damaged") from None
