"""Which methods a comparison takes, and what it tunes."""

import warnings
from itertools import product

import numpy as np
import pytest

from consilience import MultiViewData
from consilience.benchmark.tasks import Task, apply_settings, build_method
from consilience.cli import main
from consilience.comparison.record import read_run
from consilience.comparison.study import incompatibility
from consilience.datasets import DATASETS
from consilience.datasets._registry import Dataset
from consilience.io import load
from consilience.methods import METHODS, find_methods

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 12)
COLUMNS = {name: RNG.normal(size=(36, 3)) + Y[:, None] for name in ("a", "b")}


def distances(X):
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


MATRICES = {"features": lambda X: X, "kernel": lambda X: X @ X.T, "distance": distances}


def views(*kinds):
    data = {name: MATRICES[kind](COLUMNS[name]) for name, kind in zip("ab", kinds, strict=True)}
    kinds = dict(zip("ab", kinds, strict=True))
    return MultiViewData(data, sample_ids=np.arange(len(Y)), kinds=kinds)


def small(estimator):
    """With few rounds."""
    rounds = [name for name in estimator.get_params() if name.endswith("n_estimators")]
    return estimator.set_params(**dict.fromkeys(rounds, 10))


def learns(estimator, data):
    model = small(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data[::2], Y[::2]).predict(data[1::2])


@pytest.mark.parametrize("kinds", [("kernel", "kernel"), ("distance", "distance"),
                                   ("features", "kernel")])  # fmt: skip
@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_applicable_if_it_can_learn(method, kinds):
    data = views(*kinds)
    estimator = METHODS[method].make_estimator(0)
    reason = incompatibility(METHODS[method], data.kinds, "accuracy")
    if not reason:
        learns(estimator, data)
        return
    assert "only feature columns are supported" in reason
    with pytest.raises((TypeError, ValueError), match=r"is a (kernel|distance) view"):
        learns(estimator, data)


def test_log_loss_needs_probabilities():
    kinds = {"a": "features"}
    lack = {m.name for m in METHODS.values() if incompatibility(m, kinds, "log_loss")}
    assert {"SMVMED", "MKL", "Early+SVM"} <= lack
    assert not lack & {"Consilience", "Late fusion", "MwMvC2", "MuMBo"}
    assert not any(incompatibility(method, kinds, "accuracy") for method in METHODS.values())


def test_names_may_be_written_in_other_ways():
    wanted = ["late-fusion", "random forest", "svm2k", "MWMVC2"]
    names = ["Late fusion", "RandomForest", "SVM-2K", "MwMvC2"]
    assert [method.name for method in find_methods(wanted)] == names
    assert [method.name for method in find_methods(list(METHODS))] == list(METHODS)


def test_what_is_tuned():
    tuned = {method.name for method in METHODS.values() if method.grid}
    assert set(METHODS) - tuned == {"Consilience"}  # it chooses for itself
    assert sum(method.in_default_selection for method in METHODS.values()) == 15


@pytest.mark.parametrize("method", [m.name for m in METHODS.values() if m.grid])
def test_grids(method):
    data, grid = views("features", "features"), METHODS[method].grid
    task = Task(data="d", method=method, split=None, index=0, grid=grid)
    choices = list(product(*grid.values()))
    assert len(choices) > 1
    for values in (choices[0], choices[-1]):
        learns(apply_settings(build_method(task, 0), dict(zip(grid, values, strict=True))), data)


@pytest.mark.parametrize("method", ["Early fusion", "Late fusion", "Stacking fusion", "Best view"])
def test_what_is_tuned_is_the_method_itself(method):
    data = views("features", "features")
    probabilities = [
        METHODS[method].make_estimator(0, tunable=tunable).fit(data, Y).predict_proba(data)
        for tunable in (False, True)
    ]
    # folds inside a method scale anew
    np.testing.assert_allclose(*probabilities, atol=0.01)


@pytest.mark.usefixtures("serially")
def test_distances(capsys, monkeypatch, tmp_path):
    data = views("distance", "distance")
    bunch = {"data": data, "target": Y, "splits": []}
    loader = lambda: type("Bunch", (), bunch)  # noqa: E731
    monkeypatch.setitem(DATASETS, "near", Dataset("near", "distances", loader))
    command = ["compare", "near", "--methods", "MVML,Early fusion,MuMBo,MKL", "--cv", "2",
               "--repeats", "1", "--jobs", "1", "--out", str(tmp_path)]  # fmt: skip
    with pytest.raises(SystemExit) as end:
        main(command)
    captured = capsys.readouterr()
    assert end.value.code == 0, captured.err
    message = "Early fusion, MuMBo, because the view 'a' is a distance matrix"
    assert f"not applicable: {message}" in captured.out
    assert "failed" not in captured.out + captured.err
    assert list(read_run(tmp_path).not_applicable) == ["Early fusion", "MuMBo"]
    page = (tmp_path / "report.html").read_text()
    assert "<strong>Early fusion, MuMBo</strong>: the view &#39;a&#39; is a distance matrix" in page
    assert "Failures" not in page
    model = load(tmp_path / "model.skops")
    assert np.mean(model.predict(data) == Y) > 0.8

    # distances of new samples have no names by which files could be matched to old ones
    np.savez(tmp_path / "a.npz", a=data["a"][:3])
    with pytest.raises(SystemExit) as end:
        main(["predict", str(tmp_path / "model.skops"), str(tmp_path / "a.npz")])
    captured = capsys.readouterr()
    assert (end.value.code, captured.out) == (2, "")
    assert (
        "a.npz cannot be a distance matrix, whose columns are the training samples" in captured.err
    )

    with pytest.raises(SystemExit) as end:
        main(["compare", "near", "--methods", "Early fusion"])
    assert end.value.code == 2
    assert "none of the methods is applicable" in capsys.readouterr().err
