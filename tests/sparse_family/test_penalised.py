"""Sparse group lasso, cooperative learning and stacking: limits, panels, choices, errors."""

from dataclasses import dataclass

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from consilience import MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.distributed import BlockSequence
from consilience.sparse import (
    BlockSPLSDAClassifier,
    CooperativeClassifier,
    CooperativeClassifierCV,
    SparseGroupLogisticClassifier,
    SparseGroupLogisticClassifierCV,
    StackedPenalisedClassifier,
)
from consilience.sparse._cross_validation import choose_penalty
from consilience.sparse._penalised import PATH_FACTOR, PATH_TOL, solve_from_above

DATA, Y = make_multiview_classification(
    90, n_views=3, n_features=[6, 5, 4], n_classes=3, strength=[2, 2, 0], random_state=0
)
BINARY = (Y > 0).astype(int)
TIGHT = {"tol": 1e-13}
ALL = [
    BlockSPLSDAClassifier(),
    CooperativeClassifier(),
    SparseGroupLogisticClassifier(),
    StackedPenalisedClassifier(n_penalties=4),
]


def names(model):
    return type(model).__name__


@pytest.mark.parametrize("y", [BINARY, Y], ids=["two classes", "three classes"])
def test_without_agreement_views_are_concatenated(y):
    one = MultiViewData({"all": DATA.to_array()})
    several = CooperativeClassifier(rho=0, **TIGHT).fit(DATA, y)
    early = CooperativeClassifier(rho=0.5, **TIGHT).fit(one, y)  # nothing to agree with
    np.testing.assert_allclose(several.predict_proba(DATA), early.predict_proba(one), atol=1e-6)
    assert several.lambda_ == pytest.approx(early.lambda_)


def test_one_penalised_group_of_lassos_is_the_lasso():
    lasso = SparseGroupLogisticClassifier(0.2, l1_ratio=1.0, **TIGHT).fit(DATA, Y)
    net = CooperativeClassifier(0.2, rho=0, l1_ratio=1.0, **TIGHT).fit(DATA, Y)
    np.testing.assert_allclose(lasso.predict_proba(DATA), net.predict_proba(DATA), atol=1e-6)


def test_lasso_is_that_of_scikit_learn():
    X = StandardScaler().fit_transform(DATA.to_array())
    model = CooperativeClassifier(0.1, rho=0, l1_ratio=1.0, **TIGHT).fit(DATA, BINARY)
    C = 1 / (len(X) * model.lambda_)
    lasso = {"penalty": "l1"} if sklearn.__version__ < "1.8" else {"l1_ratio": 1.0}
    other = LogisticRegression(C=C, **lasso, solver="saga", tol=1e-10, max_iter=100_000)
    np.testing.assert_allclose(
        model.predict_proba(DATA), other.fit(X, BINARY).predict_proba(X), atol=1e-5
    )


def test_agreement_brings_contributions_together():
    def disagreement(rho):
        model = CooperativeClassifier(0.05, rho=rho).fit(DATA, BINARY)
        parts = model.view_decision_function(DATA)
        return ((parts[:, 0] - parts[:, 1]) ** 2).mean()

    assert disagreement(10) < 0.5 * disagreement(1) < 0.5 * disagreement(0)


def test_penalty_of_one_leaves_the_prior():
    for model in (SparseGroupLogisticClassifier(1.0), CooperativeClassifier(1.0)):
        model.fit(DATA, Y)
        assert not any(len(columns) for columns in model.selected_.values())
        np.testing.assert_allclose(model.predict_proba(DATA)[0], model.class_prior_, atol=1e-8)
        np.testing.assert_allclose(model.view_weights_, 1 / 3)


def test_groups_are_selected_as_a_whole():
    labels = {"view0": np.array([0, 0, 1, 1, 2, 2])}
    model = SparseGroupLogisticClassifier(0.6, l1_ratio=0.0, column_groups=labels).fit(DATA, Y)
    used = np.isin(np.arange(6), model.selected_["view0"]).reshape(3, 2)
    assert (used[:, 0] == used[:, 1]).all()
    assert len(model.selected_["view2"]) == 0


