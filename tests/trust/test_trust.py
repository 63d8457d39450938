"""Sets, answers, opinions, mix-ups, wrong labels and advice, on problems with a known answer."""

import warnings

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from conftest import FULL
from consilience import ConsilienceClassifier, MultiViewData
from consilience.datasets import load_digits_views, make_multiview_classification
from consilience.distributed import BlockSequence
from consilience.fusion import LateFusionClassifier
from consilience.io import load, save
from consilience.margin import SMVMEDClassifier
from consilience.trust import (
    ConformalClassifier,
    PatternReliabilityDisplay,
    RobustPoolingClassifier,
    SelectiveClassifier,
    find_label_errors,
    find_mismatched_samples,
    next_view,
    view_cost_curve,
    view_opinions,
)
from consilience.trust._left_out import LeftOutRows

N_DRAWS = 200 if FULL else 12
DEFAULT = ConsilienceClassifier(10, random_state=0)


class GivenProbabilities(LateFusionClassifier):
    """The first columns of the first view that a row has are log-probabilities: a fit is free."""

    def _fit(self, data, codes, weight):
        self._members, self.estimators_ = [], {}
        self.view_weights_ = np.full(data.n_views, 1 / data.n_views)

    def _scores(self, data):
        K = len(self.classes_)
        logits = np.zeros((len(data), K))
        for v, (_, view) in enumerate(data.items()):
            if data.present[:, v].any():  # the values of a view that all rows lack are no numbers
                logits += np.where(data.present[:, [v]], view[:, :K], 0.0)
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)


def draw(n, seed, missing=0.0, n_views=2, K=3):
    """Views of noisy evidence for the classes."""
    rng = np.random.RandomState(seed)
    y = rng.randint(K, size=n)
    views = {f"v{v}": rng.randn(n, K) + (1 + v) * np.eye(K)[y] for v in range(n_views)}
    present = rng.rand(n, n_views) >= missing
    present[~present.any(axis=1), 0] = True
    return MultiViewData(views, present=present), y


def covered(sets, y):
    return sets[np.arange(len(y)), y]


@pytest.mark.parametrize("method", ["split", "cv+"])
def test_coverage_by_pattern(method):
    shares = []
    for seed in range(N_DRAWS):
        data, y = draw(600, seed, missing=0.3)
        test, y_test = draw(600, 1000 + seed, missing=0.3)
        model = ConformalClassifier(
            GivenProbabilities(), method=method, calibration_size=0.8, random_state=seed
        )
        right = covered(model.fit(data, y).predict_set(test), y_test)
        patterns = test.present @ [1, 2]
        shares.append([right[patterns == p].mean() for p in (1, 2, 3)])
    # the standard error of a mean over twelve draws is about .012
    np.testing.assert_allclose(np.mean(shares, axis=0), 0.9, atol=0.01 if FULL else 0.04)


def test_coverage_by_class():
    shares = []
    for seed in range(N_DRAWS):
        data, y = draw(500, seed)
        test, y_test = draw(500, 1000 + seed)
        model = ConformalClassifier(
            GivenProbabilities(), 0.2, method="split", conditional="class", calibration_size=0.8
        )
        right = covered(model.fit(data, y).predict_set(test), y_test)
        shares.append([right[y_test == k].mean() for k in range(3)])
    np.testing.assert_allclose(np.mean(shares, axis=0), 0.8, atol=0.015 if FULL else 0.05)


def test_patterns_never_seen_are_calibrated_on_masked_rows():
    shares = []
    for seed in range(N_DRAWS):
        data, y = draw(400, seed)
        test, y_test = draw(400, 1000 + seed)
        model = ConformalClassifier(GivenProbabilities(), method="split", calibration_size=0.8)
        sets = model.fit(data, y).predict_set(test.select(["v0"]))
        assert sets.sum(axis=1).mean() > model.predict_set(test).sum(axis=1).mean()
        shares.append(covered(sets, y_test).mean())
    assert np.mean(shares) == pytest.approx(0.9, abs=0.01 if FULL else 0.03)


