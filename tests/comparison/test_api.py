"""``compare`` from Python: inputs, methods of one's own, splits, tables of results."""

import importlib
import linecache
import subprocess
import sys
from pathlib import Path

import dask.array as da
import matplotlib as mpl
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

from common.omics import settled_mudata
from consilience import MultiViewData, compare
from consilience.benchmark.problems import Problem
from consilience.comparison import _result
from consilience.comparison import execution as comparison
from consilience.comparison.inputs import _from_problem
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier
from consilience.io import load
from consilience.methods import METHODS

mpl.use("Agg")
RNG = np.random.default_rng(0)
Y = np.repeat(["ill", "well"], 20)
CODES = np.repeat([0, 1], 20)
VIEWS = {name: RNG.normal(size=(40, 3)) + CODES[:, None] for name in ("blood", "image")}
QUICK = {"methods": ["Late fusion", "Concat"], "cv": 2, "repeats": 1}


@pytest.fixture(autouse=True)
def _serially(request, serially, undrawn):
    """Without worker processes and figures, except where a test says so."""


@pytest.fixture(scope="module")
def result():
    from benchmark.studies import run_serially

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "run_tasks", run_serially)
        yield compare(VIEWS, Y, **QUICK)


def rows(frame):
    return frame if isinstance(frame, list) else nw.from_native(frame).rows(named=True)


def ranked(result):
    """Rows of the methods, without that of chance."""
    return [row for row in rows(result.ranking) if row["method"] != "Chance"]


def test_result(result):
    ranking = ranked(result)
    assert [row["rank"] for row in ranking] == [1, 2]
    assert {row["method"] for row in ranking} == {"Late fusion", "Concat"}
    best, other = ranking
    assert best["low"] <= best["accuracy"] <= best["high"]
    assert best["accuracy"] >= other["accuracy"]
    assert best["description"] == METHODS[best["method"]].summary
    scores = [r for r in rows(result.scores) if r["metric"] == "accuracy"]
    assert {(r["method"], r["split"]) for r in scores} == {
        (m, s) for m in ("Late fusion", "Concat") for s in (0, 1)
    }
    mean = np.mean([r["value"] for r in scores if r["method"] == best["method"]])
    assert mean == pytest.approx(best["accuracy"])
    assert result.best_method_ == best["method"]
    check_is_fitted(result.best_estimator_)
    assert result.best_estimator_.score(result.data, result.target) > 0.8
    assert {r["view"] for r in rows(result.importance_)} == {"blood", "image"}
    assert result.failures_ == []
    assert result.data.view_names == ("blood", "image")
    assert "1 × 2-fold cross-validation" in repr(result)


def test_plot_and_report(result, tmp_path):
    display = result.plot()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == display.methods
    assert display.figure_ is display.ax_.figure
    page = result.report(tmp_path / "page.html")
    assert "Late fusion" in page.read_text()
    with pytest.raises(ValueError, match="is a folder"):
        result.report(tmp_path)


FRAMES = {
    "pandas": (pd.DataFrame, pd.DataFrame),
    "polars": (pl.DataFrame, pl.DataFrame),
    "pyarrow": (pa.table, pa.Table),
}


@pytest.mark.parametrize("library", FRAMES)
def test_dataframes(library):
    make, kind = FRAMES[library]
    site = np.where(RNG.random(40) < 0.2, None, np.where(CODES == 1, "north", "south"))
    age = [None if RNG.random() < 0.2 else float(v) for v in RNG.normal(size=40)]
    data = {
        "record": make({"site": site.tolist(), "age": age}),
        "blood": make({"hb": VIEWS["blood"][:, 0], "crp": VIEWS["blood"][:, 1]}),
    }
    methods = ["Consilience", "Late fusion", "SMVMED"]
    with pytest.warns(UserWarning, match="'site' of view 'record' is a copy of the target"):
        result = compare(data, Y, methods=methods, cv=2, repeats=1, metric="accuracy")
    assert isinstance(result.ranking, kind)
    assert isinstance(result.scores, kind)
    assert result.failures_ == []
    assert all(row["accuracy"] > 0.5 for row in ranked(result))


