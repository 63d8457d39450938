import numpy as np
import pytest
from sklearn.base import clone

from consilience.benchmark import RECIPES
from consilience.datasets import make_multiview_classification

DATA, Y = make_multiview_classification(180, n_classes=3, strength=3.0, random_state=0)

PAPER_BASELINES = {
    "Mono", "Concat", "Fusion", "MV-MV", "SVMs", "SVM-MV", "Stacking", "Early+SVM", "SVM+Late",
    "AdaBoost-MV", "AdaBoost-Ca", "Early+AdaBoost", "rBoost.SH",
}  # fmt: skip


def test_baselines_of_the_papers_exist():
    assert set(RECIPES) >= PAPER_BASELINES


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_beats_chance(name):
    model = RECIPES[name].make_estimator(0)
    train, test = slice(0, 90), slice(90, 180)
    assert model.fit(DATA[train], Y[train]).score(DATA[test], Y[test]) > 0.45
    again = clone(RECIPES[name].make_estimator(0)).fit(DATA[train], Y[train])
    np.testing.assert_array_equal(
        again.decision_function(DATA[test]), model.decision_function(DATA[test])
    )