def test_interleaved_groups_are_those_of_sorted_columns():
    order = np.array([0, 3, 1, 4, 2, 5])
    labels = np.array([0, 0, 1, 1, 2, 2])
    X = DATA["view0"]
    plain = SparseGroupLogisticClassifier(0.3, column_groups={"a": labels}).fit({"a": X}, Y)
    mixed = SparseGroupLogisticClassifier(0.3, column_groups={"a": labels[order]})
    mixed.fit({"a": X[:, order]}, Y)
    np.testing.assert_allclose(mixed.coef_["a"], plain.coef_["a"][:, order], atol=1e-6)


def test_unpenalised_view_is_always_used():
    model = SparseGroupLogisticClassifier(1.0, unpenalised=["view2"]).fit(DATA, BINARY)
    assert [len(model.selected_[name]) for name in DATA.view_names] == [0, 0, 4]
    X = DATA["view2"]
    plain = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, BINARY)
    np.testing.assert_allclose(model.coef_["view2"], plain.coef_[0], atol=1e-4)


def test_adaptive_weights_favour_large_coefficients():
    data, y = make_multiview_classification(
        100, n_views=2, n_features=[5, 60], strength=[3, 0], random_state=1
    )
    plain = SparseGroupLogisticClassifier(0.1, l1_ratio=1.0).fit(data, y)
    adaptive = SparseGroupLogisticClassifier(0.1, l1_ratio=1.0, adaptive=1.0).fit(data, y)
    assert len(adaptive.selected_["view1"]) < len(plain.selected_["view1"])


@pytest.mark.parametrize("model", ALL, ids=names)
def test_sparse_views_give_the_same_model(model):
    dense = {"a": np.where(DATA["view0"] > 0.5, DATA["view0"], 0.0), "b": DATA["view1"]}
    present = np.random.default_rng(0).random((len(Y), 2)) > 0.2
    present[~present.any(axis=1)] = True
    one = model.fit(MultiViewData(dense, present=present), Y)
    expected = one.decision_function(dense)
    sparse = MultiViewData({"a": sp.csr_array(dense["a"]), "b": dense["b"]}, present=present)
    np.testing.assert_allclose(model.fit(sparse, Y).decision_function(dense), expected, atol=1e-4)


@pytest.mark.parametrize("model", ALL, ids=names)
def test_blocks_kernels_and_missing_labels_are_errors(model):
    with pytest.raises(TypeError, match="does not support X in blocks"):
        model.fit(BlockSequence(lambda: iter([(DATA, Y)])))
    arrays = {name: da.from_array(np.asarray(DATA[name]), chunks=20) for name in DATA.view_names}
    with pytest.raises(TypeError, match=r"does not support X in blocks.*MVLSVMClassifier"):
        model.fit(arrays, Y)
    kernel = MultiViewData({"k": np.eye(len(Y))}, kinds={"k": "kernel"})
    with pytest.raises(TypeError, match="'k' is a kernel view"):
        model.fit(kernel, Y)
    with pytest.raises(TypeError, match="y is None in row 0"):
        model.fit(DATA, [None, *Y[1:]])


@pytest.mark.parametrize("model", ALL, ids=names)
def test_class_weights_are_sample_weights(model):
    weight = np.where(Y[0] == Y, 3.0, 1.0)
    by_sample = clone(model).fit(DATA, Y, sample_weight=weight).decision_function(DATA)
    classes = {label: 3.0 if label == Y[0] else 1.0 for label in np.unique(Y)}
    by_class = clone(model).set_params(class_weight=classes).fit(DATA, Y).decision_function(DATA)
    np.testing.assert_allclose(by_class, by_sample, atol=1e-10)
    assert not np.allclose(by_class, clone(model).fit(DATA, Y).decision_function(DATA))