def test_mudata():
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    names = [f"s{i}" for i in range(40)]
    part = {
        name: anndata.AnnData(
            X, obs=pd.DataFrame(index=names), var=pd.DataFrame(index=[f"{name}{j}" for j in "123"])
        )
        for name, X in VIEWS.items()
    }
    part["image"] = part["image"][:30].copy()
    with settled_mudata():
        data = mudata.MuData(part)
    result = compare(data, Y, **QUICK)
    assert result.data.view_names == ("blood", "image")
    assert result.data.present.sum() == 70
    assert rows(result.ranking)[0]["accuracy"] > 0.5


def test_without_dataframe_libraries(result, monkeypatch):
    monkeypatch.setattr(_result, "_frame_library", lambda data: None)
    ranking = result.ranking
    assert isinstance(ranking, list)
    assert ranking[0]["method"] == result.best_method_


class Own(ClassifierMixin, BaseEstimator):
    """Not known to any worker by name when it is defined in ``__main__``."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X + self.shift, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X + self.shift)


def test_methods_of_ones_own():
    methods = {"mine": Own(), "views": LateFusionClassifier(), "Concat": "concat"}
    result = compare(VIEWS, Y, methods=methods, cv=2, repeats=1)
    described = {row["method"]: row["description"] for row in rows(result.ranking)}
    assert described["mine"] == "Own on the concatenated views, columns standardised"
    assert described["views"] == "LateFusionClassifier"
    assert described["Concat"] == METHODS["Concat"].summary
    listed = compare(VIEWS, Y, methods=[KNeighborsClassifier(), Own()], cv=2, repeats=1)
    assert {row["method"] for row in ranked(listed)} == {"KNeighborsClassifier", "Own"}


def test_a_winner_of_ones_own_is_saved_with_consent_only(tmp_path):
    options = {"methods": {"mine": Own()}, "cv": 2, "repeats": 1}
    result = compare(VIEWS, Y, **options, out=tmp_path / "a")
    assert not (tmp_path / "a" / "model.skops").exists()
    assert (tmp_path / "a" / "report.html").exists()
    (note,) = result.notes_
    assert note.startswith("no model was saved: ")
    assert "trusted" in note
    module = Own.__module__
    compare(VIEWS, Y, **options, out=tmp_path / "b", trusted=[module])
    model = load(tmp_path / "b" / "model.skops", trusted=[module])
    assert np.mean(model.predict(MultiViewData(VIEWS)) == Y) > 0.7
    with pytest.raises(ValueError, match="Own"):
        load(tmp_path / "b" / "model.skops")


def test_a_report_can_be_rewritten_without_the_classes(tmp_path):
    from benchmark.studies import run_in_process

    compare(VIEWS, Y, methods={"mine": Own()}, cv=2, repeats=1, out=tmp_path)
    page = (tmp_path / "report.html").read_text()
    (tmp_path / "report.html").unlink()
    run_in_process("report", tmp_path)
    assert (tmp_path / "report.html").read_text() == page


def test_a_changed_class_is_fitted_again(tmp_path, monkeypatch):
    fits = []
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    template = (
        "from sklearn.dummy import DummyClassifier\n"
        "class Changing(DummyClassifier):\n    note = {!r}\n"
    )
    for note in ("one", "one", "two"):
        (tmp_path / "changing_module.py").write_text(template.format(note))
        sys.modules.pop("changing_module", None)
        linecache.clearcache()
        importlib.invalidate_caches()
        kind = importlib.import_module("changing_module").Changing
        original = comparison.run_tasks
        monkeypatch.setattr(
            comparison,
            "run_tasks",
            lambda tasks, *args, run=original, **options: (
                fits.append(len(list(tasks))) or run(tasks, *args, **options)
            ),
        )
        options = {"cv": 2, "repeats": 1, "out": tmp_path / "out"}
        if note == "two":
            with pytest.raises(ValueError, match="another study"):
                compare(VIEWS, Y, methods={"mine": kind()}, **options)
        compare(VIEWS, Y, methods={"mine": kind()}, **options, force=note == "two")
        monkeypatch.setattr(comparison, "run_tasks", original)
    main_runs = fits[::3]  # before importance of views and learning curves
    assert main_runs == [4, 0, 4]  # half of them of chance


@pytest.mark.parametrize(
    ("cv", "n_splits", "name"),
    [
        (StratifiedKFold(4), 4, "StratifiedKFold"),
        (ShuffleSplit(3, test_size=10, random_state=0), 3, "ShuffleSplit"),
        ([(np.arange(0, 40, 2), np.arange(1, 40, 2))], 1, "your own"),
        (iter([(np.arange(40) % 2 == 0, np.arange(40) % 2 == 1)]), 1, "your own"),
    ],
    ids=["splitter", "shuffle", "rows", "masks"],
)
def test_splits(cv, n_splits, name):
    result = compare(VIEWS, Y, methods=["Concat"], cv=cv)
    splits = {row["split"] for row in rows(result.scores)}
    assert splits == set(range(n_splits))
    assert f"{n_splits} splits of {name}" in repr(result)


def test_groups_are_passed_to_the_splitter():
    groups = np.tile(np.arange(10), 4)
    result = compare(VIEWS, Y, methods=["Concat"], cv=GroupKFold(5), groups=groups)
    for split in result._results.main.records:
        tested = result._store.predictions(split.task_hash).rows
        assert not set(groups[tested]) & set(np.delete(groups, tested))
    folds = compare(VIEWS, Y, methods=["Concat"], cv=2, repeats=1, groups=groups)
    assert folds.best_method_ == "Concat"


def test_sample_weight_reaches_fits_and_scores():
    # two thirds of the samples have the wrong label, but no weight
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 2)) + 3 * y[:, None]
    wrong = np.arange(120) % 3 > 0
    labels, weight = np.where(wrong, 1 - y, y), np.where(wrong, 0.0, 1.0)
    options = {"methods": ["Early fusion", "Concat"], "cv": 3, "repeats": 1}
    weighted = compare({"v": X}, labels, sample_weight=weight, **options)
    plain = compare({"v": X}, labels, **options)
    assert all(row["accuracy"] > 0.85 for row in ranked(weighted))
    assert not any(row["accuracy"] > 0.85 for row in rows(plain.ranking))
    assert np.mean(weighted.best_estimator_.predict(weighted.data) == y) > 0.9
    refusing = compare(
        {"v": X},
        labels,
        sample_weight=weight + 1,
        methods=[KNeighborsClassifier()],
        cv=2,
        repeats=1,
    )
    assert "does not support sample_weight" in refusing.failures_[0]["error"]
    assert refusing.best_method_ is None
    assert refusing.best_estimator_ is None


class NoMissingViews(ClassifierMixin, BaseEstimator):
    """Takes the views themselves, all of them."""

    takes_multiview = True

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X.to_array(), y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X.to_array())


def test_a_method_without_diagnostics_has_its_scores():
    result = compare(VIEWS, Y, methods=[NoMissingViews()], cv=2, repeats=1)
    assert result.failures_ == []
    assert result.best_method_ == "NoMissingViews"
    assert {row["view"] for row in rows(result.importance_)} == {"blood", "image"}  # permuted
    assert all(np.isnan(row["shapley"]) for row in rows(result.importance_))


def test_failures_are_told():
    data = {**VIEWS, "blood": np.where(VIEWS["blood"] > 1.5, np.nan, VIEWS["blood"])}
    methods = {"mine": EarlyFusionClassifier(), "Late fusion": "Late fusion"}
    result = compare(data, Y, methods=methods, cv=2, repeats=1)
    assert {failure["method"] for failure in result.failures_} == {"mine"}
    assert sum(failure["n_fits"] for failure in result.failures_) == 2
    assert "partially missing" in result.failures_[0]["error"]
    assert result.best_method_ == "Late fusion"
    assert [row["rank"] for row in rows(result.ranking)][:1] == [1]


BAD = {
    "metric": ({"metric": "auc"}, ValueError, "metric must be one of accuracy"),
    "random_state": ({"random_state": None}, ValueError, "random_state must be an int"),
    "bool seed": ({"random_state": True}, ValueError, "random_state must be an int"),
    "repeats": ({"repeats": 0}, ValueError, "repeats must be an int of at least 1"),
    "tune": ({"tune": "no"}, TypeError, "tune must be True or False"),
    "budget": ({"time_budget": 0}, ValueError, "time_budget must be positive"),
    "cv": ({"cv": "five"}, TypeError, "cv must be an int, a splitter or an iterable"),
    "cv number": ({"cv": 21}, ValueError, "cv must be between 2 and 20"),
    "no splits": ({"cv": []}, ValueError, "cv has no splits"),
    "overlap": ({"cv": [([0, 1], [1, 2])]}, ValueError, "both for training and for test"),
    "out of range": ({"cv": [([0, 1], [99])]}, ValueError, "between 0 and 39"),
    "no rows": ({"cv": [([0, 1], [])]}, ValueError, "test rows of split 0 must be row numbers"),
    "no pair": ({"cv": [[0, 1, 2]]}, ValueError, r"must be a pair \(train, test\)"),
    "unknown method": ({"methods": ["Duo"]}, ValueError, "unknown method 'Duo'"),
    "one string": ({"methods": "Concat"}, TypeError, r"write \['Concat'\]"),
    "no methods": ({"methods": []}, ValueError, "methods is empty"),
    "twice": ({"methods": [Own(), Own(1)]}, ValueError, "two methods are called 'Own'"),
    "taken": ({"methods": {"Concat": Own()}}, ValueError, "is the name of a known method"),
    "chance": ({"methods": {"Chance": Own()}}, ValueError, "name of the chance level"),
    "renamed": ({"methods": {"c": "Concat"}}, ValueError, "keeps its name"),
    "no classifier": ({"methods": {"c": 3}}, TypeError, "method 'c' must be a classifier"),
    "a class": ({"methods": [Own]}, TypeError, r"the class Own; write Own\(\)"),
    "empty groups": (
        {"groups": pd.array([1, pd.NA] * 20, dtype="Int64")},
        ValueError,
        r"groups is None or NaN in rows 1, 3, 5, 7, 9, \.\.\.; fill it in",
    ),
    "groups": ({"groups": [1, 2]}, ValueError, "groups must have"),
    "weights": ({"sample_weight": -np.ones(40)}, ValueError, "sample_weight is negative in row 0"),
    "n_jobs": ({"n_jobs": 0}, ValueError, "n_jobs"),
}


def test_columns_with_numbers_as_names_and_groups_of_several_types():
    frame = pd.DataFrame(VIEWS["blood"])
    frame[3] = pd.Categorical([1, 2, 3, 4] * 10)
    frame[4] = pd.cut(frame[0], 3)
    frame[5] = pd.date_range("2020-01-01", periods=20).repeat(2)
    views = {**VIEWS, "blood": frame}
    groups = [1, "u", 2.5, "v"] * 10
    quick = {"methods": ["Concat"], "cv": 2, "repeats": 1}
    result = compare(views, Y, groups=groups, keep=["5"], **quick)
    roles = {group.role: group.columns for group in result._run.data.columns}
    assert roles == {"number": ["0", "1", "2"], "category": ["3", "4"], "date": ["5"]}
    assert result.best_estimator_.predict(views).shape == (40,)


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(case, tmp_path):
    options, kind, message = BAD[case]
    with pytest.raises(kind, match=message):
        compare(VIEWS, Y, **{"out": tmp_path / "out", **options})
    assert not (tmp_path / "out").exists()


def test_bad_data():
    with pytest.raises(ValueError, match="view 'blood' has no columns"):
        compare({**VIEWS, "blood": pd.DataFrame(index=range(40))}, Y)
    levels = pd.concat({"u": pd.DataFrame(VIEWS["blood"])}, axis=1)
    with pytest.raises(ValueError, match=r"view 'blood' has columns with names of several levels"):
        compare({**VIEWS, "blood": levels}, Y)
    with pytest.raises(ValueError, match="X has 40 samples, but y has 39"):
        compare(VIEWS, Y[:-1])
    with pytest.raises(ValueError, match="class 'odd' has only one sample"):
        compare(VIEWS, np.r_[Y[:-1], ["odd"]])
    with pytest.raises(ValueError, match="only one class"):
        compare(VIEWS, np.full(40, "ill"))
    infinite = {**VIEWS, "image": np.where(np.eye(40, 3, k=-7) > 0, np.inf, VIEWS["image"])}
    with pytest.raises(ValueError, match="view 'image' contains infinity: row 7, column 0"):
        compare(infinite, Y)
    hole = {name: np.where(np.arange(40)[:, None] == 3, np.nan, X) for name, X in VIEWS.items()}
    with pytest.raises(ValueError, match="1 samples have no view at all: rows 3"):
        compare(hole, Y)
    with pytest.raises(TypeError, match="needs data in memory"):
        compare({"v": da.from_array(VIEWS["blood"])}, Y)


def test_out_must_be_a_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="is a file"):
        compare(VIEWS, Y, **QUICK, out=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_leave_one_out_has_no_interval_problem():
    few = {name: X[10:30] for name, X in VIEWS.items()}
    result = compare(few, Y[10:30], methods=["Concat"], cv=LeaveOneOut())
    (row,) = ranked(result)
    chance = next(row for row in rows(result.ranking) if row["method"] == "Chance")
    assert chance["accuracy"] == 0.5  # although the training rows have more of the other class
    assert 0 <= row["low"] <= row["accuracy"] <= row["high"] <= 1


SCRIPT = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from consilience import compare

class Mine(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.mean_ = {c: X[y == c].mean(axis=0) for c in self.classes_}
        return self
    def predict(self, X):
        gaps = [((X - self.mean_[c]) ** 2).sum(axis=1) for c in self.classes_]
        return self.classes_[np.argmin(gaps, axis=0)]

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 30)
X = {"a": rng.normal(size=(60, 3)) + y[:, None], "b": rng.normal(size=(60, 3))}
result = compare(X, y, methods=[Mine(), "Concat"], cv=2, repeats=1, n_jobs=2)
print(result.failures_, sorted(result.ranking["method"]), result.best_estimator_ is not None)
"""


