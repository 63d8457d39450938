import numpy as np
import pytest
from sklearn.base import clone

from consilience.benchmark import RECIPES
from consilience.datasets import make_multiview_classification

DATA, Y = make_multiview_classification(180, n_classes=3, strength=3.0, random_state=0)
TRAIN, TEST = slice(0, 90), slice(90, 180)

PAPER_BASELINES = {
    "Mono", "Concat", "Fusion", "MV-MV", "SVMs", "SVM-MV", "Stacking", "Early+SVM", "SVM+Late",
    "AdaBoost-MV", "AdaBoost-Ca", "Early+AdaBoost", "rBoost.SH",
}  # fmt: skip


def test_baselines_of_the_papers_exist():
    assert set(RECIPES) >= PAPER_BASELINES


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_beats_chance(name):
    model = RECIPES[name].make_estimator(0)
    assert model.fit(DATA[TRAIN], Y[TRAIN]).score(DATA[TEST], Y[TEST]) > 0.45


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", RECIPES)
def test_recipe_is_repeatable(name):
    models = [clone(RECIPES[name].make_estimator(0)).fit(DATA[TRAIN], Y[TRAIN]) for _ in range(2)]
    one, other = (model.decision_function(DATA[TEST]) for model in models)
    np.testing.assert_array_equal(one, other)
