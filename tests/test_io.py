"""Model files: everything of ours comes back, nothing else does."""
# ruff: noqa: E501 (a case a line)

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from conftest import FULL
from consilience import MultiViewData, ViewTransformer
from consilience.benchmark import RECIPES
from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier
from consilience.io import MANIFEST, TRUSTED_TYPES, ModelFileError, _add_manifest, load, save


@pytest.fixture(scope="module")
def problem():
    data, y = make_multiview_classification(60, n_views=3, n_features=4, random_state=0)
    present = np.ones((60, 3), dtype=bool)
    present[:8, 0] = present[10:15, 1] = False
    names = data.view_names
    views = {"s": sp.csr_array(np.asarray(data[names[0]])), **{n: data[n] for n in names[1:]}}
    gaps = MultiViewData(views, present=present)
    letters = np.where(np.arange(60) % 7 == 0, "c", np.where(y > 0, "b", "a"))
    return {"dense": (data, y), "gaps": (gaps, letters)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_comes_back(tmp_path, problem, name):
    data, y = problem["dense" if name.endswith("-NB") else "gaps"]  # naive Bayes is dense
    model = RECIPES[name].make_estimator(0)
    small = ("n_estimators", "histgradientboostingclassifier__max_iter")
    size = [p for p in model.get_params() if p.endswith(small)]
    model = make_pipeline(
        ViewTransformer("passthrough"), model.set_params(**dict.fromkeys(size, 10))
    )
    save(model.fit(data, y), tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict(data), model.predict(data))
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            np.testing.assert_array_equal(
                getattr(again, method)(data), getattr(model, method)(data)
            )


def test_a_type_that_is_not_listed_is_neither_saved_nor_loaded(tmp_path):
    model = make_pipeline(
        ViewTransformer(FunctionTransformer(os.path.join)), LateFusionClassifier()
    )
    with pytest.raises(TypeError, match=r"cannot be saved.*posixpath\.join"):
        save(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []
    import skops.io

    (tmp_path / "m.skops").write_bytes(_add_manifest(skops.io.dumps(model)))
    with pytest.raises(ModelFileError, match=r"cannot be loaded.*posixpath\.join"):
        load(tmp_path / "m.skops")


def test_foreign_files(tmp_path):
    import skops.io

    path = tmp_path / "m.skops"
    for content, reason in (
        (b"", "not a model file"),
        (b"hello", "not a model file"),
        (pickle.dumps(LateFusionClassifier()), "not a model file"),
        (skops.io.dumps(LateFusionClassifier()), "not written by consilience"),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=reason):
            load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.skops")


def test_versions_are_told(tmp_path, problem, monkeypatch):
    data, y = problem["dense"]
    monkeypatch.setattr("consilience.io._package_versions", lambda: {"scikit-learn": "0.1.0"})
    save(LateFusionClassifier().fit(data, y), tmp_path / "m.skops")
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 0\.1\.0"):
        load(tmp_path / "m.skops")


class Trap:
    """Notes when anything but the listed types is called during a load."""

    def __init__(self, monkeypatch):
        self.sprung = []
        for module, name in ((os, "system"), (os, "popen"), (os, "remove"), (os, "unlink")):
            monkeypatch.setattr(module, name, lambda *a, **k: self.sprung.append(a))
        for name in ("eval", "exec"):
            monkeypatch.setattr(f"builtins.{name}", self.watched(name))

    def watched(self, name):
        import builtins

        original = getattr(builtins, name)

        def call(source, *arguments, **named):
            if isinstance(source, str) and "PWNED" in source:
                self.sprung.append(source)
            return original(source, *arguments, **named)

        return call


def members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != MANIFEST}


def sealed(parts):
    """An archive of these members with digests that fit: what an attacker would write."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return _add_manifest(buffer.getvalue())


def nodes(tree):
    """All objects of a schema."""
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from nodes(value)


EVIL = [
    ("os", "system"), ("builtins", "eval"), ("builtins", "exec"), ("subprocess", "Popen"),
    ("builtins", "getattr"), ("builtins", "__import__"), ("os", "popen"), ("shutil", "rmtree"),
    ("pickle", "loads"), ("consilience.cli", "main"), ("numpy", "load"), ("joblib", "load"),
    ("operator", "methodcaller"), ("functools", "partial"), ("ctypes", "CDLL"), ("importlib", "import_module"),
]  # fmt: skip
LOADERS = [
    "ObjectNode", "FunctionNode", "TypeNode", "MethodNode", "PartialNode", "OperatorFuncNode",
    "ConstructorFromReduceNode", "JsonNode", "CachedNode", "ListNode", "DictNode", "NdArrayNode",
    "SparseMatrixNode", "RandomStateNode", "BytesNode", "TreeNode", "LossNode",
]  # fmt: skip


def forge(rng, parts):
    """Change what the schema says, somewhere, and seal it."""
    schema = json.loads(parts["schema.json"])
    result = [node for node in nodes(schema) if "__class__" in node]
    for _ in range(int(rng.integers(1, 3))):
        node = result[int(rng.integers(len(result)))]
        kind = int(rng.integers(6))
        if kind == 0:
            node["__module__"], node["__class__"] = EVIL[int(rng.integers(len(EVIL)))]
        elif kind == 1:
            node["__loader__"] = LOADERS[int(rng.integers(len(LOADERS)))]
        elif kind == 2:
            node.pop(list(node)[int(rng.integers(len(node)))])
        elif kind == 3:
            node["content"] = ["__import__('os').system('PWNED')", None, {}, [], -1][
                int(rng.integers(5))
            ]
        elif kind == 4:
            other = result[int(rng.integers(len(result)))]
            node.update({k: v for k, v in other.items() if k.startswith("__")})
        else:
            node["__module__"], node["__class__"] = EVIL[int(rng.integers(len(EVIL)))]
            node["__loader__"] = LOADERS[int(rng.integers(len(LOADERS)))]
            node["content"] = {"func": {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"},
                               "args": ["PWNED"], "kwds": {}, "namespace": {}, "attrs": "PWNED"}  # fmt: skip
    return sealed({**parts, "schema.json": json.dumps(schema).encode()})


def spoil(rng, content):
    """Change, cut, double or insert bytes."""
    content = bytearray(content)
    kind, place = int(rng.integers(4)), int(rng.integers(len(content)))
    if kind == 0:
        for _ in range(int(rng.integers(1, 9))):
            content[int(rng.integers(len(content)))] ^= int(rng.integers(1, 256))
    elif kind == 1:
        del content[place:]
    elif kind == 2:
        del content[place : place + int(rng.integers(1, 64))]
    else:
        content[place:place] = rng.bytes(int(rng.integers(1, 64)))
    return bytes(content)


def test_corrupted_files_raise_or_load_allowed_types(tmp_path, problem, monkeypatch):
    """10 000 changed files: bytes at random, and schemas forged with digests that fit."""
    data, y = problem["dense"]
    model = make_pipeline(ViewTransformer(StandardScaler()), LateFusionClassifier())
    save(model.fit(data, y), tmp_path / "m.skops")
    content = (tmp_path / "m.skops").read_bytes()
    parts = members(content)
    rng = np.random.default_rng(0)
    trap = Trap(monkeypatch)
    path = tmp_path / "changed.skops"
    messages, loaded = [], []
    for number in range(10_000 if FULL else 300):
        path.write_bytes(forge(rng, parts) if number % 2 else spoil(rng, content))
        try:
            loaded.append(type(load(path)))
        except ModelFileError as error:
            messages.append(str(error))
    assert trap.sprung == []
    assert all(text.startswith(f"{path} cannot be loaded: ") for text in messages)
    assert len(messages) > len(loaded)
    # what was loaded is of listed types: a forged schema may hold other values of these
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in loaded}
    strange = {n for n in names if not n.startswith(("sklearn.", "builtins.", "numpy."))}
    assert strange <= set(TRUSTED_TYPES)
