"""Forged model files: one precise edit of one array, number or container, with checksums that fit.

``edits(content)`` lists every edit of a file; ``forge(content, edit)`` applies one. Every edit is
described by a tuple of the number of the schema node, what is edited, and how.
"""

import io
import json
import zipfile
from collections.abc import Callable, Iterator

import numpy as np

from consilience._model_archive import MANIFEST, add_manifest

Edit = tuple[int, str, str]
NAN, INF = float("nan"), float("inf")


def read_parts(content: bytes) -> dict[str, bytes]:
    """Members of a model file without the manifest."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != MANIFEST}


def read_manifest(content: bytes) -> dict:
    """Manifest of a model file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read(MANIFEST))


def seal(parts: dict[str, bytes | str], manifest: dict | None = None) -> bytes:
    """An archive of these members with checksums that fit: what an attacker would write."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return add_manifest(buffer.getvalue(), manifest or {"packages": {}})


def nodes(schema) -> Iterator[dict]:
    """Objects of a schema, depth first."""
    if isinstance(schema, dict):
        if "__loader__" in schema:
            yield schema
        for value in schema.values():
            yield from nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes(value)


# -- arrays ------------------------------------------------------------------------------------


def _with_first(array, value):
    array = array.copy()
    array.reshape(-1)[:1] = value
    return array


def _shuffled(array):
    return np.random.default_rng(0).permutation(array.ravel()).reshape(array.shape)


def _fits(dtype, value) -> bool:
    if dtype.kind == "f":
        return True
    if dtype.kind in "iu" and isinstance(value, int):
        return np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    return False


def value_edits(dtype: np.dtype) -> dict[str, Callable]:
    """Edits of elements."""
    edits: dict[str, Callable] = {}
    values = [-1, 0, 1, 7, 2**20, 2**31 - 1, 2**40, -(2**40), 2**63 - 1, NAN, INF, -INF, 1e300]
    for value in values:
        if _fits(dtype, value):
            edits[f"first={value}"] = lambda a, v=value: _with_first(a, v)
            edits[f"all={value}"] = lambda a, v=value: np.full_like(a, v)
    if dtype.kind in "iufb":
        edits["reversed"] = lambda a: a[::-1].copy() if a.ndim else a
        edits["shuffled"] = lambda a: (
            np.random.default_rng(0).permutation(a.ravel()).reshape(a.shape)
        )
    if dtype.kind == "b":
        edits["inverted"] = lambda a: ~a
    return edits


SHAPE_EDITS: dict[str, Callable] = {
    "empty": lambda a: a[:0] if a.ndim else a.reshape(1)[:0],
    "truncated": lambda a: a[:-1] if a.ndim else a.reshape(1),
    "narrow": lambda a: a[..., :-1] if a.ndim else a.reshape(1, 1),
    "doubled": lambda a: np.concatenate([a, a]) if a.ndim else np.stack([a, a]),
    "wide": lambda a: np.concatenate([a, a], axis=-1) if a.ndim else np.stack([a] * 3),
    "transposed": lambda a: a.T if a.ndim > 1 else a.reshape(-1, 1),
    "one": lambda a: a.reshape(-1)[0] if a.size else np.zeros((), a.dtype),
    "no columns": lambda a: np.zeros((2**20, 0), a.dtype),
}
TYPE_EDITS: dict[str, Callable] = {
    f"as {name}": lambda a, d=dtype: a.astype(d)
    for name, dtype in {
        "float64": "f8", "float32": "f4", "int64": "i8", "int8": "i1", "uint64": "u8",
        "bool": "?", "complex": "c16", "text": "U8", "big-endian": ">f8", "half": "f2",
        "date": "M8[s]",
    }.items()
}  # fmt: skip


def array_edits(array: np.ndarray) -> dict[str, Callable]:
    """All edits of one array."""
    edits = dict(SHAPE_EDITS)
    if array.dtype.names:
        for field in array.dtype.names:
            for name, edit in value_edits(array.dtype[field]).items():
                edits[f"{field}: {name}"] = lambda a, f=field, e=edit: _edit_field(a, f, e)
        edits["as bytes"] = lambda a: np.frombuffer(a.tobytes(), np.uint8)
        edits["one field"] = lambda a: a[[a.dtype.names[0]]].copy()
        return edits
    return {**edits, **value_edits(array.dtype), **TYPE_EDITS}


def _edit_field(array, field, edit):
    array = array.copy()
    array[field] = edit(array[field])
    return array


def _to_npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _from_npy(content: bytes) -> np.ndarray:
    return np.load(io.BytesIO(content), allow_pickle=False)


def _huge_header(content: bytes) -> bytes:
    """The header of an array of 2⁴⁰ elements before the data of a small one."""
    array = _from_npy(content)
    buffer = io.BytesIO()
    header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False}
    np.lib.format.write_array_header_1_0(buffer, {**header, "shape": (2**40,)})
    return buffer.getvalue() + array.tobytes()


def _read_npz(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


def _to_npz(arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


# -- numbers and containers ---------------------------------------------------------------------

JSON_VALUES = [
    "null", "true", "false", "-1", "0", "1", "7", str(2**40), "1e300", "NaN", "Infinity", "1.5",
    "1e-300", '""', '"x"', "[]", "{}", "[1, 2, 3]", '"precomputed"', "9" * 400,
]  # fmt: skip
LIST_EDITS: dict[str, Callable] = {
    "empty": lambda items: [],
    "without last": lambda items: items[:-1],
    "without first": lambda items: items[1:],
    "reversed": lambda items: items[::-1],
    "doubled": lambda items: items + items,
    "first everywhere": lambda items: items[:1] * len(items),
}


def edits(content: bytes) -> list[Edit]:
    """Every edit of a file."""
    parts = read_parts(content)
    found: list[Edit] = []
    for number, node in enumerate(nodes(json.loads(parts["schema.json"]))):
        loader = node["__loader__"]
        if "file" in node and node["file"].endswith(".npy"):
            names = array_edits(_from_npy(parts[node["file"]]))
            found += [(number, "array", name) for name in [*names, "huge"]]
        elif "file" in node and node["file"].endswith(".npz"):
            for key, array in _read_npz(parts[node["file"]]).items():
                found += [(number, f"sparse {key}", name) for name in array_edits(array)]
        elif loader == "JsonNode":
            found += [(number, "json", value) for value in JSON_VALUES]
        elif loader == "DictNode":
            found += [(number, "dict", name) for name in node["content"]]
        elif isinstance(node.get("content"), list):
            found += [(number, "list", name) for name in LIST_EDITS]
        elif loader in ("ObjectNode", "TreeNode"):
            found += [(number, "object", "without state")]
    return found


def forge(content: bytes, edit: Edit, trials: bool = True) -> bytes | None:
    """The file with one edit; None if it would be the same file or the edit is impossible.

    Without ``trials`` the manifest also says that the model passes no trial.
    """
    number, kind, name = edit
    parts = read_parts(content)
    schema = json.loads(parts["schema.json"])
    node = list(nodes(schema))[number]
    before = _content(parts, node)
    try:
        _apply(parts, node, kind, name)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    if before == _content(parts, node):
        return None
    manifest = {"packages": {}, "trials": read_manifest(content)["trials"] if trials else []}
    return seal({**parts, "schema.json": json.dumps(schema)}, manifest)


def _content(parts, node):
    return parts.get(node.get("file", "")), json.dumps(node.get("content"))


def _apply(parts, node, kind, name) -> None:
    file = node.get("file", "")
    if kind == "array" and name == "huge":
        parts[file] = _huge_header(parts[file])
    elif kind == "array":
        array = _from_npy(parts[file])
        parts[file] = _to_npy(array_edits(array)[name](array))
    elif kind.startswith("sparse "):
        arrays = _read_npz(parts[file])
        key = kind.removeprefix("sparse ")
        arrays[key] = array_edits(arrays[key])[name](arrays[key])
        parts[file] = _to_npz(arrays)
    elif kind == "json":
        node.update(content=name, __id__=1)  # equal values elsewhere share the id and stay
    elif kind == "dict":
        position = list(node["content"]).index(name)
        del node["content"][name]
        del node["key_types"]["content"][position]
    elif kind == "list":
        node["content"] = LIST_EDITS[name](node["content"])
    elif "content" in node:
        node["content"] = {
            "__class__": "dict", "__module__": "builtins", "__loader__": "DictNode", "content": {},
            "key_types": {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode",
                          "content": []},
        }  # fmt: skip
