"""Model files: everything of ours comes back, nothing else does."""
# ruff: noqa: E501 (a case a line)

import io
import json
import os
import pickle
import sys
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from conftest import FULL
from consilience import MultiViewData, ViewTransformer, _model_types
from consilience._model_archive import MANIFEST, add_manifest
from consilience._model_bounds import schema_nodes
from consilience._model_schema import to_public_names
from consilience._model_types import import_path, model_type, public_name
from consilience.benchmark import RECIPES
from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier
from consilience.io import ModelFileError, load, save
from consilience.margin import SMVMEDClassifier


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


def assert_names_are_public(path):
    """No file depends on where our types are defined."""
    own = [n for n in type_names(path) if n.startswith("consilience.")]
    assert own
    assert [n for n in own if any(part.startswith("_") for part in n.split("."))] == []


def type_names(path):
    schema = json.loads(members(path.read_bytes())["schema.json"])
    return {f"{n['__module__']}.{n['__class__']}" for n in nodes(schema) if "__class__" in n}


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
    assert_names_are_public(tmp_path / "m.skops")
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
    with pytest.raises(TypeError, match=r"cannot be saved.*posixpath\.join$"):
        save(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []
    import skops.io

    (tmp_path / "m.skops").write_bytes(
        add_manifest(public(skops.io.dumps(model)), {"packages": {}})
    )
    with pytest.raises(ModelFileError, match=r"cannot be loaded.*posixpath\.join$"):
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


def archived(parts):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def sealed(parts):
    """An archive of these members with digests that fit: what an attacker would write."""
    return add_manifest(archived(parts), {"packages": {}})


def public(content):
    """An archive of skops with the public names of our types."""
    parts = members(content)
    schema = json.loads(parts["schema.json"])
    to_public_names(schema_nodes(schema))
    return archived({**parts, "schema.json": json.dumps(schema)})


def rename(path, old, new):
    """Replace the name of a type in a model file, with digests that fit."""
    parts = members(path.read_bytes())
    schema = json.loads(parts["schema.json"])
    renamed = [n for n in nodes(schema) if f"{n.get('__module__')}.{n.get('__class__')}" == old]
    assert renamed
    for node in renamed:
        node["__module__"], _, node["__class__"] = new.rpartition(".")
    path.write_bytes(sealed({**parts, "schema.json": json.dumps(schema)}))


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
    ("consilience.margin._machine", "Machine"), ("consilience.margin", "Nothing"), ("consilience", "io"),
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
    # what was loaded is of known types: a forged schema may hold other values of these
    for kind in set(loaded):
        if not import_path(kind).startswith(("sklearn.", "builtins.", "numpy.")):
            public_name(kind)


@pytest.fixture
def model_file(tmp_path, problem):
    data, y = problem["dense"]
    save(SMVMEDClassifier().fit(data, y), tmp_path / "m.skops")
    return tmp_path / "m.skops"


def test_a_type_that_moved_is_loaded_under_its_earlier_name(model_file, problem, monkeypatch):
    monkeypatch.setattr(_model_types, "_PATHS", dict(_model_types._PATHS))
    monkeypatch.setattr(_model_types, "_PUBLIC_NAMES", {})
    import consilience.kernel._mkl as module
    from consilience.margin._machine import Machine

    class Engine(Machine):
        pass

    Engine.__module__, Engine.__qualname__ = module.__name__, "Engine"
    monkeypatch.setattr(module, "Engine", Engine, raising=False)
    rename(model_file, "consilience.margin.Machine", "consilience.margin.EarlierName")
    with pytest.raises(ModelFileError, match=r"margin\.EarlierName is not a model type"):
        load(model_file)
    model_type("kernel.Engine", aliases=["margin.EarlierName"])(Engine)
    assert Engine in {type(value) for value in vars(load(model_file)).values()}
    data, _ = problem["dense"]
    assert load(model_file).predict(data).shape == (len(data),)


@pytest.mark.parametrize(
    "name",
    ["consilience.margin._machine.Machine", "consilience.margin.Nothing", "consilience.cli.main"],
)
def test_private_and_unknown_names_are_not_loaded(model_file, name):
    rename(model_file, "consilience.margin.Machine", name)
    with pytest.raises(ModelFileError, match=rf"cannot be loaded: {name} is not .*model type"):
        load(model_file)


def test_files_of_format_1_are_not_loaded(model_file):
    parts = members(model_file.read_bytes())
    manifest = zipfile.ZipFile(model_file).read(MANIFEST).replace(b'"format": 2', b'"format": 1')
    model_file.write_bytes(archived({**parts, MANIFEST: manifest}))
    with pytest.raises(
        ModelFileError, match=r"written by an earlier development version.*save the model again"
    ):
        load(model_file)


@pytest.mark.parametrize(
    "schema",
    ["[" * 100_000 + "]" * 100_000, '{"content":' * 50_000 + "1" + "}" * 50_000, "[]", "null", "{}",
     '"x"', "", "{", '{"__module__": "consilience.margin"}', '{"__module__": "consilience.margin", "__class__": []}',
     '{"protocol": 2, "__loader__": [], "__module__": [1], "__class__": {}}',
     '{"protocol": 2, "__loader__": "ListNode", "__module__": "builtins", "__class__": "list", "__id__": {}, "content": 3}'],
    ids=range(12),
)  # fmt: skip
def test_odd_schemas(model_file, schema):
    model_file.write_bytes(sealed({**members(model_file.read_bytes()), "schema.json": schema}))
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        load(model_file)


FOREIGN = """
from os import system
from subprocess import Popen
from sklearn.base import BaseEstimator, TransformerMixin

class Doubler(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self
    def __sklearn_is_fitted__(self):
        return True
    def transform(self, X):
        return 2 * X

def double(X):
    return 2 * X

def make_local():
    class Local(Doubler):
        pass
    return Local()
"""


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """A package that is not ours, with a transformer and a function."""
    folder = tmp_path / "modules" / "foreignpackage"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "parts.py").write_text(FOREIGN)
    (folder / "__main__.py").write_text("raise SystemExit('was run')")
    monkeypatch.syspath_prepend(str(folder.parent))
    yield __import__("foreignpackage.parts").parts
    forget()


