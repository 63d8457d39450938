"""Importance and selection of features: what is recovered, what is reported, what is an error."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import false_discovery_control
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from consilience import ConsilienceClassifier, MultiViewData, ViewTransformer
from consilience.boosting import MuMBoClassifier
from consilience.datasets import make_multiview_biomarkers
from consilience.distributed import BlockSequence
from consilience.fusion import BestViewClassifier, LateFusionClassifier
from consilience.inspection import (
    ViewFeatureSelector,
    explain_sample,
    feature_clusters,
    feature_importance,
    select_features,
    view_shapley,
)
from consilience.inspection._combined_evidence import combine_evidence
from consilience.inspection._feature_importance import q_values
from consilience.inspection._feature_selection import (
    contest_threshold,
    draw_half,
    with_copies,
)
from consilience.inspection._group_permutation import GroupPermutation
from consilience.inspection._redundancy import (
    correlate,
    correlation_clusters,
    standardise_columns,
    unique_shares,
)


@pytest.fixture(scope="module")
def problem():
    return make_multiview_biomarkers(
        150, n_features=[15, 30], n_informative=6, effect=1.5, random_state=0
    )


@pytest.fixture(scope="module")
def result(problem):
    return feature_importance(LateFusionClassifier(), problem.data, problem.target)


@pytest.fixture(scope="module")
def default(problem):
    return ConsilienceClassifier(20, random_state=0).fit(problem.data[:120], problem.target[:120])


def truth(problem):
    return np.concatenate(list(problem.informative.values()))


def best_features(result, k):
    best = result.top(k)
    return set(zip(best.view.tolist(), best.feature.tolist(), strict=True))


def test_informative_features_come_first(problem, result):
    informative = np.flatnonzero(truth(problem))
    assert set(np.argsort(-result.importance)[:6]) == set(informative)
    assert (result.q_value[informative] < 0.05).all()
    assert (result.frequency[informative] > 0.5).all()
    assert (np.delete(result.q_value, informative) > 0.1).all()


def test_importance_of_the_default(problem):
    model = ConsilienceClassifier(20, random_state=0)
    ours = feature_importance(model, problem.data, problem.target, cv=3)
    again = feature_importance(model, problem.data, problem.target, cv=3)
    assert set(np.argsort(-ours.importance)[:6]) == set(np.flatnonzero(truth(problem)))
    np.testing.assert_array_equal(ours.importance, again.importance)
    np.testing.assert_array_equal(ours.q_value, again.q_value)


def test_features_are_judged_by_other_rows():
    rng = np.random.default_rng(0)
    data, y = MultiViewData({"noise": rng.normal(size=(60, 200))}), np.arange(60) % 2
    result = feature_importance(LateFusionClassifier(), data, y)
    assert abs(result.in_model.mean()) < 0.05
    assert abs(result.importance.mean()) < 0.1
    assert (result.q_value > 0.1).all()


def test_effects_and_direction():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 60)
    X = rng.normal(size=(180, 2))
    X[y == "b", 0] += 3
    data = MultiViewData({"v": X})
    result = feature_importance(LateFusionClassifier(), data, y)
    assert result.higher_in[0] == "b"
    assert result.classes.tolist() == ["a", "b", "c"]
    within = np.sqrt(np.mean([X[y == c, 0].var() for c in "abc"]))
    expected = (X[y == "b", 0].mean() - X[y != "b", 0].mean()) / within
    np.testing.assert_allclose(result.class_effect[0, 1], expected)
    assert result.class_effect[0, 0] < 0


def test_features_without_an_effect_are_higher_in_no_class():
    pd = pytest.importorskip("pandas")
    y = np.arange(40) % 2
    frame = pd.DataFrame(
        {"x": y + np.arange(40) / 40, "same": 1.0, "word": ["u", "v", "v", "u"] * 10}
    )
    model = ConsilienceClassifier(10, random_state=0)
    result = feature_importance(model, {"a": frame}, y, cv=2)
    assert result.higher_in.tolist() == [1, "", ""]


def test_copies_share_their_contribution():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 5))
    X[:, 0] += 2 * y
    model = ConsilienceClassifier(20, random_state=0)
    once = feature_importance(model, MultiViewData({"a": X, "b": X[:, 1:]}), y, cv=3)
    other = np.column_stack([X[:, 0], rng.normal(size=(120, 4))])
    twice = feature_importance(model, MultiViewData({"a": X, "b": other}), y, cv=3)
    assert twice.contribution[0] < 0.8 * once.contribution[0]
    assert twice.contribution[5] > 0.2 * once.contribution[0]
    assert twice.importance[5] > 0.3


def test_contributions_add_up_by_view(result):
    parts = result.view_contribution
    assert sum(parts.values()) == pytest.approx(result.contribution.sum())
    assert list(parts) == ["view0", "view1"]


def test_tables_and_tops(result):
    frame = result.to_frame()
    assert frame.shape[0] == 45
    assert {"view", "feature", "importance", "q_value", "higher_in", "effect_1"} <= set(frame)
    best = result.top(4, per_view=True)
    assert best.view.tolist() == ["view0"] * 4 + ["view1"] * 4
    assert (np.diff(best.importance[:4]) <= 0).all()
    assert "higher in" in str(result)


def test_names_of_columns(problem):
    pd = pytest.importorskip("pandas")
    views = {
        "named": pd.DataFrame(problem.data["view0"], columns=[f"g{j}" for j in range(15)]),
        "plain": problem.data["view1"],
    }
    result = feature_importance(LateFusionClassifier(), views, problem.target)
    assert result.feature[:2].tolist() == ["g0", "g1"]
    assert result.feature[15:17].tolist() == [0, 1]


@pytest.mark.parametrize("model", [LateFusionClassifier(), ConsilienceClassifier(10)])
def test_sparse_views_are_like_dense_ones(problem, model):
    X = np.where(np.abs(problem.data["view1"]) > 1.2, problem.data["view1"], 0.0)
    model.set_params(random_state=0)
    views = {"a": problem.data["view0"], "b": X}
    parts = [
        feature_importance(model, MultiViewData({**views, "b": b}), problem.target, cv=3)
        for b in (sp.csr_array(X), X)
    ]
    assert best_features(parts[0], 3) & best_features(parts[1], 3)
    assert np.isfinite(parts[0].importance).all()


@pytest.mark.parametrize("model", [LateFusionClassifier(), ConsilienceClassifier(10)])
def test_missing_views(problem, model):
    present = np.random.default_rng(0).random((150, 2)) > 0.25
    present[~present.any(axis=1), 0] = True
    data = MultiViewData(dict(problem.data.items()), present=present)
    model.set_params(random_state=0)
    result = feature_importance(model, data, problem.target, cv=3)
    assert np.mean(truth(problem)[np.argsort(-result.importance)[:6]]) >= 0.8


def test_rows_of_a_group_count_as_one(problem):
    repeated = np.repeat(np.arange(150), 4)
    data, y = problem.data[repeated], problem.target[repeated]
    data = MultiViewData(dict(data.items()))
    plain = feature_importance(LateFusionClassifier(), problem.data, problem.target)
    grouped = feature_importance(LateFusionClassifier(), data, y, groups=repeated)
    noise = ~truth(problem)
    # four copies of each sample are no more evidence than one
    assert (grouped.p_value[noise] < 0.05).mean() <= (plain.p_value[noise] < 0.05).mean() + 0.1


def test_weights_of_0_leave_rows_out(problem):
    weight = np.ones(150)
    weight[100:] = 0
    rows = np.arange(100)
    splits = [(rows[rows % 2 == f], rows[rows % 2 != f]) for f in (0, 1)]
    everything = [
        (np.append(train, np.arange(100, 125)), np.append(test, np.arange(125, 150)))
        for train, test in splits
    ]
    weighted = feature_importance(
        LateFusionClassifier(), problem.data, problem.target, sample_weight=weight, cv=everything
    )
    fewer = feature_importance(
        LateFusionClassifier(), problem.data[:100], problem.target[:100], cv=splits
    )
    np.testing.assert_allclose(weighted.importance, fewer.importance, atol=1e-6)
    np.testing.assert_allclose(weighted.contribution, fewer.contribution, atol=1e-6)
    np.testing.assert_allclose(weighted.class_effect, fewer.class_effect)


def test_fitted_models_and_their_training_rows(problem, default):
    held_out = problem.data[120:], problem.target[120:]
    result = feature_importance(default, *held_out, cv="prefit")
    assert result.n_folds == 1
    assert (result.std == 0).all()
    with pytest.raises(ValueError, match="rows that the estimator was fitted on"):
        feature_importance(default, problem.data[:50], problem.target[:50], cv="prefit")
    with pytest.raises(ValueError, match="not fitted on"):
        feature_importance(default, held_out[0], held_out[1] + 5, cv="prefit")
    scaled = make_pipeline(ViewTransformer(StandardScaler()), default)
    scaled.fit(problem.data[:120], problem.target[:120])
    with pytest.raises(ValueError, match="rows that the estimator was fitted on"):
        feature_importance(scaled, problem.data[:50], problem.target[:50], cv="prefit")


def test_prefit_compares_with_the_class_shares_of_the_new_rows():
    rng = np.random.RandomState(0)
    y = np.arange(60) % 2
    views = {"a": (y + rng.randn(60))[:, None], "b": rng.randn(60, 2)}
    model = MuMBoClassifier(n_estimators=5, random_state=0).fit(views, y)
    y_new = (np.arange(80) % 8 == 0).astype(int)
    new = {"a": np.full((80, 1), 3.0), "b": rng.randn(80, 2)}
    # the same contribution in all rows does not tell the classes apart
    result = feature_importance(model, new, y_new, cv="prefit")
    assert result.contribution[0] == pytest.approx(0.0, abs=1e-12)
    assert abs(result.in_model[0]) < 1e-12


def test_p_values_of_signs_that_are_learned_in_other_folds():
    rng = np.random.default_rng(0)
    for n_classes in (2, 4):
        z = rng.normal(size=(100_000, 5, n_classes - 1))
        direction = z.sum(axis=1, keepdims=True) - z
        direction /= np.linalg.norm(direction, axis=2, keepdims=True)
        total = (direction * z).sum(axis=(1, 2)) / np.sqrt(5)
        p = combine_evidence(total, None, n_classes)[0]
        for level in (0.1, 0.01, 0.001):
            assert (p <= level).mean() <= level
        assert (p <= 0.01).mean() >= (0.004 if n_classes == 2 else 0.0005)


def test_q_values_are_those_of_benjamini_and_hochberg():
    p = np.random.default_rng(0).random(50) ** 3
    np.testing.assert_allclose(q_values(p), false_discovery_control(p))


# -- pipelines and other classifiers -------------------------------------------------------------


def test_pipelines_are_traced_back(problem, result):
    scaled = make_pipeline(ViewTransformer(StandardScaler()), LateFusionClassifier())
    ours = feature_importance(scaled, problem.data, problem.target)
    np.testing.assert_allclose(ours.importance, result.importance, atol=1e-6)
    reduced = make_pipeline(
        ViewTransformer(make_pipeline(StandardScaler(), PCA(8))), LateFusionClassifier()
    )
    ours = feature_importance(reduced, problem.data, problem.target)
    assert np.mean(truth(problem)[np.argsort(-ours.importance)[:6]]) >= 0.8
    selector = ViewFeatureSelector(LateFusionClassifier(), k=3)
    selected = make_pipeline(selector, LateFusionClassifier())
    ours = feature_importance(selected, problem.data, problem.target)
    assert set(np.argsort(-ours.importance)[:6]) == set(np.flatnonzero(truth(problem)))
    products = make_pipeline(ViewTransformer(PolynomialFeatures(2)), LateFusionClassifier())
    with pytest.raises(TypeError, match="cannot be traced back"):
        feature_importance(products, problem.data, problem.target)


def test_other_classifiers_are_judged_by_permutation(problem):
    model = BestViewClassifier(cv=2)
    ours = feature_importance(model, problem.data, problem.target, cv=2)
    again = feature_importance(model, problem.data, problem.target, cv=2)
    np.testing.assert_array_equal(ours.importance, again.importance)
    best = np.argsort(-ours.importance)[:3]
    assert truth(problem)[best].all()


def test_correlated_features_share_what_permutation_shows():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    x = rng.normal(size=100) + 2 * y
    X = np.column_stack([x, x + 0.1 * rng.normal(size=100), rng.normal(size=(100, 4))])
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for view in (X, sp.csr_array(X), frame):
        model = LateFusionClassifier(voting="hard")
        result = feature_importance(model, MultiViewData({"v": view}), y, cv=2)
        assert result.contribution[0] == pytest.approx(result.contribution[1])
        assert result.contribution[0] > 0.05
        assert np.abs(result.contribution[2:]).max() < result.contribution[0] / 2


# -- what has no features ------------------------------------------------------------------------


@pytest.mark.parametrize("function", [feature_importance, select_features])
def test_data_without_features_or_labels_are_an_error(problem, function):
    model, y = LateFusionClassifier(), problem.target
    kernel = MultiViewData({"k": np.eye(150), "v": problem.data["view0"]}, kinds={"k": "kernel"})
    with pytest.raises(TypeError, match="'k' is a kernel between samples"):
        function(model, kernel, y)
    with pytest.raises(TypeError, match="stream or dask"):
        function(model, BlockSequence(lambda: iter([(problem.data, y)])), y)
    labels = [None, *y[1:].tolist()]
    with pytest.raises(TypeError, match="1 rows have none"):
        function(ConsilienceClassifier(10), problem.data, labels)
    with pytest.raises(TypeError, match="75 rows have none"):
        function(ConsilienceClassifier(10, unlabelled=1), problem.data, y)
    documents = MultiViewData({"text": np.array(["a", "b"] * 75, dtype=object)})
    with pytest.raises(TypeError, match="holds documents"):
        function(model, documents, y)
    with pytest.raises(ValueError, match="one class"):
        function(model, problem.data, np.zeros(150))


def test_dask_arrays_are_an_error(problem):
    da = pytest.importorskip("dask.array")
    data = MultiViewData({name: da.from_array(X) for name, X in problem.data.items()})
    with pytest.raises(TypeError, match="stream or dask"):
        feature_importance(LateFusionClassifier(), data, problem.target)


# -- selection -----------------------------------------------------------------------------------


def test_selected_features_and_their_stability(problem):
    ours = select_features(LateFusionClassifier(), problem.data, problem.target, n_pairs=4)
    for view, mask in problem.informative.items():
        assert set(np.flatnonzero(mask)) <= set(ours.selected_[view])
        assert len(ours.selected_[view]) <= mask.sum() + 1
    assert ours.n_strongest_ == 4
    assert ours.max_false_stable_ == pytest.approx(16 / (0.5 * 45))
    assert ours.frequency_.sum() <= 4
    assert truth(problem)[ours.stable_].all()
    assert "expected to be so by chance" in str(ours)


def test_selection_without_halves(problem):
    ours = select_features(LateFusionClassifier(), problem.data, problem.target, n_pairs=0)
    assert ours.frequency_ is None
    with pytest.raises(AttributeError, match="n_pairs=0"):
        ours.stable_  # noqa: B018
    for name, value in (("fdr", 0), ("method", "magic"), ("n_pairs", -1)):
        with pytest.raises(ValueError, match=name):
            select_features(LateFusionClassifier(), problem.data, problem.target, **{name: value})


def test_copies_compete_with_the_features():
    problem = make_multiview_biomarkers(
        200, n_features=[30, 30], n_informative=20, effect=1.5, random_state=0
    )
    ours = select_features(
        LateFusionClassifier(), problem.data, problem.target, method="copies", n_pairs=0
    )
    assert len(ours.importance_) == 60
    assert (ours.mask_ & truth(problem)).sum() >= 15
    assert (ours.mask_ & ~truth(problem)).sum() <= 4


def test_threshold_of_the_contest():
    margin = np.array([5.0, 4, 3, 2, 1, -1, 0])
    assert contest_threshold(margin, 0.3) == 2.0  # 1 / 4, while 1 gives 2 / 5
    assert contest_threshold(margin, 0.4) == 1.0
    assert contest_threshold(margin, 0.1) == np.inf


def test_copies_have_the_same_values_in_other_rows():
    pd = pytest.importorskip("pandas")
    X = np.arange(20.0).reshape(10, 2)
    present = np.arange(10)[:, None] % np.array([3, 1, 1]) == 0
    views = {"a": X, "b": sp.csr_array(X), "c": pd.DataFrame(X, columns=["x", "y"])}
    data = with_copies(MultiViewData(views, present=present), np.random.RandomState(0))
    assert data.widths == {"a": 4, "b": 4, "c": 4}
    for name, own in (("a", data["a"]), ("b", data["b"].toarray()), ("c", data["c"].to_numpy())):
        np.testing.assert_array_equal(own[:, :2], X)
        rows = present[:, list(views).index(name)]
        assert sorted(own[rows, 2]) == sorted(X[rows, 0])
        np.testing.assert_array_equal(own[:, 3] - own[:, 2], 1.0)
        assert (own[rows, 2] != X[rows, 0]).any()


def test_halves_keep_classes_and_groups(problem):
    from consilience.inspection._feature_data import read_features

    rng = np.random.RandomState(0)
    read = read_features(None, problem.data, problem.target, None, None, "test")
    half = draw_half(read, rng)
    for k in (0, 1):
        assert abs(2 * half[problem.target == k].sum() - (problem.target == k).sum()) <= 1
    groups = np.repeat(np.arange(50), 3)
    read = read_features(None, problem.data, problem.target, groups, None, "test")
    half = draw_half(read, rng)
    assert (half.reshape(50, 3).std(axis=1) == 0).all()
    assert half.sum() == 75


def test_selector_in_a_pipeline(problem, tmp_path):
    selector = ViewFeatureSelector(LateFusionClassifier(), k=3)
    pipeline = make_pipeline(selector, LateFusionClassifier())
    assert cross_val_score(pipeline, problem.data, problem.target, cv=2).mean() > 0.85
    out = selector.fit_transform(problem.data, problem.target)
    assert out.widths == {"view0": 3, "view1": 3}
    for view, mask in problem.informative.items():
        np.testing.assert_array_equal(selector.get_support()[view], mask)
    names = selector.get_feature_names_out().tolist()
    kept = {view: np.flatnonzero(mask) for view, mask in problem.informative.items()}
    assert names == [f"{view}__x{j}" for view, columns in kept.items() for j in columns]
    np.testing.assert_array_equal(selector.transform(problem.data[:3])["view0"], out["view0"][:3])
    with pytest.raises(ValueError, match="requires y"):
        selector.fit(problem.data)
    with pytest.raises(ValueError, match="needs k"):
        ViewFeatureSelector(k=None).fit(problem.data, problem.target)


def test_selector_by_rate(problem):
    views = {"signal": problem.data["view0"]}
    views["noise"] = np.random.default_rng(1).normal(size=(150, 20))
    selector = ViewFeatureSelector(LateFusionClassifier(), k=None, fdr=0.05)
    out = selector.fit_transform(MultiViewData(views), problem.target)
    assert out.view_names == ("signal",)
    noise = MultiViewData({"noise": views["noise"]})
    labels = np.random.default_rng(2).permutation(problem.target)
    with pytest.warns(UserWarning, match="no feature is significant"):
        assert selector.fit_transform(noise, labels).widths == {"noise": 1}


def test_selector_in_a_model_file(problem, tmp_path):
    pytest.importorskip("skops")
    from consilience import io

    model = make_pipeline(ViewFeatureSelector(LateFusionClassifier(), k=3), LateFusionClassifier())
    model.fit(problem.data, problem.target)
    io.save(model, tmp_path / "model.skops")
    loaded = io.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict(problem.data), model.predict(problem.data))


def test_copies_are_named_as_partners_and_are_not_among_the_tests():
    data = MultiViewData({"a": np.random.default_rng(4).normal(size=(80, 3))})
    names = {"a": ["u", "v", "w"]}
    both = with_copies(data, np.random.RandomState(0))["a"]
    y = (both[:, 0] * both[:, 4] > 0).astype(int)  # u and the copy of v
    result = select_features(
        LateFusionClassifier(), data, y, method="copies", n_pairs=0, cv=2, feature_names=names
    ).importance_
    np.testing.assert_allclose(
        result.q_value, np.minimum(false_discovery_control(result.p_value), 1.0)
    )
    assert result.partner[0] == "a: v (permuted)"
    assert result.feature.tolist() == names["a"]


# -- redundancy ----------------------------------------------------------------------------------


def test_clusters_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(60, 5))
    Z = standardise_columns(base[:, rng.integers(0, 5, size=30)] + 0.4 * rng.normal(size=(60, 30)))
    labels, leaders = correlation_clusters(Z, 0.7)
    r = np.abs(np.corrcoef(Z.T))
    expected, left = {}, list(range(30))
    while left:
        joins = [j for j in left if r[left[0], j] >= 0.7]
        expected.update(dict.fromkeys(joins, left[0]))
        left = [j for j in left if j not in joins]
    assert [int(leaders[label]) for label in labels] == [expected[j] for j in range(30)]


def test_clusters_across_views():
    problem = make_multiview_biomarkers(
        200, n_features=[10, 20], n_informative=4, n_copies=4, effect=2.0, random_state=0
    )
    result = feature_importance(LateFusionClassifier(), problem.data, problem.target)
    clusters = feature_clusters(result, problem.data, k=8)
    assert clusters.cluster.max() == 3
    assert np.abs(clusters.correlation).min() > 0.7
    for c in range(4):
        assert len(set(clusters.view[clusters.cluster == c])) == 2
    assert clusters.unique_share.max() < 0.7
    assert len(clusters.to_frame()) == 8
    with pytest.raises(ValueError, match="min_correlation"):
        feature_clusters(result, problem.data, min_correlation=2)


def test_correlations_are_those_of_the_rows_that_have_both_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + 0.7 * rng.normal(size=(60, 1)) + [0, 50, -3, 1000]
    X[:, 3] = 2 * X[:, 0]
    X[rng.permutation(60)[:35], 3] = np.nan
    X[rng.permutation(60)[:20], 1] = np.nan
    X[: 60 - 8, 2] = np.nan  # too few rows
    r = correlate(standardise_columns(X), standardise_columns(X))
    for a, b in [(0, 1), (0, 3), (1, 3), (1, 1)]:
        both = ~np.isnan(X[:, a]) & ~np.isnan(X[:, b])
        np.testing.assert_allclose(r[a, b], np.corrcoef(X[both, a], X[both, b])[0, 1])
    assert not r[2].any()
    assert correlation_clusters(standardise_columns(X), 0.95)[0].tolist() == [0, 1, 2, 0]


def test_a_copy_in_a_view_that_most_samples_lack_adds_nothing():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2))
    copy = np.where(np.arange(100)[:, None] < 40, x[:, :1] + 5, np.nan)
    Z = standardise_columns(np.hstack([x, copy]))
    shares = unique_shares(Z, np.array(["a", "a", "b"]))
    alone = unique_shares(standardise_columns(np.hstack([x, copy])[:40]), np.array(["a", "a", "b"]))
    np.testing.assert_allclose(shares, alone)
    assert shares[2] < 0.2


def test_rows_without_a_view_have_no_influence_on_the_clusters_that_are_permuted():
    rng = np.random.default_rng(0)
    X, present = 100 + rng.normal(size=(80, 4)), np.ones((80, 1), dtype=bool)
    X[50:], present[50:] = 0.0, False  # all columns fall together
    data = MultiViewData({"a": X}, present=present)
    order = GroupPermutation(None, data, 0).order["a"]
    assert [columns.tolist() for columns in order] == [[0], [1], [2], [3]]


# -- one sample ----------------------------------------------------------------------------------


def test_given_names_are_not_column_numbers():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3))
    X[:, 1] = X[:, 0] + 0.05 * rng.normal(size=60)
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    for view, other in ((X, X), (frame, frame[["w", "u", "v"]])):
        result = feature_importance(
            LateFusionClassifier(), {"a": view}, y, cv=2, feature_names={"a": [2, 1, 0]}
        )
        clusters = feature_clusters(result, {"a": other})
        cluster_of = dict(zip(clusters.feature.tolist(), clusters.cluster.tolist(), strict=True))
        assert cluster_of[2] == cluster_of[1] != cluster_of[0]
    with pytest.raises(ValueError, match="view 'a' has no column 'u', whose importance was"):
        feature_clusters(result, {"a": X})


def test_explanation_of_a_sample(problem, default):
    sample = problem.data[[130]]
    ours = explain_sample(default, sample)
    p = default.predict_proba(sample)[0]
    assert ours.prediction == default.predict(sample)[0] == default.classes_[p.argmax()]
    assert ours.score == pytest.approx(p.max())
    assert ours.base == pytest.approx(default.class_prior_[p.argmax()])
    assert sum(v["contribution"] for v in ours.views) == pytest.approx(ours.score - ours.base)
    without = default.predict_proba(problem.data.select(["view1"])[[130]])[0]
    assert ours.views[0]["score_without"] == pytest.approx(without[p.argmax()])
    assert len(ours.features) == 10
    sizes = [abs(f["contribution"]) for f in ours.features]
    assert sizes == sorted(sizes, reverse=True)
    first = ours.features[0]
    assert first["value"] == pytest.approx(sample[first["view"]][0, first["feature"]])
    text = str(ours)
    assert "without any view" in text
    assert str(first["feature"]) in text


def test_explanation_of_another_class_and_of_a_missing_view(problem, default):
    sample = problem.data.select(["view0"])[[130]]
    ours = explain_sample(default, sample, target=0, n_features=3)
    other = explain_sample(default, sample, target=1, n_features=3)
    assert ours.score + other.score == pytest.approx(1.0)
    assert ours.views[0]["score_without"] is None
    assert ours.features[0]["contribution"] == pytest.approx(-other.features[0]["contribution"])
    with pytest.raises(ValueError, match="target must be one of"):
        explain_sample(default, sample, target=7)
    with pytest.raises(ValueError, match="one sample"):
        explain_sample(default, problem.data[:2])


def test_explanation_by_methods_that_keep_no_rows(problem):
    model = LateFusionClassifier().fit(problem.data[:120], problem.target[:120])
    sample = problem.data[[130]]
    assert explain_sample(model, sample).features == []
    assert "not known" in str(explain_sample(model, sample))
    ours = explain_sample(model, sample, background=problem.data[:120], n_features=45)
    total = sum(feature["contribution"] for feature in ours.features)
    mean = MultiViewData({n: X[:120].mean(axis=0)[None] for n, X in problem.data.items()})
    k = int(ours.target)
    change = model.predict_proba(sample)[0, k] - model.predict_proba(mean)[0, k]
    assert total == pytest.approx(change, abs=0.02)
    values = view_shapley(model, sample, model.predict(sample)).shapley_values
    assert len(values) == len(ours.views)


# the output is a container of views, which scikit-learn's checks read as one array
CONTAINER_CHECKS = [
    "check_array_api_input",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_pipeline_consistency",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
]


def test_selector_passes_the_checks_of_scikit_learn():
    selector = ViewFeatureSelector(LateFusionClassifier(), k=2, cv=2)
    expected = dict.fromkeys(CONTAINER_CHECKS, "the output is a container of views")
    expected["check_estimators_pickle"] = "NaN in single cells is up to the classifier that judges"
    results = check_estimator(selector, expected_failed_checks=expected, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) >= 30


@pytest.mark.parametrize("views", [[2, 3], {"a": [0, 1], "b": [2, 3, 4]}])
def test_views_of_one_matrix(views):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 5))
    X[:, 2] += 3 * y
    names = list(views) if isinstance(views, dict) else ["view0", "view1"]
    data = {names[0]: X[:, :2], names[1]: X[:, 2:]}
    expected = feature_importance(LateFusionClassifier(), data, y, cv=2)
    late = LateFusionClassifier(views=views)
    result = feature_importance(late, X, y, cv=2)
    np.testing.assert_array_equal(result.importance, expected.importance)
    assert result.view.tolist() == [names[0]] * 2 + [names[1]] * 3
    assert late.views is views
    steps = make_pipeline(ViewTransformer(StandardScaler(), views=views), LateFusionClassifier())
    assert feature_importance(steps, X, y, cv=2).importance.argmax() == 2
    for method in ("agreement", "copies"):
        chosen = select_features(late, X, y, cv=2, method=method, n_pairs=1, fdr=0.5)
        assert chosen.importance_.importance.argmax() == 2
    fitted = late.fit(X[:40], y[:40])
    assert feature_importance(fitted, X[40:], y[40:], cv="prefit").n_folds == 1
    with pytest.raises(ValueError, match="X already consists of several views"):
        feature_importance(late, data, y, cv=2)


def test_permuted_copies_of_columns_named_by_numbers():
    pd = pytest.importorskip("pandas")
    X = np.arange(12.0).reshape(6, 2)
    frame = with_copies(MultiViewData({"a": pd.DataFrame(X)}), np.random.RandomState(0))["a"]
    assert frame.shape == (6, 4)
    assert sorted(frame["1 (permuted)"]) == X[:, 1].tolist()
