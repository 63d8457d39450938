"""MVL-SVM for several C at once, from the Gram matrix, and without imputation."""

import numpy as np
import pytest

from consilience import MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.landmark import MVLSVMClassifier


def problem(n_classes=3, missing_rate=0.0, seed=0):
    return make_multiview_classification(
        120,
        n_views=2,
        n_classes=n_classes,
        strength=1.5,
        missing_rate=missing_rate,
        random_state=seed,
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("imputation", ["em", "none"])
def test_path_is_a_fit_for_each_value(loss, imputation):
    data, y = problem(missing_rate=0.2)
    model = MVLSVMClassifier(8, loss=loss, imputation=imputation, random_state=0)
    Cs = [1.0, 100.0, 10.0]
    for C, fitted in zip(Cs, model.path(data, y, Cs), strict=True):
        assert fitted.C == C
        alone = MVLSVMClassifier(8, C=C, loss=loss, imputation=imputation, random_state=0)
        np.testing.assert_array_equal(fitted.coef_, alone.fit(data, y).coef_)
        assert not hasattr(fitted, "_path_input")
    assert not hasattr(model, "coef_")
    assert model.path(data, y, []) == []
    with pytest.raises(ValueError, match="The 'C' parameter of MVLSVMClassifier"):
        model.path(data, y, [1.0, -1.0])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_gram_solves_the_same_problem(n_classes, C):
    data, y = problem(n_classes)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    settings = {"C": C, "loss": "hinge", "landmarks": "random", "random_state": 0}
    gram, points = (
        MVLSVMClassifier(20, solver=solver, tol=1e-8, **settings).fit(data, y, weight)
        for solver in ("gram", "interior-point")
    )
    scale = np.abs(points.coef_).max()
    np.testing.assert_allclose(gram.coef_, points.coef_, atol=1e-4 * scale)
    with pytest.raises(ValueError, match="solver='gram' needs fit_intercept=True"):
        MVLSVMClassifier(loss="hinge", solver="gram", fit_intercept=False).fit(data, y)
    with pytest.raises(ValueError, match="'solver' parameter"):
        MVLSVMClassifier(solver="gram").fit(data, y)


def test_without_imputation_only_complete_rows_are_learned_from():
    data, y = problem(missing_rate=0.3)
    complete = data.present.all(axis=1)
    landmarks = data[complete][:10]
    settings = {"landmarks": landmarks, "imputation": "none", "gamma": 0.1}
    part = MVLSVMClassifier(**settings).fit(data[complete], y[complete])
    whole = MVLSVMClassifier(**settings).fit(data, y)
    np.testing.assert_allclose(whole.coef_, part.coef_, atol=1e-10)
    # a missing view adds nothing to the decision
    row = int(np.flatnonzero(~data.present[:, 0])[0])
    where = whole.block_slices_[data.view_names[1]]
    M = whole._projection(data)[row, where]
    by_hand = M @ whole.coef_[:, where].T + whole.intercept_
    np.testing.assert_allclose(whole.decision_function(data[[row]])[0], by_hand)


def test_a_class_without_complete_rows_is_never_predicted():
    data, y = problem()
    present = data.present.copy()
    present[y == 2, 0] = False
    incomplete = MultiViewData(dict(data.items()), present=present)
    model = MVLSVMClassifier(5, imputation="none", random_state=0)
    with pytest.warns(UserWarning, match=r"no row of class 2 has all views"):
        model.fit(incomplete, y)
    assert set(model.predict(data)) == {0, 1}
    present[y == 1, 1] = False
    incomplete = MultiViewData(dict(data.items()), present=present)
    with pytest.raises(ValueError, match=r"imputation='none' .* these have 1 class"):
        model.fit(incomplete, y)
