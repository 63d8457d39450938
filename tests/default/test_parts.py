"""The parts of the default classifier against slow twins."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import rbf_kernel

from consilience import ConsilienceClassifier, MultiViewData
from consilience._copies import row_keys
from consilience._default import _columns, _kernel, _linear
from consilience._default._combine import fit_stacking_weights
from consilience._default._components import (
    fit_components,
    fit_kernel_components,
    left_out_components,
)
from consilience._default._kernel import fit_kernel_member
from consilience._default._reference_set import (
    N_DONORS,
    ReferenceView,
    choose_landmarks,
    distances_to_references,
    imputed_distances,
    joint_distances,
    make_reference_set,
)
from consilience._default._rows import merge_rows
from consilience._default._trees import PRIOR_WEIGHT, pool_votes
from consilience._solvers import eigen
from consilience._solvers.kernel_ridge import exact_ridge, kernel_ridge, solve_kernel_ridge
from consilience._solvers.nystrom import nystrom_ridge
from reference import default as slow
from reference.failing_eigh import fail_first


@pytest.mark.parametrize("chunk_cells", [7, 10_000])
def test_columns_far_from_zero_in_single_precision(monkeypatch, chunk_cells):
    X = np.random.RandomState(0).standard_normal((50, 3)) ** 3 + [0.0, 1e7, 1e40]
    data = MultiViewData({"a": X, "b": sp.csr_array(X)})
    monkeypatch.setattr(_columns, "CHUNK_CELLS", chunk_cells)
    expected = _columns.fit_columns(data, np.ones(50))[1].raw
    monkeypatch.setattr(_columns, "FLOAT64_MAX_CELLS", 0)
    for block, exact in zip(_columns.fit_columns(data, np.ones(50))[1].raw, expected, strict=True):
        assert block.dtype == np.float32
        np.testing.assert_allclose(block, exact, atol=1e-6)


@given(seed=st.integers(0, 10_000))
def test_distances_to_means(seed):
    """Missing rows at the mean of their donors, from distances alone."""
    rng = np.random.RandomState(seed)
    Xs = [rng.randn(25, 3), rng.randn(25, 5)]
    present = rng.random_sample((25, 2)) < 0.7
    present[~present.any(axis=1)] = True
    present[:2] = True
    held = [np.flatnonzero(present[:, v]) for v in range(2)]
    Ds = [slow.distances(X[rows], X[rows]) for X, rows in zip(Xs, held, strict=True)]
    view_weights = np.array([0.3, 0.7])
    views = [
        ReferenceView(f"v{v}", "features", 1.0, rows=X[rows])
        for v, (X, rows) in enumerate(zip(Xs, held, strict=True))
    ]
    reference_set = make_reference_set(views, present, Ds, view_weights)
    joint = joint_distances(Ds, present, view_weights)
    new = MultiViewData({"v0": rng.randn(4, 3), "v1": rng.randn(4, 5)})
    mapped = {name: new[name] for name in new.view_names}
    completed = distances_to_references(reference_set, Ds, view_weights, new, mapped)
    for v in range(2):
        k = min(N_DONORS, len(held[v]))
        filled = slow.mean_imputed(Xs[v], present[:, v], joint, k)
        np.testing.assert_allclose(
            imputed_distances(reference_set, v, Ds[v]), slow.distances(filled, filled), atol=1e-9
        )
        np.testing.assert_allclose(completed[v], slow.distances(new[f"v{v}"], filled), atol=1e-9)


@pytest.mark.parametrize("n_failures", [1, 2])
def test_eigendecomposition_falls_back_to_other_drivers(monkeypatch, n_failures):
    # texts from few templates: almost all eigenvalues of their Gram matrix coincide
    X = np.eye(30)[np.arange(30) % 4] + 1e-9 * np.random.RandomState(0).randn(30, 30)
    expected = fit_components(X[:, :12])
    values, vectors = eigen.symmetric_eigh(X @ X.T)
    calls = fail_first(monkeypatch, n_failures)
    components = fit_components(X[:, :12])
    assert len(calls) == n_failures + 1
    np.testing.assert_allclose(components.apply(X[:, :12]), expected.apply(X[:, :12]), atol=1e-8)
    calls.clear()
    again, other = eigen.symmetric_eigh(X @ X.T)
    np.testing.assert_allclose(again, values, atol=1e-10)
    np.testing.assert_allclose((other * again) @ other.T, (vectors * values) @ vectors.T, atol=1e-9)


TEMPLATES = (
    "patient number {i} came with a cough",
    "case {i} case {i}",
    "subject {i}",
    "id {i} x",
    "the {i} th sample has fever",
)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("n", [50, 100])
@pytest.mark.parametrize("token_pattern", [r"\w+", r"\w\w+"])
def test_texts_from_a_template(template, n, token_pattern):
    texts = [template.format(i=i) for i in range(n)]
    X = TfidfVectorizer(token_pattern=token_pattern, dtype=np.float32).fit_transform(texts)
    components = fit_components(X)
    assert np.isfinite(components.apply(X)).all()
    of_kernel = fit_kernel_components((X @ X.T).toarray())
    assert np.isfinite(of_kernel.directions).all()
    # in single precision LAPACK's fastest driver gives up on some of these
    mean = np.asarray(X.mean(axis=0)).ravel()
    A = (X.T @ X).toarray() / n - np.outer(mean, mean)
    values, vectors = eigen.symmetric_eigh(A, n_largest=20)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-6)


def test_the_default_on_texts_from_a_template():
    texts = [f"patient {i} has {'fever' if i % 2 else 'cough'}" for i in range(120)]
    views = {
        "text": TfidfVectorizer(dtype=np.float32).fit_transform(texts),
        "other": np.random.RandomState(0).randn(120, 3),
    }
    model = ConsilienceClassifier(random_state=0).fit(views, np.arange(120) % 2)
    assert model.score(views, np.arange(120) % 2) > 0.9


def test_a_table_with_numbers_is_no_histogram_of_its_categories():
    """Indicators are mostly zero; the unit of a number beside them must not matter."""
    rng = np.random.RandomState(0)
    y = np.arange(200) % 2
    table = pd.DataFrame({f"c{j}": rng.randint(25, size=200).astype(str) for j in range(4)})
    for scale in (1.0, 4.0**15):
        table["seconds"] = (10 + 2 * y + 0.5 * rng.randn(200)) * scale
        model = ConsilienceClassifier(random_state=0).fit({"t": table[:100]}, y[:100])
        assert model._columns.maps["t"].kind == "standard"
        assert model.score({"t": table[100:]}, y[100:]) > 0.75
    categories = table.drop(columns="seconds")
    model = ConsilienceClassifier(random_state=0).fit({"t": categories}, y)
    assert model._columns.maps["t"].kind == "roots"


def test_ridge_on_an_indefinite_kernel():
    rng = np.random.RandomState(0)
    K = rng.randn(20, 20)
    K = K + K.T
    Y, weight = rng.randn(20, 2), rng.uniform(0.5, 2, 20)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(K + 1 + np.diag(0.1 / weight))
    expected = kernel_ridge(K, Y, weight, [0.1]).coef
    np.testing.assert_allclose(solve_kernel_ridge(K, Y, weight, 0.1), expected, atol=1e-9)


@pytest.mark.parametrize("shape", [(30, 6), (20, 50), (30, 25)])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_components(shape, convert):
    X = np.random.RandomState(0).randn(*shape) + 3
    expected = slow.principal_components(X, min(20, shape[1], shape[0] - 1))
    fitted = fit_components(convert(X))
    out, atol = fitted.apply(convert(X)), 4 * fitted.grid.max()
    assert atol < 1e-3 * expected.std()
    np.testing.assert_allclose(np.abs(out), np.abs(expected), atol=atol)
    gram = fit_kernel_components(X @ X.T).apply(X @ X.T)
    np.testing.assert_allclose(np.abs(gram), np.abs(expected), atol=atol)


@pytest.mark.parametrize("fit", [fit_components, lambda X: fit_kernel_components(X @ X.T)])
def test_equal_eigenvalues_leave_components_as_they_are(fit):
    """Texts without common terms: rounding must not choose the eigenvectors."""
    X = np.eye(40)[:30] + 0.2 * np.eye(40)[1:31]
    X[20:] = np.eye(40)[20:30]  # these share nothing

    def components(X):
        rows = X @ X.T if fit is not fit_components else X
        return fit(X).apply(rows)

    expected = components(X)
    for seed in range(5):
        noise = 1 + 1e-15 * np.random.RandomState(seed).randn(*X.shape)
        np.testing.assert_allclose(components(X * noise), expected, atol=1e-3)
        assert (np.sign(components(X * noise)) == np.sign(expected)).all()


@pytest.mark.parametrize("agree", [True, False])
def test_rows_are_merged_in_any_order(agree):
    """Equal rows are, if their labels agree."""
    rng = np.random.RandomState(0)
    A, B = rng.randint(3, size=(30, 2)).astype(float), rng.randint(2, size=(30, 1)) - 0.5
    codes = (A[:, 0] > B[:, 0]).astype(int) if agree else rng.randint(2, size=30)
    weight = np.ones(30)
    dense = MultiViewData({"a": A, "b": B})
    sparse = MultiViewData({"a": sp.csr_array(A), "b": sp.csr_array(B)})
    np.testing.assert_array_equal(row_keys(dense), row_keys(sparse))
    rows, merged, copies = merge_rows(dense, codes, weight)
    whole = np.column_stack([A, B, codes])
    assert len(rows) == (len(np.unique(whole, axis=0)) if agree else 30)
    assert merged.sum() == 30
    np.testing.assert_array_equal(whole[rows][np.argsort(copies[rows])][copies], whole)
    turn = rng.permutation(30)
    again, other, _ = merge_rows(dense[turn], codes[turn], weight)
    np.testing.assert_array_equal(whole[turn][again], whole[rows])
    np.testing.assert_array_equal(other, merged)


@pytest.mark.parametrize("values", [[0, 1], [0, 1, 2, 3], [-1, 0, 0.5]])
def test_different_rows_of_few_values_are_not_merged(values):
    """Their bits differ only in a few places."""
    X = np.random.RandomState(0).choice(values, size=(3000, 100))
    for view in (X, sp.csr_array(X), X.astype(np.float32)):
        rows, totals, _ = merge_rows(MultiViewData({"a": view}), np.zeros(3000, int), np.ones(3000))
        assert len(rows) == len(np.unique(X, axis=0)) == 3000
        assert (totals == 1).all()


def test_samples_that_few_columns_cannot_tell_apart():
    """Equal rows of different classes are no copies: they are not left out by class."""
    rng = np.random.RandomState(0)
    X = rng.randint(2, size=(1000, 3)).astype(float)
    is_one = rng.uniform(size=len(X)) < np.where(X[:, 0] == 1, 0.75, 0.2)
    y = np.where(is_one, "one", "other")
    rows, weights, copies = merge_rows(
        MultiViewData({"a": X[:100]}), is_one[:100].astype(int), np.ones(100)
    )
    assert sorted(rows) == sorted(copies) == list(range(100))
    assert (weights == 1).all()
    model = ConsilienceClassifier(n_estimators=50, random_state=0).fit({"a": X[:200]}, y[:200])
    assert model.score({"a": X[200:]}, y[200:]) > 0.74  # at best 0.775, the larger class 0.525
    assert (model.member_scores_ > 0.7).all()


def test_pool_is_a_minimum_and_ignores_failing_members():
    rng = np.random.RandomState(0)
    codes = np.repeat([0, 1], [160, 40])
    good = np.eye(2)[codes] * 0.4 + 0.3 + 0.15 * rng.randn(200, 2)
    junk = np.tile([0.8, 0.2], (200, 1)) + 0.1 * rng.randn(200, 2)
    weight, prior = np.ones(200), np.array([0.8, 0.2])
    factors, bias = fit_stacking_weights(np.stack([good, junk]), codes, weight, prior)
    assert factors[0] > 1.5 * factors[1]
    pooled = np.tensordot(factors, np.stack([good, junk]), axes=1) + bias
    assert (pooled.argmax(axis=1) == codes).mean() >= (good.argmax(axis=1) == codes).mean() - 0.01
    alike, _ = fit_stacking_weights(np.stack([good, good]), codes, weight, prior)
    assert alike[0] == pytest.approx(alike[1], rel=1e-3)
    _, even = fit_stacking_weights(np.stack([good, junk]), codes, weight, np.array([0.5, 0.5]))
    np.testing.assert_array_equal(even, 0)


def test_landmarks_keep_the_shares_of_the_classes():
    codes = np.repeat([0, 1, 2], [800, 150, 50])
    chosen = choose_landmarks(codes, 100)
    assert len(np.unique(chosen)) == 100
    np.testing.assert_allclose(np.bincount(codes[chosen]), [80, 15, 5], atol=1)


@pytest.mark.parametrize("grouped", [False, True])
def test_kernels_of_many_rows_by_other_solvers(monkeypatch, grouped):
    """Eigendecomposition, Cholesky factorisation, and landmarks that are most of the rows."""
    rng = np.random.RandomState(0)
    y = np.arange(120) % 2
    data = MultiViewData({"a": rng.randn(120, 3) + y[:, None], "b": rng.randn(120, 4)})
    mapped = dict(data.items())
    weight, prior = rng.uniform(0.5, 1.5, 120), np.array([0.5, 0.5])
    folds = np.arange(120) % 4 if grouped else None
    monkeypatch.setattr(_kernel, "PENALTIES", np.array([0.1]))
    fits = []
    for limits in ({}, {"EIGEN_MAX_ROWS": 10}, {"EIGEN_MAX_ROWS": 10, "EXACT_MAX_ROWS": 20}):
        for name, value in {**limits, "N_LANDMARKS": 100}.items():
            monkeypatch.setattr(_kernel, name, value)
        member, left_out, tested = fit_kernel_member(data, mapped, y, weight, prior, folds)
        fits.append((member.predict(data, mapped), left_out, tested))
    assert [len(tested) for *_, tested in fits] == [120, 120, 120]
    for (scores, left_out, tested), atol in zip(fits[1:], (1e-5, 0.1), strict=True):
        np.testing.assert_allclose(scores, fits[0][0], atol=atol)
        if grouped or atol < 0.1:
            np.testing.assert_allclose(left_out, fits[0][1][tested], atol=atol)
        else:  # in four folds instead of one by one
            assert np.abs(left_out - fits[0][1][tested]).mean() < 2 * atol


def test_coefficients_for_a_pattern_in_single_precision():
    """The compiled kernel of rows in single precision is that of their distances."""
    rng = np.random.RandomState(0)
    n = _kernel.SINGLE_PRECISION_MIN_ROWS + 1
    y = np.arange(n) % 2
    data = MultiViewData({name: rng.randn(n, 3) + y[:, None] for name in "abc"})
    member, *_ = fit_kernel_member(data, dict(data.items()), y, np.ones(n), np.array([0.5, 0.5]))
    references = member.reference_set
    assert references.views[0].rows.dtype == np.float32
    pattern = np.array([True, False, True])
    Ds = [references.views[v].own_distances() for v in (0, 2)]
    weights = member.view_weights[pattern]
    penalty = np.exp(weights @ np.log(member.view_penalties[pattern]) / weights.sum())
    K = member._combine(Ds, pattern)
    expected = solve_kernel_ridge(K, member.targets, member.weight, penalty)
    np.testing.assert_allclose(member._solve(references, pattern), expected, atol=1e-5)


@pytest.mark.parametrize("folds", [np.arange(80) // 20, np.arange(80) % 5])
@pytest.mark.parametrize("penalty", [0.03, 3.0])
def test_landmarks_of_all_rows_are_exact(folds, penalty):
    """With every row a landmark, Nyström regression is kernel ridge regression."""
    rng = np.random.RandomState(0)
    X, Y, weight = rng.randn(80, 6), rng.randn(80, 2), rng.uniform(0.5, 2, 80)
    K = rbf_kernel(X, gamma=0.3)
    expected = kernel_ridge(K, Y, weight, [penalty], folds)
    exact = exact_ridge(K, Y, weight, penalty, folds)
    np.testing.assert_allclose(exact.coef, expected.coef, atol=1e-9)
    np.testing.assert_allclose(exact.left_out, expected.left_out, atol=1e-9)

    def blocks():
        return [(K + 1)[start : start + 30].astype(np.float32) for start in range(0, 80, 30)]

    near = nystrom_ridge(
        K + 1, blocks, Y, weight, penalty, folds, np.arange(5, 70), folds, tol=1e-6
    )
    fitted = (K + 1) @ expected.coef
    np.testing.assert_allclose((K + 1) @ near.coef, fitted, atol=1e-3)
    np.testing.assert_allclose(near.left_out, expected.left_out[5:70], atol=1e-3)


def test_landmarks_solve_the_normal_equations():
    """The gradient of the penalised error vanishes, with and without a fold and its landmarks."""
    rng = np.random.RandomState(1)
    X, Y, weight = rng.randn(300, 4), rng.randn(300, 3), rng.uniform(0.5, 2, 300)
    K, landmarks = rbf_kernel(X, X[:60], gamma=0.2) + 1, rbf_kernel(X[:60], gamma=0.2) + 1
    blocks = [K[:200].astype(np.float32), K[200:].astype(np.float32)]
    folds = np.arange(300) % 3
    fit = nystrom_ridge(
        landmarks, lambda: blocks, Y, weight, 0.5, folds[:60], np.arange(300), folds, tol=1e-7
    )
    for rows in [folds >= 0] + [folds != f for f in range(3)]:
        part, kept = K[np.ix_(rows, rows[:60])], np.flatnonzero(rows[:60])
        A = part.T @ (weight[rows, None] * part) + 0.5 * landmarks[np.ix_(kept, kept)]
        A += 1e-9 * np.eye(len(kept))
        coef = np.linalg.solve(A, part.T @ (weight[rows, None] * Y[rows]))
        if rows.all():
            np.testing.assert_allclose(K @ fit.coef, K @ coef, atol=0.01)
        else:
            np.testing.assert_allclose(fit.left_out[~rows], K[~rows][:, kept] @ coef, atol=0.01)


@pytest.mark.parametrize("width", [4, 40])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("grouped", [False, True])
def test_linear_member(width, convert, grouped):
    """Each row's scores are those of a regression on the other rows (or folds)."""
    rng = np.random.RandomState(0)
    codes = np.arange(30) % 3
    X = rng.randn(30, width) * (rng.rand(30, width) < 0.7) + np.eye(3, width)[codes]
    targets, weight = np.eye(3)[codes] - 1 / 3, np.ones(30)
    folds = np.arange(30) % 5 if grouped else None
    coef, intercept, left_out = _linear.fit_view(convert(X), targets, weight, folds)
    centred = X - X.mean(axis=0)
    scale = (centred**2).sum() / 30

    def refit(rows, penalty):
        Z = np.column_stack([centred[rows] / np.sqrt(scale), np.ones(len(rows))])
        beta = np.linalg.solve(Z.T @ Z + penalty * np.eye(width + 1), Z.T @ targets[rows])
        return np.column_stack([centred / np.sqrt(scale), np.ones(30)]) @ beta

    fitted = X @ coef + intercept
    penalty = min(_linear.PENALTIES, key=lambda p: np.abs(refit(np.arange(30), p) - fitted).max())
    np.testing.assert_allclose(fitted, refit(np.arange(30), penalty), atol=1e-8)
    if not grouped:
        for row in range(3):
            others = refit(np.delete(np.arange(30), row), penalty)
            np.testing.assert_allclose(left_out[row], others[row], atol=1e-8)