def forget():
    for name in [name for name in sys.modules if name.startswith("foreignpackage")]:
        del sys.modules[name]


def fitted_with(transformer, problem):
    data, y = problem["dense"]
    return make_pipeline(ViewTransformer(transformer), LateFusionClassifier()).fit(data, y)


@pytest.mark.parametrize(
    "trusted",
    [["foreignpackage"], ["foreignpackage.parts"], ("other", "foreignpackage.parts.Doubler")],
)
def test_types_of_other_packages_need_consent(tmp_path, problem, foreign, trusted):
    model, path = fitted_with(foreign.Doubler(), problem), tmp_path / "m.skops"
    consent = r"trusted=\['foreignpackage\.parts\.Doubler'\]"
    for others in ((), ["foreign"], ["foreignpackage.part"], ["foreignpackage.parts.Double"]):
        with pytest.raises(TypeError, match=rf"cannot be saved.*save\(model, path, {consent}"):
            save(model, path, trusted=others)
    assert not path.exists()
    save(model, path, trusted=trusted)
    manifest = json.loads(zipfile.ZipFile(path).read(MANIFEST))
    assert manifest["foreign_types"] == ["foreignpackage.parts.Doubler"]
    forget()
    for others in ((), ["foreign"], ["foreignpackage.part"]):
        with pytest.raises(ModelFileError, match=rf"cannot be loaded.*load\(path, {consent}"):
            load(path, trusted=others)
    assert "foreignpackage.parts" not in sys.modules
    data, _ = problem["dense"]
    np.testing.assert_array_equal(load(path, trusted=trusted).predict(data), model.predict(data))


