"""Dask arrays: the fit in memory from blocks on workers, one of which may die; lazy predictions."""

import os
import signal
import subprocess
import sys
import threading

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from common.estimators import CLASSIFIERS
from consilience import MultiViewData, as_multiview
from consilience._solvers import squared_hinge
from consilience._training import TrainingRows
from consilience.distributed import BlockSequence
from consilience.kernel import MKLClassifier
from consilience.margin import SMVMEDClassifier
from consilience.margin import _from_blocks as smvmed_blocks
from reference.blocks import make, mvlsvm, objective

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

CUTS = (70, 1, 0, 300, 129)
LOOPBACK = "127.0.0.1:0"


@pytest.fixture(scope="module")
def client():
    from common.block_problems import two_threads  # which needs dask

    with two_threads() as client:
        yield client


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    for module in (squared_hinge, smvmed_blocks):
        monkeypatch.setattr(module, "MIN_SAMPLE_ROWS", 60)
        monkeypatch.setattr(module, "SAMPLE_ROWS_PER_COLUMN", 1)


def lazy(data, cuts=CUTS):
    """The same views as dask arrays, the last with sparse blocks."""
    whole = {name: view if name != "c" else view.toarray() for name, view in data.items()}
    views = {name: da.from_array(X, chunks=(cuts, -1)) for name, X in whole.items()}
    if "c" in views:
        views["c"] = views["c"].map_blocks(sp.csr_array)
    return views


def agree(model, data, y, weight, *lazily):
    model.fit(data, y, weight)
    expected, decisions = objective(model, data, y, weight), model.decision_function(data)
    model.fit(*lazily)
    assert objective(model, data, y, weight) == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(model.decision_function(data), decisions, atol=1e-4)


@pytest.mark.parametrize("model", [mvlsvm(), SMVMEDClassifier()], ids=["mvlsvm", "smvmed"])
def test_workers_agree_with_memory(model, client):
    data, y, weight = make(sum(CUTS))
    views = MultiViewData(lazy(data), present=data.present)
    agree(model, data, y, weight, views, da.from_array(y, chunks=77), weight)
    first = model.decision_function(data)
    # sums are added up in an order that does not depend on the workers
    model.fit(views, y, da.from_array(weight, chunks=100))
    np.testing.assert_allclose(model.decision_function(data), first, rtol=1e-9, atol=1e-9)


def test_without_a_client_blocks_are_computed_here():
    data, y, weight = make(sum(CUTS))
    views = MultiViewData(lazy(data), present=da.from_array(data.present, chunks=(99, 2)))
    agree(SMVMEDClassifier(), data, y, weight, views, y, weight)


def test_rows_of_nan_are_missing_and_one_array_has_views():
    data, y, _ = make(400, n_classes=2)
    X = data.select(["a", "b"]).to_array()  # NaN where a view is missing
    X[np.isnan(X).all(axis=1)] = 0.0
    model = SMVMEDClassifier(views={"a": slice(0, 5), "b": slice(5, 9)})
    expected = model.fit(X, y).decision_function(X)
    array = da.from_array(X, chunks=(90, 2))
    result = model.fit(array, y).decision_function(array)
    assert isinstance(result, da.Array)
    np.testing.assert_allclose(result.compute(), expected, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["LateFusionClassifier", "MuMBoClassifier", "SMVMEDClassifier", "MVLSVMClassifier"]
)
def test_predictions_are_lazy(name):
    data, y, _ = make(sum(CUTS))
    model = clone(CLASSIFIERS[name])
    if "n_landmarks" in model.get_params():
        model.set_params(n_landmarks=5)
    model.fit(data, y)
    views = MultiViewData(lazy(data), present=data.present)
    methods = {"predict": (500,), "decision_function": (500, 3), "predict_proba": (500, 3)}
    for method, shape in methods.items():
        if not hasattr(model, method):
            continue
        result = getattr(model, method)(views)
        assert isinstance(result, da.Array)
        assert result.shape == shape
        assert result.numblocks[0] == 4  # dask drops the empty one
        np.testing.assert_allclose(
            *(v if v.dtype.kind == "f" else model.classes_.searchsorted(v) for v in
              (result.compute(), getattr(model, method)(data))), atol=1e-6,
        )  # fmt: skip
    # a container may lack a view, but not bring an unknown one or another width
    part = model.predict({"a": lazy(data)["a"]}).compute()
    np.testing.assert_array_equal(part, model.predict({"a": data["a"]}))
    with pytest.raises(ValueError, match="not seen in fit: 'z'"):
        model.predict({"z": lazy(data)["a"]})
    with pytest.raises(ValueError, match="view 'a' has 4 columns, but had 5"):
        model.predict({"a": lazy(data)["a"][:, :4]})