def test_linear_member_leaves_groups_out_of_many_rows(monkeypatch):
    """Rows beyond those that are fitted are predicted without the rows of their fold, too."""
    rng = np.random.RandomState(0)
    folds = np.arange(40) % 4
    X, targets = rng.randn(40, 60) + 1, rng.randn(40, 2)
    monkeypatch.setattr(_linear, "MAX_KERNEL_ROWS", 24)
    monkeypatch.setattr(_linear, "PENALTIES", np.array([1.0]))
    for convert in (np.asarray, sp.csr_array):
        coef, _, left_out = _linear.fit_view(convert(X), targets, np.ones(40), folds)
        centred = X - X.mean(axis=0)
        scale = (centred**2).sum() / 40
        Z = np.column_stack([centred / np.sqrt(scale), np.ones(40)])[:24]
        beta = np.linalg.solve(Z.T @ Z + np.eye(61), Z.T @ targets[:24])
        np.testing.assert_allclose(coef, beta[:-1] / np.sqrt(scale), atol=1e-8)
        for row in (25, 38):
            kept = np.flatnonzero(folds[:24] != folds[row])
            Z = np.column_stack([centred / np.sqrt(scale), np.ones(40)])
            beta = np.linalg.solve(Z[kept].T @ Z[kept] + np.eye(61), Z[kept].T @ targets[kept])
            np.testing.assert_allclose(left_out[row], Z[row] @ beta, atol=1e-8)