def test_a_trusted_package_that_is_missing(tmp_path, problem, foreign, monkeypatch):
    path = tmp_path / "m.skops"
    save(fitted_with(foreign.Doubler(), problem), path, trusted=["foreignpackage"])
    forget()
    monkeypatch.undo()
    for trusted in (["foreignpackage"], ["foreignpackage.parts.Doubler"]):
        with pytest.raises(
            ImportError, match=r"m\.skops cannot be loaded: No module named 'foreign"
        ):
            load(path, trusted=trusted)


def test_functions_are_trusted_by_their_full_names(tmp_path, problem, foreign):
    model, path = fitted_with(FunctionTransformer(foreign.double), problem), tmp_path / "m.skops"
    with pytest.raises(TypeError, match=r"trusted=\['foreignpackage\.parts\.double'\]"):
        save(model, path, trusted=["foreignpackage"])
    save(model, path, trusted=["foreignpackage.parts.double"])
    with pytest.raises(ModelFileError, match=r"trusted=\['foreignpackage\.parts\.double'\]"):
        load(path, trusted=["foreignpackage"])
    data, _ = problem["dense"]
    again = load(path, trusted=["foreignpackage.parts.double"])
    np.testing.assert_array_equal(again.predict(data), model.predict(data))


def test_local_classes_and_lambdas_are_not_saved(tmp_path, problem, foreign):
    local = fitted_with(foreign.make_local(), problem)
    with pytest.raises(TypeError, match=r"Local cannot be saved because it cannot be imported"):
        save(local, tmp_path / "m.skops", trusted=["foreignpackage.parts.Local"])
    with pytest.raises(TypeError, match=r"<lambda>$"):  # no advice that would not work
        save(fitted_with(FunctionTransformer(lambda X: X), problem), tmp_path / "m.skops")


@pytest.mark.parametrize(
    "name",
    [
        "parts.system",
        "parts.Popen",
        "parts.double",
        "parts.Nothing",
        "__main__.Doubler",
        "parts.system.x",
    ],
)
@pytest.mark.parametrize(
    "loader", ["ConstructorFromReduceNode", "ObjectNode", "DictNode", "TypeNode", "FunctionNode"]
)
def test_trust_in_a_module_covers_only_its_classes(
    tmp_path, problem, foreign, monkeypatch, name, loader
):
    """Whatever else a trusted module imports or defines cannot be called by a file."""
    path = tmp_path / "m.skops"
    save(fitted_with(foreign.Doubler(), problem), path, trusted=["foreignpackage"])
    sprung = []
    monkeypatch.setattr(foreign, "system", sprung.append)
    monkeypatch.setattr(foreign, "double", sprung.append)
    parts = members(path.read_bytes())
    schema = json.loads(parts["schema.json"])
    for node in nodes(schema):
        if node.get("__class__") == "Doubler":
            node["__module__"], _, node["__class__"] = f"foreignpackage.{name}".rpartition(".")
            node["__loader__"] = loader
    path.write_bytes(sealed({**parts, "schema.json": json.dumps(schema)}))
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        load(path, trusted=["foreignpackage"])
    assert sprung == []


@pytest.mark.parametrize("name", ["", ".", "a..b", "a b", "builtins", "os", "os.path", "sys", "subprocess", "importlib", "pickle",
                                  "numpy", "numpy.load", "scipy", "sklearn", "sklearn.svm", "joblib", "skops", "consilience",
                                  "consilience.margin._machine"])  # fmt: skip
def test_names_that_cannot_be_trusted(tmp_path, name):
    with pytest.raises(ValueError, match=r"trusted must contain names .* got"):
        save(LateFusionClassifier(), tmp_path / "m.skops", trusted=["mypackage", name])
    with pytest.raises(ValueError, match=r"trusted must contain names .* got"):
        load(tmp_path / "m.skops", trusted=[name])


@pytest.mark.parametrize("trusted", ["mypackage", [1], [None], [b"mypackage"]])
def test_trusted_is_a_list_of_names(tmp_path, trusted):
    with pytest.raises(TypeError, match="trusted must"):
        save(LateFusionClassifier(), tmp_path / "m.skops", trusted=trusted)
    with pytest.raises(TypeError, match="trusted must"):
        load(tmp_path / "m.skops", trusted=trusted)
