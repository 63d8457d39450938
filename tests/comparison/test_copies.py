"""Samples that occur twice are named before scores are believed."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from consilience.comparison._copies import copy_notes
from consilience.comparison.inputs import read_files, read_views
from consilience.tables import FileArgument
from consilience.views import MultiViewData

rng = np.random.RandomState(0)
A, B = rng.randn(150, 5), rng.randn(150, 3)
TWICE = np.r_[np.arange(150), np.arange(10)]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame])
def test_exact_copies(convert):
    data = MultiViewData({"a": convert(A[TWICE]), "b": B[TWICE]})
    (note,) = copy_notes(data)
    assert note.startswith("10 samples are exact copies of another one (such as 150 and 0, 151 and")
    assert not copy_notes(data.with_groups(np.arange(160) % 150))
    assert not copy_notes(data[np.arange(150)])


def test_a_single_copy_is_no_reason_for_a_note():
    for n_copies in (1, 2):
        rows = np.r_[np.arange(40), np.arange(n_copies)]
        notes = copy_notes(MultiViewData({"a": A[rows], "b": B[rows]}))
        assert len(notes) == (n_copies > 1)


def test_near_copies():
    rows = np.r_[A, A + 1e-3 * rng.randn(150, 5)]
    (note,) = copy_notes(MultiViewData({"a": rows}))
    assert note.startswith("300 rows of view 'a' are nearly copies")


def test_samples_of_few_values_are_equal_by_chance():
    assert not copy_notes(MultiViewData({"a": rng.randint(2, size=(500, 4)).astype(float)}))
    letters = pd.DataFrame({"c": rng.choice(list("abc"), 500), "d": rng.choice(list("xy"), 500)})
    assert not copy_notes(MultiViewData({"a": letters}))


def test_sparse_and_incomplete_samples_are_equal_by_chance():
    few = sp.random_array((300, 20), density=0.02, rng=np.random.default_rng(0), format="csr")
    assert not copy_notes(MultiViewData({"a": few}))
    people = np.c_[rng.randint(18, 90, 300), rng.randint(2, size=300)].astype(float)
    assert not copy_notes(MultiViewData({"a": people}))
    present = np.c_[rng.rand(300) > 0.3, np.ones(300, dtype=bool)]
    views = {"genes": rng.randn(300, 5), "sex": rng.randint(2, size=(300, 1)).astype(float)}
    assert not copy_notes(MultiViewData(views, present=present))


def test_kernels_and_documents_have_no_columns():
    texts = np.array([f"word{i % 7} other" for i in range(150)], dtype=object)
    kernel = MultiViewData({"k": A @ A.T, "b": B}, kinds={"k": "kernel"})
    assert not copy_notes(kernel)
    assert read_views(kernel, np.arange(150) % 2).summary.notes is not None
    assert not copy_notes(MultiViewData({"t": texts, "b": B}))


def test_notes_of_a_study(tmp_path):
    y = rng.randint(2, size=160)
    problem = read_views({"a": A[TWICE], "b": B[TWICE]}, y)
    assert any("exact copies" in note for note in problem.summary.notes)
    columns = {f"x{j}": A[TWICE, j] for j in range(5)}
    pd.DataFrame({**columns, "y": y}).to_csv(tmp_path / "t.csv", index=False)
    problem = read_files([FileArgument(tmp_path / "t.csv", None)], target="y")
    assert any("exact copies" in note for note in problem.summary.notes)