def test_linear_member_without_columns_or_variation():
    data = MultiViewData({"a": np.ones((10, 2))})
    args = np.arange(10) % 2, np.ones(10), np.array([0.5, 0.5]), np.ones(1)
    assert _linear.fit_linear_member(data, {"a": np.ones((10, 2))}, *args) is None
    assert _linear.fit_linear_member(data, {}, *args) is None


def test_votes_of_single_views_are_pooled_by_their_logarithms():
    prior, view_weights = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.2])
    present = np.array([[True, True], [True, False], [False, False]])
    votes = {0: np.array([[0.2, 0.8, 0.0], [1.0, 0.0, 0.0]]), 1: np.array([[0.1, 0.1, 0.8]])}
    out = pool_votes(votes, present, view_weights, prior)
    smooth = {v: (held + PRIOR_WEIGHT * prior) / (1 + PRIOR_WEIGHT) for v, held in votes.items()}
    both = smooth[0][0] ** 0.75 * smooth[1][0] ** 0.25
    np.testing.assert_allclose(out[0], both / both.sum())
    one = smooth[0][1] ** 0.75 * prior**0.25
    np.testing.assert_allclose(out[1], one / one.sum())
    np.testing.assert_allclose(out[2], prior)


@pytest.mark.parametrize("shape", [(30, 25), (20, 50)])
def test_left_out_components_are_those_of_new_rows(shape):
    """Projected on the directions of the other folds, then on those of all rows."""
    X, folds = np.random.RandomState(0).randn(*shape) + 3, np.arange(shape[0]) % 3
    of_all = fit_components(X)
    out = left_out_components(X @ X.T, of_all.apply(X), folds, of_all)
    for i in range(shape[0]):
        rest = X[folds != folds[i]]
        _, _, basis = np.linalg.svd(rest - rest.mean(axis=0))
        basis = basis[: min(20, len(rest) - 1)]
        row = basis.T @ basis @ (X[i] - rest.mean(axis=0))
        np.testing.assert_allclose(out[i], of_all.directions.T @ row, atol=4 * of_all.grid.max())