def test_a_class_of_main_runs_in_this_process(tmp_path):
    # with worker processes for the other method, and without a guard around the main module
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "[] ['Chance', 'Concat', 'Mine'] True\n", done.stderr
    assert done.stderr == ""


def test_no_file_is_left_behind(result):
    assert not Path("results.sqlite").exists()


class FakeHandle:
    def __init__(self, shown):
        self.shown = shown

    def update(self, content, raw):
        assert raw
        self.shown.append(content["text/plain"])


def test_progress_in_a_notebook(monkeypatch, capsys):
    shown = []

    def display(content, *, raw, display_id):
        assert raw
        assert display_id
        shown.append(content["text/plain"])
        return FakeHandle(shown)

    module = type(sys)("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython", type(sys)("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    compare(VIEWS, Y, **QUICK)
    assert shown[0] == "6 fits"  # two of them of chance
    assert "1 of 6 fits" in shown[1]
    assert "left: comparison" in shown[1]
    assert capsys.readouterr() == ("", "")


def test_a_script_is_silent_unless_told(capsys):
    compare(VIEWS, Y, **QUICK)
    assert capsys.readouterr() == ("", "")
    compare(VIEWS, Y, **QUICK, verbose=True)
    assert "6 of 6 fits" in capsys.readouterr().err


def test_share_of_empty_cells_is_not_rounded_to_none():
    X = np.zeros((1001, 1999))
    X[3, 4] = np.nan
    summary = _from_problem("x", Problem(MultiViewData({"rna": X}), np.arange(1001) % 2)).summary
    assert summary.views[0].missing_cells == pytest.approx(1 / X.size, rel=1e-5)
    frame = pl.DataFrame({"a": [0.5, float("nan"), None, 2.0], "b": ["u", "v", "v", None]})
    problem = Problem(MultiViewData({"t": frame}), np.array([0, 1, 0, 1]))
    assert _from_problem("x", problem).summary.views[0].missing_cells == 3 / 8