def test_without_masking_a_set_of_an_unseen_pattern_has_all_classes():
    data, y = draw(100, 0)
    model = ConformalClassifier(DEFAULT, method="left-out").fit(data, y)
    with pytest.warns(UserWarning, match="just the views 'v0' have fewer than the 9 calibration r"):
        assert model.predict_set(data.select(["v0"])).all()
    assert not model.predict_set(data).all()


def test_few_calibration_rows_give_all_classes():
    data, y = draw(40, 0)
    model = ConformalClassifier(
        GivenProbabilities(), 0.1, method="split", calibration_size=8 / 40, random_state=0
    )
    with pytest.warns(UserWarning, match=r"40 rows with .* than the 9 .* that alpha=0\.1 takes"):
        assert model.fit(data, y).predict_set(data).all()
    assert not model.predict_set(data, alpha=0.3).all()
    model.set_params(conditional="class", calibration_size=30 / 40).fit(data, y)
    with pytest.warns(UserWarning, match=r"have fewer than the 19 calibration rows.*: no set la"):
        assert model.predict_set(data, alpha=0.05).all()
    assert model.predict_p(data).min() > 0.05
    with pytest.raises(ValueError, match="alpha must be a number between 0 and 1"):
        model.predict_set(data, alpha=1.5)


@pytest.mark.parametrize(("n_rows", "n_folds"), [(60, 10), (1000, 10), (1001, 5)])
def test_number_of_folds(n_rows, n_folds):
    data, y = draw(n_rows, 0)
    model = ConformalClassifier(GivenProbabilities()).fit(data, y)
    assert len(model._left_out.estimators) == n_folds
    assert model.n_calibration_rows_ == n_rows
    by_class = [np.bincount(model._left_out.fold[model._left_out.codes == k]) for k in range(3)]
    assert all(counts.max() - counts.min() <= 1 for counts in by_class)


def test_classes_with_few_rows_are_left_out_without_a_warning():
    y = np.repeat(["a", "b", "c"], [20, 9, 1])
    X = {"v": np.random.RandomState(0).randn(30, 2)}
    model = ConformalClassifier(LateFusionClassifier(), alpha=0.5).fit(X, y)
    assert model.predict_set(X).any(axis=0)[:2].all()
    with pytest.raises(ValueError, match=r"without 2 of the rows the others are all of class 'a'"):
        ConformalClassifier(LateFusionClassifier()).fit({"v": X["v"][:5]}, list("aaaab"))


def test_number_of_folds_of_groups():
    data, y = draw(60, 0)
    for n_groups, n_folds in ((30, 10), (4, 4)):
        groups = np.arange(60) % n_groups
        model = ConformalClassifier(GivenProbabilities()).fit(data, y, groups=groups)
        assert len(model._left_out.estimators) == n_folds
        order = np.argsort(model._left_out.rows)
        assert len({*zip(groups, model._left_out.fold[order], strict=True)}) == n_groups


def test_left_out_needs_an_estimator_that_has_them():
    data, y = draw(60, 0)
    with pytest.raises(ValueError, match="out_of_fold_probabilities_, such as Consilience"):
        ConformalClassifier(LateFusionClassifier(), method="left-out").fit(data, y)


def test_left_out_covers():
    data, y = draw(300, 0)
    test, y_test = draw(2000, 1)
    model = ConformalClassifier(DEFAULT, method="left-out").fit(data, y)
    assert covered(model.predict_set(test), y_test).mean() == pytest.approx(0.9, abs=0.05)
    assert model.n_calibration_rows_ == 300


def test_margins_get_sets_but_no_probabilities():
    data, y = draw(120, 0)
    model = ConformalClassifier(SMVMEDClassifier(), cv=3).fit(data, y)
    assert not hasattr(model, "predict_proba")
    assert covered(model.predict_set(data), y).mean() > 0.8