def test_components_of_few_training_rows_are_no_larger_than_those_of_new_rows():
    rng = np.random.RandomState(0)
    X, new = rng.randn(60, 400), rng.randn(500, 400)
    components = fit_components(X)
    of_new = components.apply(new).std(axis=0)
    of_training = components.apply(X)
    assert (of_training.std(axis=0) > 2 * of_new).all()
    left_out = left_out_components(X @ X.T, of_training, np.arange(60) % 5, components)
    assert (left_out.std(axis=0) < 1.5 * of_new).all()


@pytest.mark.parametrize("shape", [(1, 3), (1, 1), (4, 0)])
def test_rows_that_cannot_differ_have_no_components(shape):
    X = np.ones(shape)
    assert fit_components(X).apply(X).shape == (shape[0], 0)


def test_the_whole_kernel_up_to_its_limit(monkeypatch):
    rng = np.random.RandomState(0)
    y = np.arange(41) % 2
    data = MultiViewData({"a": rng.randn(41, 3) + y[:, None]})
    for name, value in {"EIGEN_MAX_ROWS": 5, "EXACT_MAX_ROWS": 40, "N_LANDMARKS": 10}.items():
        monkeypatch.setattr(_kernel, name, value)
    for n, n_references in ((40, 40), (41, 10)):
        part = data[np.arange(n)]
        args = dict(part.items()), y[:n], np.ones(n), np.array([0.5, 0.5])
        member, *_ = fit_kernel_member(part, *args)
        assert len(member.reference_set) == n_references
