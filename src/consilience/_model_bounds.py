"""Bounds on what a model file may contain, checked before skops reads its schema.

In a schema, an object that occurs several times is written in full each time, with the same id,
and skops reads the first. A hostile file could write it once and refer to it, again and again, by
its id: a few hundred bytes that need exponential time, or gigabytes. So all objects with the same
id must have the same size.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any
from zipfile import BadZipFile, ZipFile

__all__ = ["check_loaders", "check_members", "schema_nodes", "unpacked_bytes"]

MAX_NPY_HEADER_BYTES = 1024
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
    first: dict[int, tuple[Any, ...]] = {}
    _collect(schema, 0, nodes, first)
    return nodes


def _collect(value: Any, depth: int, nodes: list[Node], first: dict[int, tuple[Any, ...]]) -> int:
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


def _check_repetition(node: Node, size: int, first: dict[int, tuple[Any, ...]]) -> None:
    """Check that an object is as large as others with its id, and a plain value the same."""
    identity, loader = node.get("__id__"), node["__loader__"]
    if identity is None:
        return
    if type(identity) is not int:
        raise ValueError(f"an object has the id {identity!r}")
    description = (size, loader, node.get("content") if loader == "JsonNode" else None)
    if first.setdefault(identity, description) != description:
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
    same: dict[Any, list[Node]] = {}
    for node in nodes:
        if node["__loader__"] != "JsonNode":
            same.setdefault(node.get("__id__"), []).append(node)
    for node in nodes:
        loader = node["__loader__"]
        if loader in ("JsonNode", "TypeNode") and node.get("__class__") == "str":
            continue  # by far the most
        name = f"{node.get('__module__')}.{node.get('__class__')}"
        if not _is_regular(name, str(loader)):
            raise ValueError(f"it creates {name} by {loader}")
        if loader == "TreeNode":
            _check_tree_state(node, same, parts)


@lru_cache(maxsize=1024)
def _is_regular(name: str, loader: str) -> bool:
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


def _check_tree_state(node: Node, same: dict[Any, list[Node]], parts: ZipFile) -> None:
    """Check what the tree of scikit-learn uses without a look at it when it is created.

    That is a class count for each output, and the length of the array of nodes. skops may create
    any object with the same id instead, so all of them are checked.
    """
    for arguments in same[node["__reduce__"]["args"]["__id__"]]:
        _, n_classes, n_outputs = arguments["content"]
        if n_outputs["__loader__"] != "JsonNode" or n_outputs["content"] != "1":
            raise ValueError("a tree must have one output")
        if not all(_is_vector(each, parts, rb"1") for each in same[n_classes["__id__"]]):
            raise ValueError("a tree must have one number of classes")
    for state in same[node["content"]["__id__"]]:
        nodes = state["content"]["nodes"]
        if not all(_is_vector(each, parts, rb"\d+") for each in same[nodes["__id__"]]):
            raise ValueError("the nodes of a tree must be an array")


def _is_vector(node: Node, parts: ZipFile, length: bytes) -> bool:
    """Whether an object is an array of one dimension whose length matches a regular expression."""
    if node["__loader__"] != "NdArrayNode" or node.get("type") != "numpy":
        return False
    with parts.open(node["file"]) as file:
        start = file.read(MAX_NPY_HEADER_BYTES)
    header = start[10 : 10 + int.from_bytes(start[8:10], "little")]
    # the end of the header as NumPy writes it; there could be another shape before a comment
    is_regular = start.startswith(b"\x93NUMPY\x01\x00") and b"#" not in header
    return is_regular and re.search(rb"'shape': \(%s,\), } *\n\Z" % length, header) is not None


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
