"""Hints at columns that contain the target."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from consilience import MultiViewData
from consilience.comparison.inputs import read_files, read_views
from consilience.tables import FileArgument
from consilience.tables._leakage import leakage_notes

N = 200


def noise(seed=0, width=5):
    return np.random.default_rng(seed).normal(size=(N, width))


def labels(n_classes=2):
    return np.random.default_rng(9).permutation(np.arange(N) % n_classes)


def frame(seed=0, **columns):
    return pd.DataFrame(noise(seed), columns=list("abcde")).assign(**columns)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_copy_of_the_target(n_classes):
    y = labels(n_classes)
    names = np.array(["u", "v", "w"])[y]
    empty = np.arange(N) < 10
    texts = pd.Series(names, dtype=object)
    for column in (names, y, -y * 2.5, texts.mask(empty, None), texts.mask(empty, np.nan)):
        notes = leakage_notes(MultiViewData({"a": frame(copy=column), "b": noise(1)}), y)
        assert notes == ["'copy' of view 'a' is a copy of the target: each value means one class"]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_column_that_tells_the_classes_apart(n_classes):
    y = labels(n_classes)
    telling = y + np.random.default_rng(1).uniform(0, 0.9, N)
    views = {"a": frame(), "b": np.c_[noise(1), telling], "c": sp.csr_array(noise(2))}
    notes = leakage_notes(MultiViewData(views), y)
    assert len(notes) == 1
    assert notes[0].startswith("'5' of view 'b' alone tells the classes apart")


@pytest.mark.parametrize("kind", ["text", "number"])
def test_a_column_that_names_patients(kind):
    number = np.repeat(np.random.default_rng(3).permutation(40), 5)
    y = np.random.default_rng(4).integers(0, 2, 40)[number]
    patient = number if kind == "number" else [f"P{i:02d}" for i in number]
    data = MultiViewData({"a": frame(patient=patient), "b": noise(1)})
    (note,) = leakage_notes(data, y)
    assert note.startswith("'patient' of view 'a' has one class for each of its values; if it")
    assert leakage_notes(MultiViewData(dict(data.items()), groups=number), y) == []
    # labels that vary within patients, and counts, are no reason for a note
    assert leakage_notes(data, labels()) == []
    counts = np.random.default_rng(5).poisson(20 + 10 * y)
    assert leakage_notes(MultiViewData({"a": frame(count=counts)}), y) == []


def test_patients_in_a_column_of_no_view(tmp_path):
    number = np.repeat(np.arange(40), 5)
    y = np.random.default_rng(4).integers(0, 2, 40)[number]
    path = tmp_path / "visits.csv"
    frame(patient=[f"P{i:02d}" for i in number], label=y).to_csv(path, index=False)
    options = {"target": "label", "views": "ab=a:b,cd=c:e"}
    notes = read_files([FileArgument(path, None)], **options).summary.notes
    assert any("column 'patient' has one class for each of its values" in note for note in notes)
    assert any("--groups patient" in note for note in notes)
    grouped = read_files([FileArgument(path, None)], groups="patient", **options).summary.notes
    assert not any("one class for each" in note for note in grouped)


def test_compare_warns_of_leaks():
    number = np.repeat(np.arange(40), 5)
    y = np.random.default_rng(4).integers(0, 2, 40)[number]
    views = {"a": frame(patient=number), "b": frame(1)}
    with pytest.warns(UserWarning, match="'patient' of view 'a' has one class for each"):
        read_views(views, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_views(views, y, groups=number)


def test_useful_columns_are_no_leaks():
    from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

    for load in (load_breast_cancer, load_digits, load_iris, load_wine):
        X, y = load(return_X_y=True)
        assert leakage_notes(MultiViewData({"a": X}), y) == []
    for seed in range(5):
        y = np.random.default_rng(seed).integers(0, 2, 40)
        assert leakage_notes(MultiViewData({"a": noise(seed, 200)[:40]}), y) == []


def test_columns_in_two_views_and_constant_views():
    table = frame()
    present = np.ones((N, 3), dtype=bool)
    views = {"a": table, "b": np.c_[noise(1), table["c"]], "c": np.ones((N, 2))}
    assert leakage_notes(MultiViewData(views, present=present), labels()) == [
        "equal columns in two views: 'c' of view 'a' and '5' of view 'b'",
        "view 'c' is constant and contains no information",
    ]


def test_many_columns_are_inspected_quickly():
    rng = np.random.default_rng(0)
    data = MultiViewData({"a": rng.normal(size=(300, 20_000)).astype(np.float32)})
    started = time.process_time()
    assert leakage_notes(data, rng.integers(0, 2, 300)) == []
    assert time.process_time() - started < 10
