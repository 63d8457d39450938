import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold, cross_val_score

from consilience.benchmark import RECIPES, Recipe, cross_validate_recipes, get_recipes, rank
from consilience.datasets import make_multiview_classification

DATA, Y = make_multiview_classification(90, n_classes=3, strength=2.0, random_state=0)

PAPER_BASELINES = {
    "Mono", "Concat", "Fusion", "MV-MV", "SVMs", "SVM-MV", "Stacking", "Early+SVM", "SVM+Late",
    "AdaBoost-MV", "AdaBoost-Ca", "Early+AdaBoost", "rBoost.SH",
}  # fmt: skip


def test_baselines_of_the_papers_are_there():
    assert set(RECIPES) >= PAPER_BASELINES


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_beats_chance(name):
    model = RECIPES[name].build(0)
    assert cross_val_score(model, DATA, Y, cv=3, error_score="raise").mean() > 0.45
    again = RECIPES[name].build(0).fit(DATA, Y).decision_function(DATA)
    np.testing.assert_array_equal(again, model.fit(DATA, Y).decision_function(DATA))


def test_names():
    assert [recipe.name for recipe in get_recipes(["mono", "MONO", "svm-mv"])] == ["Mono", "SVM-MV"]
    with pytest.raises(ValueError, match="unknown method 'Duo'; known are Consilience, Best view"):
        get_recipes(["Duo"])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scores_are_those_of_scikit_learn(n_jobs):
    recipes = get_recipes(["Early fusion", "Late fusion"])
    summaries = rank(cross_validate_recipes(recipes, DATA, Y, n_splits=3, seed=1, n_jobs=n_jobs))
    cv = StratifiedKFold(3, shuffle=True, random_state=1)
    for summary in summaries:
        scores = cross_val_score(RECIPES[summary.method].build(1), DATA, Y, cv=cv)
        assert summary.accuracy == pytest.approx(scores.mean())
        assert summary.deviation == pytest.approx(scores.std(ddof=1))
        assert summary.fit_seconds > 0
    assert summaries[0].accuracy >= summaries[1].accuracy


class Broken(BaseEstimator):
    def fit(self, X, y):
        raise ValueError("cannot do this")


def test_a_failure_is_shown_and_does_not_stop_the_others(monkeypatch):
    broken = Recipe("Broken", "fails", "test", lambda seed: Broken())
    monkeypatch.setitem(RECIPES, "Broken", broken)
    results = cross_validate_recipes([broken, RECIPES["Concat"]], DATA, Y, n_splits=3)
    best, last = rank(results)
    assert best.method == "Concat"
    assert best.error is None
    assert last.error == "ValueError: cannot do this"
    assert np.isnan(last.accuracy)