def test_rows_without_any_view_get_all_classes():
    data, y = draw(100, 0)
    model = ConformalClassifier(GivenProbabilities(), conformity_score="aps").fit(data, y)
    empty = MultiViewData(dict(data[:3].items()), present=np.zeros((3, 2), dtype=bool))
    with pytest.warns(UserWarning, match="no view at all"):
        assert model.predict_set(empty).all()


def test_risk_is_controlled():
    exceeded = []
    for seed in range(N_DRAWS):
        data, y = draw(400, seed)
        test, y_test = draw(2000, 1000 + seed)
        model = SelectiveClassifier(
            GivenProbabilities(), 0.1, method="split", calibration_size=0.8, random_state=0
        ).fit(data, y)
        answered = model.is_answered(test)
        assert answered.mean() > 0.3
        exceeded.append((model.predict(test) != y_test)[answered].mean() > 0.1)
    assert np.mean(exceeded) <= (0.13 if FULL else 0.34)


@pytest.mark.filterwarnings("ignore:no threshold keeps the error rate")
def test_risk_is_controlled_for_rows_that_lack_views():
    """One view alone is wrong more often, so that its rows need a threshold of their own."""
    errors = {"pattern": [], None: []}
    for seed in range(N_DRAWS // 4):
        data, y = make_multiview_classification(1200, n_views=2, strength=[2, 3], random_state=seed)
        test, y_test = data[500:].select(["view0"]), y[500:]
        model = SelectiveClassifier(
            LateFusionClassifier(), 0.1, method="split", calibration_size=0.6, random_state=0
        ).fit(data[:500], y[:500])
        for conditional, own in errors.items():
            answered = model.set_params(conditional=conditional).is_answered(test)
            is_wrong = (model.predict(test) != y_test)[answered]
            own.append(len(is_wrong) > 0 and is_wrong.mean() > 0.1)
    assert np.mean(errors["pattern"]) <= (0.13 if FULL else 0.34)
    assert np.mean(errors[None]) > 0.5


def test_answers_for_patterns_without_a_safe_threshold():
    data, y = make_multiview_classification(300, n_views=2, strength=[0, 6], random_state=0)
    model = SelectiveClassifier(LateFusionClassifier(), 0.2).fit(data[:200], y[:200])
    assert model.is_answered(data[200:]).mean() > 0.5
    with pytest.warns(UserWarning, match="100 rows with just the views 'view0', so none"):
        assert not model.is_answered(data[200:].select(["view0"])).any()
    model.set_params(method="left-out", estimator=DEFAULT).fit(data[:200], y[:200])
    with pytest.warns(UserWarning, match="rows with just the views 'view1', so none of these is"):
        assert not model.is_answered(data[200:].select(["view1"])).any()


def test_one_warning_for_all_patterns():
    data, y = make_multiview_classification(300, n_views=6, strength=4, random_state=0)
    present = np.random.RandomState(0).rand(100, 6) < 0.6
    some = MultiViewData(dict(data[200:].items()), present=present)
    conformal = ConformalClassifier(LateFusionClassifier(), 0.001).fit(data[:200], y[:200])
    selective = SelectiveClassifier(LateFusionClassifier(), 0.001)
    with pytest.warns(UserWarning, match="so no row will be answered"):
        selective.fit(data[:200], y[:200])
    with pytest.warns(UserWarning, match=r"100 rows of \d\d patterns of views \(such as just"):
        conformal.predict_set(some)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        conformal.predict_set(some)
        selective.is_answered(some)  # its fit has said it
    assert len(caught) == 1


def test_rows_of_one_pattern_are_answered_where_all_together_are_not():
    """Half of the rows have noise only; those with the good view are right."""
    rng = np.random.RandomState(0)
    y, has_good = rng.randint(2, size=600), rng.rand(600) < 0.5
    views = {"good": rng.randn(600, 4) + 3 * y[:, None], "noise": rng.randn(600, 30)}
    data = MultiViewData(views, present=np.column_stack([has_good, np.ones(600, dtype=bool)]))
    model = SelectiveClassifier(LateFusionClassifier(), method="split", random_state=0)
    model.fit(data[:400], y[:400])
    with pytest.warns(UserWarning, match="just the views 'noise', so none of these is answered"):
        answered = model.is_answered(data[400:])
    assert answered[has_good[400:]].mean() > 0.8
    assert not answered[~has_good[400:]].any()
    assert 0.3 < model.answer_rate_ < 0.7
    assert model.threshold_ < 1


def test_fits_do_not_predict_rare_patterns_of_views(monkeypatch):
    """There may be as many patterns as rows."""
    data, y = make_multiview_classification(
        300, n_views=8, strength=4, missing_rate=0.4, random_state=0
    )
    monkeypatch.setattr(LeftOutRows, "predict", None)
    for method in ("split", "cv+"):
        model = SelectiveClassifier(LateFusionClassifier(), 0.2, method=method, random_state=0)
        assert 0 < model.fit(data, y).answer_rate_ <= 1


def test_no_answer_without_a_safe_threshold():
    data, _ = draw(100, 0)
    y = np.random.RandomState(1).randint(3, size=100)  # not the seed of the views' own labels
    with pytest.warns(UserWarning, match="so no row will be answered"):
        model = SelectiveClassifier(GivenProbabilities()).fit(data, y)
    assert not model.is_answered(data).any()
    assert model.threshold_ == np.inf


def test_robust_pooling_leaves_a_broken_view_out():
    data, y = draw(400, 0, n_views=3)
    test, y_test = draw(400, 1, n_views=3)
    views = {name: np.array(view) for name, view in test.items()}
    views["v2"] = views["v2"] + 10 * np.random.RandomState(0).randn(*views["v2"].shape)
    broken = MultiViewData(views)
    robust = RobustPoolingClassifier(GivenProbabilities(), random_state=0).fit(data, y)
    plain = robust.estimator_
    oracle = plain.score(broken.select(["v0", "v1"]), y_test)
    closed = robust.score(broken, y_test) - plain.score(broken, y_test)
    assert closed > 0.7 * (oracle - plain.score(broken, y_test))
    assert robust.score(test, y_test) == pytest.approx(plain.score(test, y_test), abs=0.01)
    is_off = robust.predict_off(broken)
    assert is_off[:, 2].mean() > 0.5 > is_off[:, :2].mean() + 0.3
    robust.set_params(off_rate="batch")  # estimated from the samples: nearly all, and none
    assert robust.predict_off(broken)[:, 2].mean() > is_off[:, 2].mean()
    assert np.nanmean(robust.predict_off(test)) < 0.03
    assert robust.score(test, y_test) == pytest.approx(plain.score(test, y_test), abs=0.01)
    assert np.isnan(robust.predict_off(test.select(["v0", "v1"]))[:, 2]).all()


def test_single_views_are_predicted_as_they_are():
    data, y = draw(120, 0, missing=0.2)
    robust = RobustPoolingClassifier(GivenProbabilities(), random_state=0).fit(data, y)
    alone = data.select(["v1"])[np.flatnonzero(data.present[:, 1])]
    np.testing.assert_allclose(robust.predict_proba(alone), robust.estimator_.predict_proba(alone))


def test_opinions():
    data, y = draw(400, 0, n_views=3)
    model = ConformalClassifier(GivenProbabilities(), method="split", random_state=0).fit(data, y)
    test, _ = draw(100, 1, n_views=3, missing=0.2)
    views = {name: np.array(view) for name, view in test.items()}
    views["v2"][:50] = 8 * np.eye(3)[(views["v2"][:50].argmax(axis=1) + 1) % 3]
    result = view_opinions(model, MultiViewData(views, present=test.present))
    np.testing.assert_array_equal(np.isnan(result.strength), ~test.present)
    assert np.nanmean(result.conflict[:50, 2]) > np.nanmean(result.conflict[50:, 2]) + 0.5
    assert (result.agreement[50:][~np.isnan(result.agreement[50:])] == 0).mean() < 0.1
    given = {result.distrust[i] for i in range(50)}
    assert "v2" in given
    plain = view_opinions(model.estimator_, test)
    assert plain.p_values is None
    assert plain.distrust is None
    own = view_opinions(model.estimator_, test, reference=data)
    assert np.nanmean(own.p_values) == pytest.approx(0.5, abs=0.1)


def latent_views(n=300, seed=0, noise=0.3, n_views=2):
    rng = np.random.RandomState(seed)
    latent = rng.randn(n, 8)
    return {f"v{v}": latent + noise * rng.randn(n, 8) for v in range(n_views)}


@pytest.mark.parametrize("seed", range(6 if FULL else 2))
@pytest.mark.parametrize("n_views", [2, 3])
def test_swapped_samples_are_found(n_views, seed):
    views = latent_views(n_views=n_views, seed=seed)
    views["v1"][:12] = np.roll(views["v1"][:12], 1, axis=0)
    result = find_mismatched_samples(views)
    is_swapped = result.suspects < 12
    assert is_swapped.sum() >= 10  # some of the others fit each other by chance
    assert (~is_swapped).mean() <= 0.2  # the false discovery rate that was asked for
    wrong = "v1" if n_views == 3 else None
    assert {result.view[k] for k in np.flatnonzero(is_swapped)} == {wrong}
    assert (np.diff(result.q_value) >= 0).all()
    # row i has the view of row i − 1
    pairs = zip(result.suspects.tolist(), result.partner.tolist(), strict=True)
    assert sum(abs(i - j) in (1, 11) for i, j in pairs) >= 8
    assert all(area > 0.95 for area in result.areas.values())


def test_nothing_is_claimed_of_clean_or_independent_views():
    assert len(find_mismatched_samples(latent_views()).suspects) == 0
    rng = np.random.RandomState(0)
    result = find_mismatched_samples({"a": rng.randn(200, 5), "b": rng.randn(200, 4)})
    assert len(result.suspects) == 0
    assert result.areas["a"] < 0.6


def test_rate_of_false_suspects_of_real_views():
    data, _ = load_digits_views(kind="features", return_X_y=True)
    found, false = [], []
    for seed in range(12 if FULL else 3):
        rng = np.random.RandomState(seed)
        rows, swapped = rng.permutation(len(data))[:400], rng.permutation(400)[:20]
        source = np.arange(400)
        source[swapped] = np.roll(swapped, 1)
        views = {"pixels": data[rows]["pixels"], "fourier": data[rows[source]]["fourier"]}
        suspects = find_mismatched_samples(views).suspects
        n_right = len(np.intersect1d(suspects, swapped))
        found.append(n_right / 20)
        false.append((len(suspects) - n_right) / max(len(suspects), 1))
    assert np.mean(found) > 0.6
    # the standard error of a mean over three draws is about .06
    assert np.mean(false) <= (0.22 if FULL else 0.32)


def test_mismatches_with_labels_missing_and_sparse_views():
    views = latent_views(n_views=3)
    views["v1"][:12] = np.roll(views["v1"][:12], 1, axis=0)
    y = (views["v0"][:, 0] > 0).astype(int)
    present = np.ones((300, 3), dtype=bool)
    present[100:150, 0] = present[200:230, 2] = False
    views["v2"] = sp.csr_array(np.where(np.abs(views["v2"]) > 0.3, views["v2"], 0.0))
    result = find_mismatched_samples(MultiViewData(views, present=present), y)
    assert len(np.intersect1d(result.suspects, np.arange(12))) >= 10
    assert len(result.suspects) <= 15


def test_wrong_labels_are_found():
    data, y = draw(300, 0, n_views=3)
    given = y.copy()
    given[:15] = (given[:15] + 1) % 3
    for model in (GivenProbabilities(), None if FULL else DEFAULT):
        result = find_label_errors(model, data, given)
        assert len(np.intersect1d(result.suspects, np.arange(15))) >= 10
        assert (result.suspects >= 15).sum() <= 8
        assert (result.label != given[result.suspects]).all()
        assert (np.diff(result.probability[result.suspects]) <= 0).all()
        assert result.view == [None] * len(result.suspects)


def test_next_view_prefers_what_helps():
    data, y = draw(900, 0, n_views=3)
    views = {**dict(data.items()), "v1": np.zeros((900, 3))}  # v1 says nothing
    data = MultiViewData(views)
    model = ConformalClassifier(GivenProbabilities(), method="split", random_state=0).fit(data, y)
    known = data.select(["v0"])[:200]
    advice = next_view(model, known)
    assert np.isnan(advice.gains[:, 0]).all()
    np.testing.assert_allclose(advice.gains[:, 1], 0)
    assert advice.best.count("v2") > 120
    assert set(advice.best) <= {"v2", None}
    expensive = next_view(model, known, {"v0": 1, "v1": 1, "v2": 1e9}, utility="log_loss")
    np.testing.assert_allclose(expensive.costs, [1, 1, 1e9])
    own = next_view(model, known, utility=lambda p, codes: p[np.arange(len(codes)), codes])
    assert np.nanmean(own.gains[:, 2]) > 0
    assert next_view(model, data[:5]).best == [None] * 5
    reference = (data[:300], y[:300])
    assert next_view(model.estimator_, known, reference=reference).gains.shape == (200, 3)


def test_cost_curve():
    data, y = draw(900, 0, n_views=3)
    model = ConformalClassifier(GivenProbabilities(), method="split", random_state=0).fit(data, y)
    test, y_test = draw(600, 1, n_views=3)
    result = view_cost_curve(model, test, y_test, [1, 2, 3])
    assert result.cost[0] == 0
    assert result.cost[-1] == pytest.approx(6)
    assert result.accuracy[-1] == pytest.approx(model.score(test, y_test))
    assert (np.diff(result.cost) > 0).all()
    assert result.area > result.fixed_area - 0.005
    assert result.fixed_cost[-1] == 6
    assert sorted(result.fixed_order) == ["v0", "v1", "v2"]
    assert not result.needs_all_views


def test_all_views_are_needed_for_a_parity():
    rng = np.random.RandomState(0)
    a, b = rng.randint(2, size=(2, 800))
    data = MultiViewData({n: v[:, None] + 0.1 * rng.randn(800, 1) for n, v in (("a", a), ("b", b))})
    model = ConformalClassifier(DEFAULT, method="split", random_state=0).fit(data, a ^ b)
    assert view_cost_curve(model, data, a ^ b).needs_all_views


@pytest.mark.parametrize(
    "model",
    [
        ConformalClassifier(DEFAULT, method="split", random_state=0),
        SelectiveClassifier(DEFAULT, max_error=0.9),
        RobustPoolingClassifier(DEFAULT, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_of_views_with_empty_cells_are_saved(model, tmp_path):
    data, y = make_multiview_classification(80, random_state=0)
    rng = np.random.default_rng(0)
    views = {n: np.where(rng.random(v.shape) < 0.1, np.nan, v) for n, v in data.items()}
    views["view0"][:, 1] = np.nan  # a column of nothing
    data = MultiViewData(views)
    model = clone(model).fit(data, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))


@pytest.mark.parametrize(
    "model",
    [ConformalClassifier(), SelectiveClassifier(max_error=0.9), RobustPoolingClassifier()],
    ids=lambda model: type(model).__name__,
)
def test_model_files(model, tmp_path):
    data, y = make_multiview_classification(60, missing_rate=0.2, random_state=0)
    model = clone(model).set_params(estimator=LateFusionClassifier(), random_state=0)
    model.fit(data, y)
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(data), model.predict_proba(data))
    if isinstance(model, ConformalClassifier):
        alone = data.select(["view0"])[np.flatnonzero(data.present[:, 0])]
        np.testing.assert_array_equal(loaded.predict_p(alone), model.predict_p(alone))


def test_kernel_views():
    data, y = draw(60, 0)
    kernels = MultiViewData(
        {name: rbf_kernel(view) for name, view in data.items()},
        kinds=dict.fromkeys(data.view_names, "kernel"),
    )
    model = ConformalClassifier(DEFAULT, method="split", random_state=0).fit(kernels, y)
    assert model.predict_set(kernels).shape == (60, 3)
    with pytest.raises(TypeError, match="needs views of feature columns, but view 'v0'"):
        RobustPoolingClassifier(DEFAULT).fit(kernels, y)
    with pytest.raises(TypeError, match="needs views of feature columns, but view 'v0'"):
        find_mismatched_samples(kernels)
    with pytest.raises(ValueError, match="next_view needs rows that the classifier was not"):
        next_view(model, kernels)
    reference = (kernels, y)
    assert view_opinions(model, kernels).probabilities.shape == (60, 2, 3)
    assert np.isnan(next_view(model, kernels, reference=reference).gains).all()
    assert view_cost_curve(model, kernels, y, reference=reference).cost[-1] == 2
    assert SelectiveClassifier(DEFAULT, 0.9, method="split").fit(kernels, y).answer_rate_ > 0
    assert len(find_label_errors(DEFAULT, kernels, y).probability) == 60


@pytest.fixture(scope="module")
def fitted():
    data, y = draw(60, 0)
    given = GivenProbabilities()
    return {
        "data": data,
        "y": y,
        "sets": ConformalClassifier(given, method="split", random_state=0).fit(data, y),
        "answers": SelectiveClassifier(given, 0.9, random_state=0).fit(data, y),
        "robust": RobustPoolingClassifier(given, random_state=0).fit(data, y),
    }


CALLS = {
    "ConformalClassifier": lambda m, X, y: ConformalClassifier(DEFAULT).fit(X, y),
    "SelectiveClassifier": lambda m, X, y: SelectiveClassifier(DEFAULT).fit(X, y),
    "RobustPoolingClassifier": lambda m, X, y: RobustPoolingClassifier(DEFAULT).fit(X, y),
    "find_label_errors": lambda m, X, y: find_label_errors(DEFAULT, X, y),
    "find_mismatched_samples": lambda m, X, y: find_mismatched_samples(X, y),
    "view_opinions": lambda m, X, y: view_opinions(m["sets"], X),
    "next_view": lambda m, X, y: next_view(m["sets"], X),
    "view_cost_curve": lambda m, X, y: view_cost_curve(m["sets"], X, y),
    "PatternReliabilityDisplay": lambda m, X, y: PatternReliabilityDisplay.from_estimator(
        m["sets"], X, y
    ),
    "predict_set": lambda m, X, y: m["sets"].predict_set(X),
    "is_answered": lambda m, X, y: m["answers"].is_answered(X),
    "predict_off": lambda m, X, y: m["robust"].predict_off(X),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["dask", "stream"])
def test_dask_arrays_and_streams_are_a_type_error(name, kind, fitted):
    data, y = fitted["data"], fitted["y"]
    X = {view: da.from_array(values) for view, values in data.items()}
    if kind == "stream":
        X = BlockSequence.cut(data, y, rows=20)
    with pytest.raises(TypeError, match=r"dask arrays|in blocks") as error:
        CALLS[name](fitted, X, y)
    assert str(error.value).count(". ") == 0
    assert "\n" not in str(error.value)


def test_dask_arrays_are_predicted(fitted):
    lazy = {name: da.from_array(view) for name, view in fitted["data"].items()}
    for name in ("sets", "answers", "robust"):
        expected = fitted[name].predict(fitted["data"])
        np.testing.assert_array_equal(np.asarray(fitted[name].predict(lazy)), expected)


@pytest.mark.parametrize("name", list(CALLS)[:5] + ["view_cost_curve", "PatternReliabilityDisplay"])
def test_rows_without_a_label_are_a_type_error(name, fitted):
    y = np.where(fitted["y"] == 0, None, fitted["y"])
    with pytest.raises(TypeError, match="does not support rows without a label"):
        CALLS[name](fitted, fitted["data"], y)
    semi = ConformalClassifier(ConsilienceClassifier(10, unlabelled=-1))
    with pytest.raises(TypeError, match="needs a label for every row"):
        semi.fit(fitted["data"], fitted["y"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, d, y: find_mismatched_samples(d, fdr=0), "fdr must be a number"),
        (lambda m, d, y: find_mismatched_samples(d[:20]), "takes 30 to 5000 samples, got 20"),
        (lambda m, d, y: find_mismatched_samples(d.select(["v0"])), "two or more views"),
        (lambda m, d, y: next_view(m, d, {"v0": 1}), "costs must name the views"),
        (lambda m, d, y: next_view(m, d, [1, -1]), "costs must be 2 positive numbers"),
        (lambda m, d, y: next_view(m, d, utility="money"), "utility must be 'accuracy'"),
        (lambda m, d, y: next_view(m, d, reference=(d, y[:3])), "but y has 3"),
        (lambda m, d, y: next_view(m, d, reference=(d, y + 7)), "reference of next_view needs"),
        (lambda m, d, y: view_cost_curve(m, d.select(["v0"]), y), "that have all views"),
        (lambda m, d, y: view_cost_curve(m, d, y + 7), "labels of the classes seen in fit"),
        (lambda m, d, y: next_view(m.estimator_, d), "needs rows that the classifier was not"),
    ],
)
def test_wrong_arguments(call, message):
    data, y = draw(60, 0)
    model = ConformalClassifier(GivenProbabilities(), method="split").fit(data, y)
    with pytest.raises(ValueError, match=message):
        call(model, data, y)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, d, y: find_mismatched_samples(d, y),
        lambda m, d, y: next_view(m, d, reference=(d, y)),
        lambda m, d, y: view_cost_curve(m, d, y),
        PatternReliabilityDisplay.from_estimator,
    ],
)
def test_labels_in_another_order_are_an_error(call):
    pd = pytest.importorskip("pandas")
    data, y = draw(60, 0)
    model = ConformalClassifier(GivenProbabilities(), method="split").fit(data, y)
    ids = [f"s{i}" for i in range(60)]
    labelled = MultiViewData(dict(data.items()), sample_ids=ids)
    with pytest.raises(ValueError, match="y has the labels of the samples in a different order"):
        call(model, labelled, pd.Series(y, index=ids)[::-1])


def test_opinions_need_a_classifier_of_views():
    from sklearn.linear_model import LogisticRegression

    data, y = draw(60, 0)
    model = LogisticRegression().fit(data["v0"], y)
    with pytest.raises(TypeError, match="needs a fitted classifier of consilience"):
        view_opinions(model, data)


def test_groups_are_left_out_together():
    rng = np.random.RandomState(0)
    groups = np.arange(40).repeat(4)
    data, y = draw(40, 0)
    data = MultiViewData(
        {name: view[groups] + 0.01 * rng.randn(160, 3) for name, view in data.items()},
        groups=groups,
    )
    model = ConformalClassifier(LateFusionClassifier(), cv=4).fit(data, y[groups])
    rows, fold = model._left_out.rows, model._left_out.fold
    for group in range(40):
        assert len(set(fold[groups[rows] == group])) == 1