def test_stacking_selects_views():
    model = StackedPenalisedClassifier(n_penalties=10, rule="1se").fit(DATA, Y)
    assert model.final_coef_.min() >= 0
    assert model.view_weights_[2] < 0.1
    assert model.score(DATA, Y) > 0.6
    names = [n for n, weight in zip(DATA.view_names, model.final_coef_, strict=True) if weight > 0]
    assert [n for n, columns in model.selected_.items() if len(columns)] == names


@pytest.mark.parametrize(
    "model",
    [
        CooperativeClassifierCV([0, 0.5], n_penalties=5, cv=3),
        SparseGroupLogisticClassifierCV([0.2, 0.9], n_penalties=5, cv=3),
    ],
    ids=names,
)
def test_cross_validation_chooses_the_smallest_loss(model):
    model.fit(DATA, Y)
    mean = model.scores_.mean(axis=0)
    assert model.best_score_ == mean.min()
    assert model.penalty_ in model.penalties_[np.flatnonzero((mean == mean.min()).any(axis=0))]
    sparser = type(model)(**{**model.get_params(), "rule": "1se"}).fit(DATA, Y)
    assert sparser.penalty_ >= model.penalty_


def test_choice_within_a_standard_error():
    scores = np.array([[[3.0, 1.2, 1.0, 2.0]], [[3.0, 1.4, 1.6, 2.0]]])
    assert choose_penalty(scores, "best") == (0, 1)
    scores = np.array([[[3.0, 1.4, 1.0, 2.0]], [[3.0, 1.4, 1.6, 2.0]]])
    assert choose_penalty(scores, "best") == (0, 2)
    assert choose_penalty(scores, "1se") == (0, 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"unpenalised": ["nothing"]}, "unpenalised names unknown views: 'nothing'"),
        ({"unpenalised": ["view0", "view1", "view2"]}, "leave at least one view"),
        ({"column_groups": {"x": [1]}}, "column_groups names unknown views"),
        ({"column_groups": {"view0": [1]}}, "one label for each of the 6 columns"),
        ({"view_penalties": {"view0": 1.0}}, "missing"),
    ],
)
def test_errors(parameters, message):
    with pytest.raises(ValueError, match=message):
        SparseGroupLogisticClassifier(**parameters).fit(DATA, Y)


def test_too_few_iterations_give_a_warning():
    with pytest.warns(UserWarning, match="stopped at a duality gap"):
        CooperativeClassifier(0.01, max_iter=1).fit(DATA, Y)


@pytest.mark.parametrize("model", ALL, ids=names)
def test_sparse_columns_far_from_zero(model):
    far = {name: np.asarray(X) + 1e6 for name, X in DATA.items()}
    sparse = {name: sp.csr_array(X) for name, X in far.items()}
    expected = clone(model).fit(far, BINARY).decision_function(far)
    result = clone(model).fit(sparse, BINARY).decision_function(sparse)
    np.testing.assert_allclose(result, expected, atol=1e-5)


def test_stacking_warns_of_solutions_that_are_not_exact():
    with pytest.warns(ConvergenceWarning, match="stopped before tol=3.0e-16 was reached for view"):
        StackedPenalisedClassifier(n_penalties=3, tol=3e-16).fit(DATA, BINARY)


class RecordingSolver:
    """A solver that notes its penalties and tolerances, and takes one iteration more each time."""

    lam_max, null_loss, tol = 1.0, 4.0, 1e-9

    def __init__(self):
        self.calls = []

    def solve(self, lam):
        self.calls.append((lam, self.tol))
        return Solved(lam, len(self.calls))


@dataclass
class Solved:
    lam: float
    n_iter: int


def test_penalties_from_above_end_with_the_given_one():
    solver = RecordingSolver()
    lam = 0.9 * PATH_FACTOR**3
    point = solve_from_above(solver, lam)
    expected = [PATH_FACTOR, PATH_FACTOR**2, PATH_FACTOR**3, lam]
    np.testing.assert_allclose([call[0] for call in solver.calls], expected)
    assert [call[1] for call in solver.calls] == [PATH_TOL * 4.0] * 3 + [1e-9]
    assert point == Solved(lam, 1 + 2 + 3 + 4)
    assert solver.tol == 1e-9
