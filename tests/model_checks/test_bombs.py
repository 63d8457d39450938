"""Small files that would need much time or memory are refused at once."""

import io
import json
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from consilience.fusion import LateFusionClassifier
from consilience.io import ModelFileError, load, save
from model_checks.forge import read_parts, seal

MAX_SECONDS = 1.0
MAX_BYTES = 64 * 2**20


def node(loader, kind, **fields):
    module, _, name = kind.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, **fields}


def array_node(identity, file):
    return node("NdArrayNode", "numpy.ndarray", type="numpy", file=file, __id__=identity)


def list_node(identity, *items):
    return node("ListNode", "builtins.list", content=list(items), __id__=identity)


def schema(content):
    return json.dumps({**content, "protocol": 2, "_skops_version": "0.16.0"})


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def shared_lists():
    """772 bytes compressed: each list contains the one before twice, once by its id."""
    inner = list_node(1)
    for identity in range(2, 60):
        inner = list_node(identity, inner, list_node(identity - 1))
    return {"schema.json": schema(inner)}


def cached_lists():
    inner = list_node(1)
    for identity in range(2, 60):
        cached = node("CachedNode", "builtins.list", __id__=identity - 1)
        inner = list_node(identity, inner, cached)
    return {"schema.json": schema(inner)}


def cycle():
    return {"schema.json": schema(list_node(1, list_node(2, list_node(1))))}


def one_array_many_times():
    """10 kB that would be read as 5 GB."""
    items = [array_node(100 + i, "a.npy") for i in range(1000)]
    return {"schema.json": schema(list_node(1, *items)), "a.npy": npy(np.zeros(5 * 2**17))}


def one_array_many_times_without_ids():
    items = [array_node(None, "a.npy") for _ in range(1000)]
    for item in items:
        del item["__id__"]
    return {"schema.json": schema(list_node(1, *items)), "a.npy": npy(np.zeros(5 * 2**17))}


def zeros():
    return {"schema.json": schema(array_node(1, "a.npy")), "a.npy": bytes(2**23)}


def sparse_zeros():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("data", "indices", "indptr", "shape"):
            archive.writestr(f"{name}.npy", bytes(2**21))
    matrix = node("SparseMatrixNode", "scipy.sparse._csr.csr_array", type="scipy", file="a.npz")
    return {"schema.json": schema(matrix), "a.npz": buffer.getvalue()}


def hidden_sparse_zeros():
    parts = sparse_zeros()
    return {
        "schema.json": parts["schema.json"].replace("a.npz", "a.txt"),
        "a.txt": parts["a.npz"],
    }


def constructed_sparse():
    """csr_array((2**34, 1)) would allocate the pointers of all rows."""
    shape = node("JsonNode", "builtins.str", content=json.dumps([2**34, 1]))
    arguments = node("TupleNode", "builtins.tuple", content=[shape])
    kind = "scipy.sparse._csr.csr_array"
    return {"schema.json": schema(node("ConstructorFromReduceNode", kind, content=arguments))}


def deep_lists():
    inner = list_node(1)
    for identity in range(2, 400):
        inner = list_node(identity, inner)
    return {"schema.json": schema(inner)}


BOMBS = [
    shared_lists, cached_lists, cycle, one_array_many_times, one_array_many_times_without_ids,
    zeros, sparse_zeros, hidden_sparse_zeros, constructed_sparse, deep_lists,
]  # fmt: skip


@pytest.fixture
def small_limit(monkeypatch):
    """A limit that small bombs exceed, too."""
    monkeypatch.setattr("consilience._model_archive.MAX_SMALL_UNPACKED_BYTES", 6 * 2**20)


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__)
def test_bombs_are_refused_at_once(tmp_path, small_limit, bomb):
    import skops.io  # noqa: F401 (not in the time of the first bomb)

    path = tmp_path / "m.skops"
    path.write_bytes(seal(bomb()))
    tracemalloc.start()
    start = time.process_time()
    try:
        with pytest.raises(ModelFileError, match="cannot be loaded"):
            load(path)
        assert time.process_time() - start < MAX_SECONDS
        assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    finally:
        tracemalloc.stop()


def test_a_model_of_zeros_is_not_taken_for_a_bomb(tmp_path, monkeypatch):
    """What is saved can be loaded, however well it could be compressed."""
    monkeypatch.setattr("consilience._model_archive.MAX_SMALL_UNPACKED_BYTES", 2**16)
    model = LateFusionClassifier().fit(np.eye(8)[:, :2], [0, 1] * 4)
    model.zeros_ = np.zeros(2**20)
    save(model, tmp_path / "m.skops")
    assert load(tmp_path / "m.skops").zeros_.shape == (2**20,)


def test_sparse_matrices_count_with_their_contents(tmp_path, small_limit):
    parts = sparse_zeros()
    assert sum(map(len, parts.values())) < 2**20
    path = tmp_path / "m.skops"
    path.write_bytes(seal(parts))
    with pytest.raises(ModelFileError, match="would unpack to more than"):
        load(path)


def test_an_estimator_must_be_at_the_root(tmp_path):
    model = LateFusionClassifier().fit(np.eye(8)[:, :2], [0, 1] * 4)
    path = tmp_path / "m.skops"
    for other in ([model], {"model": model}, np.zeros(3), model._layout, sp.csr_array(np.eye(2))):
        with pytest.raises(TypeError, match="cannot be saved"):
            save(other, path)
    save(model, path)
    parts = read_parts(path.read_bytes())
    inside = json.loads(parts["schema.json"])
    path.write_bytes(seal({**parts, "schema.json": schema(list_node(1, inside))}))
    with pytest.raises(ModelFileError, match="contains a list, not an estimator"):
        load(path)