def test_container_of_dask_arrays():
    data, _, _ = make(sum(CUTS), dtype=np.float32)
    views = as_multiview({**lazy(data), "d": np.ones((500, 2))})
    assert views.shape == (500, 19)
    assert views.is_lazy
    assert views["d"].chunks[0] == CUTS
    assert "dask float32" in repr(views)
    assert "missing unknown" in repr(views)
    computed = views[10:90].compute()
    assert not computed.is_lazy
    np.testing.assert_array_equal(computed["a"], data["a"][10:90])
    assert data.compute() is data
    with pytest.raises(ValueError, match="different numbers of rows"):
        MultiViewData({"a": lazy(data)["a"], "b": np.ones((3, 2))})
    unknown = lazy(data)["a"]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        MultiViewData({"a": unknown[unknown[:, 0] > 0]})
    with pytest.raises(ValueError, match="cannot be dask arrays"):
        MultiViewData({"a": da.ones((4, 4))}, kinds={"a": "kernel"})
    with pytest.raises(TypeError, match="compute"):
        views.to_array()


def test_errors(client):
    data, y, _ = make(sum(CUTS))
    views = lazy(data)
    with pytest.raises(TypeError, match="MKLClassifier does not support X in blocks"):
        MKLClassifier().fit(views, y)
    with pytest.raises(ValueError, match="X has 500 samples, but y has 3"):
        SMVMEDClassifier().fit(views, y[:3])
    with pytest.raises(ValueError, match="requires y"):
        SMVMEDClassifier().fit(views)
    bad = data["a"].copy()
    bad[100, 2] = np.nan
    with pytest.raises(ValueError, match=r"block 3: .*view 'a' is partially missing in row 29"):
        SMVMEDClassifier().fit({"a": da.from_array(bad, chunks=(CUTS, -1))}, y)


@pytest.mark.parametrize(
    "name", [name for name, model in CLASSIFIERS.items() if "n_jobs" in model.get_params()]
)
def test_n_jobs_with_the_dask_backend(name, client):
    data, y, _ = make(60)
    data = MultiViewData({"a": data["a"], "b": data["b"]})
    model = clone(CLASSIFIERS[name])
    expected = model.fit(data, y).predict(data)
    with joblib.parallel_config(backend="dask"):
        result = model.set_params(n_jobs=2).fit(data, y).predict(data)
    np.testing.assert_array_equal(result, expected)


def test_grid_search_with_the_dask_backend(client):
    data, y, _ = make(200)
    search = GridSearchCV(SMVMEDClassifier(), {"c": [0.01, 1.0]}, cv=2)
    expected = search.fit(data, y).cv_results_["mean_test_score"]
    with joblib.parallel_config(backend="dask", n_jobs=2):
        result = search.fit(data, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(result, expected)


def bounded(function, *args, seconds=300):
    """Call a function, or give up."""
    done = []
    thread = threading.Thread(target=lambda: done.append(function(*args)), daemon=True)
    thread.start()
    thread.join(seconds)
    assert done, f"not done in {seconds} s"


def test_a_lost_worker_changes_nothing(monkeypatch):
    """A worker process is killed in the middle of a fit; a nanny may or may not start another."""
    data, y, weight = make(sum(CUTS))
    model = SMVMEDClassifier()
    views = MultiViewData(lazy(data), present=data.present)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=LOOPBACK
    )
    with cluster, distributed.Client(cluster, timeout=60) as client:
        from consilience.distributed._dask import DaskBlocks

        whole = model.fit(views, y, weight).decision_function(data)
        passes, plain, killed = [], DaskBlocks.sum, []

        def interrupted(blocks, function, *state):
            passes.append(function.__name__)
            if len(passes) == 3:
                holders = client.who_has(blocks.futures)
                worker = next(workers[0] for workers in holders.values() if workers)
                killed.append(client.run(os.getpid, workers=[worker])[worker])
                os.kill(killed[0], signal.SIGKILL)
            return plain(blocks, function, *state)

        monkeypatch.setattr(DaskBlocks, "sum", interrupted)
        bounded(model.fit, views, y, weight)
        assert killed
        assert len(passes) > 3
    # blocks made anew may lie elsewhere in memory, which BLAS may answer by other roundings
    np.testing.assert_allclose(model.decision_function(data), whole, rtol=1e-9, atol=1e-12)


def test_dask_is_not_imported_without_need():
    script = """
import sys
import numpy as np
from consilience import MultiViewData
from consilience.distributed import BlockSequence
from consilience.landmark import MVLSVMClassifier
from consilience.margin import SMVMEDClassifier
rng = np.random.RandomState(0)
data, y = MultiViewData({"a": rng.randn(50, 3), "b": rng.randn(50, 2)}), rng.randint(2, size=50)
for model in (SMVMEDClassifier(), MVLSVMClassifier(5)):
    model.fit(data, y).predict(data)
    model.fit(BlockSequence.cut(data, y, rows=20)).predict(data)
print(*{name.split(".")[0] for name in sys.modules} & {"dask", "distributed"})
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_sizes_of_blocks_are_known_to_the_scheduler():
    from consilience.distributed._dask import SizedBlock

    data, y, weight = make(300)
    rows = TrainingRows(data, y, weight)
    assert sys.getsizeof(SizedBlock(rows)) >= data["a"].nbytes + data["b"].nbytes
    assert BlockSequence([(data, y)])
