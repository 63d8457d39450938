"""Records of methods: those of the package, of other packages, and of a user."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from consilience import ViewTransformer
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier
from consilience.methods import (
    METHODS,
    CloneWithSeed,
    Method,
    find_methods,
    is_from_main,
    load_method,
    method_from_estimator,
)

TOY = '''
from consilience._base import MultiViewClassifier
from consilience.methods import Method
import numpy as np


class ToyClassifier(MultiViewClassifier):
    """Nearest centroid of the mean of each view."""

    _parameter_constraints = {"views": "no_validation", "shrink": "no_validation"}

    def __init__(self, *, views=None, shrink=0.0):
        self.views = views
        self.shrink = shrink

    def _fit(self, data, codes, weight):
        Z = self._means(data)
        total = np.array([weight[codes == k].sum() for k in range(len(self.classes_))])
        sums = np.array([weight[codes == k] @ Z[codes == k] for k in range(len(self.classes_))])
        self.centroids_ = sums / total[:, None]

    def _means(self, data):
        return np.column_stack([np.asarray(view.mean(axis=1)).ravel() for _, view in data.items()])

    def _scores(self, data):
        return -((self._means(data)[:, None] - self.centroids_) ** 2).sum(axis=2)


RECORD = Method("Toy", "nearest centroid", "nobody", lambda random_state: ToyClassifier(),
                {"shrink": [0.0, 1.0]})
'''
SCRIPT = '''
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])  # the tests
from benchmark.studies import run_in_process
from consilience import io
from consilience.datasets import load_digits_views
from consilience.methods import METHODS

run_in_process("methods")
run_in_process("compare", "digits", "--methods", "toy", "--cv", "2", "--repeats", "1", "--quiet",
               "--tune", "--out", "study", "--trust", "toy")
Path("suite.toml").write_text("""
title = "Toy"
[protocol]
split = { kind = "holdout", repeats = 1, test = 0.5 }
[[datasets]]
name = "digits"
[[methods]]
recipe = "Toy"
settings = { shrink = 0.5 }
""")
run_in_process("bench", "suite.toml", "--quiet")
from common.estimators import CLASSIFIERS
model = io.load("study/model.skops", trusted=["toy"])
data, y = load_digits_views(return_X_y=True)
print(json.dumps({
    "known": "Toy" in METHODS, "tested": "ToyClassifier" in CLASSIFIERS,
    "score": float((model.predict(data) == y).mean()),
}))
'''


@pytest.fixture
def toy(tmp_path):
    """A package with one module and an entry point."""
    (tmp_path / "toy.py").write_text(TOY)
    info = tmp_path / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[consilience.methods]\nToy = toy:RECORD\n")
    return tmp_path


def test_a_new_method_is_one_module_with_its_record(toy):
    paths = [str(toy), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(Path(__file__).parent)],
        cwd=toy,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "120"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nearest centroid" in done.stdout  # consilience methods
    assert done.stdout.count("Toy") >= 3
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["known"]
    assert last["tested"]
    assert last["score"] > 0.3


def test_names():
    names = [method.name for method in find_methods(["mono", "MONO", "svm-mv"])]
    assert names == ["Mono", "SVM-MV"]
    with pytest.raises(ValueError, match="unknown method 'Duo'; known are Consilience, Best view"):
        find_methods(["Duo"])
    with pytest.raises(KeyError):
        METHODS["Duo"]
    assert "Duo" not in METHODS


def test_every_record_is_complete():
    for name, method in METHODS.items():
        assert (name, bool(method.summary), bool(method.reference)) == (method.name, True, True)
        assert method.make_estimator(0) is not method.make_estimator(0)
        assert method.prepares_own_input == (name == "Consilience")


def test_a_plain_classifier_is_fused_early_and_prepared():
    method = method_from_estimator("mine", KNeighborsClassifier(3))
    assert method.summary == "KNeighborsClassifier on the concatenated views, columns standardised"
    model = method.make_estimator(0)
    assert model["preparation"].scale == "standard"
    assert isinstance(model["classifier"], EarlyFusionClassifier)
    assert model["classifier"].estimator.n_neighbors == 3


class TakesViews(ClassifierMixin, BaseEstimator):
    takes_multiview = True

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


@pytest.mark.parametrize(
    "estimator",
    [
        LateFusionClassifier(),
        TakesViews(),
        make_pipeline(ViewTransformer(StandardScaler()), LateFusionClassifier()),
        make_pipeline(ViewTransformer(StandardScaler()), TakesViews()),
        CalibratedClassifierCV(LateFusionClassifier()),
    ],
    ids=lambda e: type(e).__name__,
)
def test_classifiers_of_views_get_them_as_they_are(estimator):
    method = method_from_estimator("mine", estimator)
    assert method.prepares_own_input
    assert type(method.make_estimator(0)) is type(estimator)


def test_seeds_are_set_where_there_is_none():
    method = method_from_estimator("mine", ExtraTreesClassifier())
    assert method.build(7).random_state == 7
    assert method.build(None).random_state is None
    given = method_from_estimator("mine", EarlyFusionClassifier(random_state=3))
    assert given.build(7).random_state == 3


@pytest.mark.parametrize("value", [KMeans(), KNeighborsClassifier, 3, None, "KMeans"])
def test_what_is_no_classifier(value):
    with pytest.raises(TypeError, match="method 'mine' must be a classifier"):
        method_from_estimator("mine", value)


OWN = """
from sklearn.neighbors import KNeighborsClassifier
from consilience.methods import Method
class Near(KNeighborsClassifier):
    pass
class Needy(KNeighborsClassifier):
    def __init__(self, radius):
        self.radius = radius
near = Near(2)
record = Method("other name", "a record", "me", lambda random_state: Near())
number = 3
"""


def test_module_and_class(tmp_path, monkeypatch):
    (tmp_path / "own_module.py").write_text(OWN)
    (tmp_path / "broken_module.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_method("own_module:Near").summary.startswith("Near on the concatenated views")
    assert METHODS["own_module:near"].build(None).estimator.n_neighbors == 2
    assert load_method("own_module:record").name == "own_module:record"
    for name, message in {
        "own_module:Far": "has no 'Far'",
        "own_module:Needy": "needs arguments",
        "no_such_module:X": "cannot be imported: ModuleNotFoundError",
        "broken_module:X": "cannot be imported: ZeroDivisionError",
        "own_module:": "has no ''",
    }.items():
        with pytest.raises(ValueError, match=message):
            load_method(name)
    with pytest.raises(TypeError, match="must be a classifier, got 3"):
        load_method("own_module:number")
    assert [m.name for m in find_methods(["own_module:Near", "mono"])] == [
        "own_module:Near",
        "Mono",
    ]


def test_classes_of_main(monkeypatch):
    assert not any(is_from_main(method) for method in METHODS.values())
    own = method_from_estimator("mine", TakesViews())
    assert not is_from_main(own)
    monkeypatch.setattr(TakesViews, "__module__", "__main__")
    assert is_from_main(own)
    assert is_from_main(method_from_estimator("mine", LateFusionClassifier(TakesViews())))
    assert is_from_main(Method("m", "s", "r", _local()))


def _local():
    def build(random_state):
        return TakesViews()

    build.__module__ = "__main__"
    return build


@pytest.mark.parametrize("seed", [None, 7])
def test_clones_have_the_seed_that_is_given(seed):
    trees = ExtraTreesClassifier()
    built = CloneWithSeed(trees)(seed)
    assert built is not trees
    assert built.random_state == seed
    assert CloneWithSeed(ExtraTreesClassifier(random_state=3))(seed).random_state == 3
