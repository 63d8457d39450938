"""Importances of views against slow definitions, and the axioms they must keep."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from consilience import MultiViewData, ViewTransformer
from consilience.boosting import MuMBoClassifier
from consilience.datasets import make_multiview_classification
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier
from consilience.inspection import view_permutation_importance, view_shapley
from consilience.inspection._group_permutation import permute_columns
from consilience.inspection._shapley import exact_shapley_values, sampled_gains


def shapley_by_orders(worth, n):
    """Mean gain of each player over all orders of joining."""
    gains = np.zeros((0, n))
    for order in permutations(range(n)):
        kept, row, before = np.zeros(n, bool), np.zeros(n), worth(np.zeros(n, bool))
        for v in order:
            kept[v] = True
            row[v], before = worth(kept) - before, worth(kept)
        gains = np.vstack([gains, row])
    return gains.mean(axis=0)


def random_game(n, seed):
    worths = np.random.default_rng(seed).normal(size=2**n)
    return lambda kept: worths[int((kept * 2 ** np.arange(n)).sum())]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_exact_values_are_the_mean_over_all_orders(n):
    game = random_game(n, n)
    np.testing.assert_allclose(
        exact_shapley_values(game, n), shapley_by_orders(game, n), atol=1e-12
    )


def test_values_of_null_and_equal_players_and_their_sum():
    def game(kept):
        return float(kept[0] or kept[1]) + 3.0 * kept[3]  # 0 and 1 alike, 2 adds nothing

    np.testing.assert_allclose(exact_shapley_values(game, 4), [0.5, 0.5, 0, 3], atol=1e-12)


def test_sampled_values_come_near_the_exact_ones():
    n, game = 6, random_game(6, 1)
    gains = sampled_gains(game, n, 4000, np.random.RandomState(0))
    pairs = gains.reshape(-1, 2, n).mean(axis=1)
    errors = pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs))
    assert (np.abs(pairs.mean(axis=0) - exact_shapley_values(game, n)) < 4 * errors).all()
    np.testing.assert_allclose(gains.sum(axis=1), game(np.ones(n)) - game(np.zeros(n)))


@pytest.fixture(scope="module")
def problem():
    data, y = make_multiview_classification(
        400, n_views=3, n_features=6, strength=3.0, redundancy=0.0, random_state=0
    )
    rng = np.random.default_rng(0)
    views = dict(data.items()) | {"noise": rng.normal(size=(400, 6))}
    return MultiViewData(views), y


def test_a_view_of_noise_has_no_importance(problem):
    data, y = problem
    model = LateFusionClassifier().fit(data[:250], y[:250])
    test, truth = data[250:], y[250:]
    shuffled = view_permutation_importance(model, test, truth, n_repeats=10, random_state=0)
    shapley = view_shapley(model, test, truth)
    assert shapley.exact
    assert (shapley.standard_errors == 0).all()
    np.testing.assert_allclose(
        shapley.shapley_values.sum(), shapley.full_score - shapley.empty_score, atol=1e-12
    )
    assert shapley.full_score == shuffled.baseline_score == model.score(test, truth)
    noise = data.view_names.index("noise")
    for result in (shuffled.importances_mean, shapley.shapley_values):
        assert abs(result[noise]) < 0.05 < np.delete(result, noise).max()


def test_same_seed_gives_the_same_importances_for_any_input_format(problem):
    data, y = problem
    by_name = EarlyFusionClassifier().fit(data, y)
    columns = data.view_slices
    matrix = EarlyFusionClassifier(views=columns).fit(data.to_array(), y)
    first = view_permutation_importance(by_name, data, y, random_state=3)
    second = view_permutation_importance(matrix, data.to_array(), y, random_state=3)
    np.testing.assert_allclose(first.importances, second.importances)
    assert first.view_names == second.view_names
    pipeline = make_pipeline(ViewTransformer(StandardScaler()), LateFusionClassifier())
    pipeline.fit(data, y)
    assert view_shapley(pipeline, data, y).shapley_values.sum() > 0.1


def test_missing_and_sparse_views(problem):
    data, y = problem
    present = np.random.default_rng(1).random(data.present.shape) < 0.7
    present[:, 0] |= ~present.any(axis=1)
    views = {
        name: sp.csr_array(np.asarray(X)) if i else X for i, (name, X) in enumerate(data.items())
    }
    gaps = MultiViewData(views, present=present)
    model = LateFusionClassifier().fit(gaps, y)
    result = view_permutation_importance(model, gaps, y, random_state=0)
    assert np.isfinite(result.importances).all()
    assert np.isfinite(view_shapley(model, gaps, y).shapley_values).all()


def test_many_views_are_sampled_with_errors():
    data, y = make_multiview_classification(150, n_views=10, n_features=2, random_state=0)
    model = LateFusionClassifier().fit(data, y)
    result = view_shapley(model, data, y, n_orders=10, random_state=0)
    assert not result.exact
    assert (result.standard_errors > 0).any()
    np.testing.assert_allclose(result.shapley_values.sum(), result.full_score - result.empty_score)
    again = view_shapley(model, data, y, n_orders=10, random_state=0)
    np.testing.assert_array_equal(result.shapley_values, again.shapley_values)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (view_permutation_importance, {"n_repeats": 0}, "n_repeats must be at least 1"),
        (view_shapley, {"n_orders": 3}, "even number"),
    ],
)
def test_bad_arguments(problem, function, arguments, message):
    data, y = problem
    model = LateFusionClassifier().fit(data, y)
    with pytest.raises(ValueError, match=message):
        function(model, data, y, **arguments)
    with pytest.raises(ValueError, match="one label for each of the 400 samples"):
        function(model, data, y[:-1])


def test_scoring_by_name(problem):
    data, y = problem
    model = MuMBoClassifier(n_estimators=5, random_state=0).fit(data, y)
    result = view_permutation_importance(model, data, y, scoring="neg_log_loss", random_state=0)
    assert result.baseline_score < 0


def test_standard_errors_are_those_of_the_mean_of_the_pairs_of_orders(monkeypatch):
    monkeypatch.setattr("consilience.inspection._shapley.MAX_EXACT_VIEWS", 1)
    gains = np.random.default_rng(0).normal(size=(6, 2))
    monkeypatch.setattr("consilience.inspection._shapley.sampled_gains", lambda *_: gains)
    X = {"a": np.arange(8.0)[:, None], "b": np.ones((8, 1))}
    y = np.repeat([0, 1], 4)
    result = view_shapley(LateFusionClassifier().fit(X, y), X, y, n_orders=6)
    pairs = (gains[0::2] + gains[1::2]) / 2
    np.testing.assert_allclose(result.shapley_values, pairs.mean(axis=0))
    expected = np.sqrt(((pairs - pairs.mean(axis=0)) ** 2).sum(axis=0) / 2 / 3)
    np.testing.assert_allclose(result.standard_errors, expected)


def test_labelled_rows_in_a_pipeline():
    pd = pytest.importorskip("pandas")
    data, y = make_multiview_classification(60, n_views=2, n_features=2, random_state=0)
    ids = [f"s{i}" for i in range(60)]
    frames = {
        name: pd.DataFrame(view, index=ids, columns=["u", "v"]) for name, view in data.items()
    }
    model = make_pipeline(ViewTransformer(StandardScaler()), LateFusionClassifier())
    plain = view_permutation_importance(model.fit(data, y), data, y, random_state=0)
    for views in (frames, {k: frame.reset_index(drop=True) for k, frame in frames.items()}):
        result = view_permutation_importance(model.fit(views, y), views, y, random_state=0)
        np.testing.assert_array_equal(result.importances, plain.importances)


@pytest.mark.parametrize("kind", ["dense", "sparse", "pandas"])
def test_values_of_some_columns_from_other_rows(kind):
    pd = pytest.importorskip("pandas")
    X = np.arange(12.0).reshape(4, 3) + 1
    X[1, 0] = X[2, 2] = np.nan
    view = {"dense": X, "sparse": sp.csr_array(X), "pandas": pd.DataFrame(X, index=list("abcd"))}
    data = MultiViewData({"a": view[kind], "b": np.ones((4, 1))})
    for columns in ([0], [0, 2], [0, 1, 2]):
        changed = permute_columns(data, "a", np.array(columns), np.array([2, 0, 3, 1]))["a"]
        values = changed.toarray() if kind == "sparse" else np.asarray(changed)
        expected = X.copy()
        expected[:, columns] = X[[2, 0, 3, 1]][:, columns]
        np.testing.assert_array_equal(values, expected)
        if kind == "pandas":
            assert changed.index.tolist() == list("abcd")
