"""Plots draw what the results say."""

import matplotlib
import numpy as np
import pytest
from sklearn.utils import Bunch

from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier
from consilience.trust import (
    PatternReliabilityDisplay,
    SuspectsDisplay,
    ViewConflictDisplay,
    ViewCostDisplay,
)


@pytest.fixture(autouse=True)
def close_figures():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def test_costs():
    result = Bunch(
        cost=np.array([0.0, 1.0]),
        accuracy=np.array([0.5, 0.9]),
        fixed_order=["a$", "b$"],
        fixed_cost=np.array([0.0, 1.0]),
        fixed_accuracy=np.array([0.5, 0.8]),
    )
    display = ViewCostDisplay(result).plot()
    curve = display.ax_.lines[0]
    np.testing.assert_array_equal(curve.get_ydata(), [0.5, 0.9])
    assert "a$ → b$" in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    display.figure_.canvas.draw()


def test_conflicts():
    conflict = np.array([[0.0, 1.0], [np.nan, np.nan], [5.0, 0.0]])
    result = Bunch(conflict=conflict, view_names=["a$", "b$"])
    display = ViewConflictDisplay(result, n_samples=2).plot()
    np.testing.assert_array_equal(display.rows_, [2, 0])
    display.figure_.canvas.draw()


def test_suspects():
    result = Bunch(probability=np.array([0.0, 0.9, 0.1]), suspects=np.array([1]))
    display = SuspectsDisplay(result).plot()
    (points,) = display.ax_.collections
    np.testing.assert_array_equal(points.get_offsets(), [[1, 0.9]])


def test_reliability_by_pattern():
    data, y = make_multiview_classification(120, n_views=2, missing_rate=0.3, random_state=0)
    model = LateFusionClassifier().fit(data, y)
    display = PatternReliabilityDisplay.from_estimator(model, data, y)
    assert set(display.curves) == {"view0", "view1", "view0+view1"}
    for confidence, accuracy in display.curves.values():
        assert (np.diff(confidence) >= 0).all()
        assert ((accuracy >= 0) & (accuracy <= 1)).all()


@pytest.mark.parametrize(
    ("display", "function"),
    [
        (ViewCostDisplay, "view_cost_curve"),
        (ViewConflictDisplay, "view_opinions"),
        (SuspectsDisplay, "find_mismatched_samples or find_label_errors"),
    ],
)
def test_results_of_another_function_are_a_type_error(display, function):
    with pytest.raises(TypeError, match=f"result must be what {function} returns, got Bunch"):
        display(Bunch(other=1)).plot()


def test_numbers_of_samples_and_bins_are_at_least_one():
    result = Bunch(conflict=np.zeros((3, 2)), view_names=["a", "b"])
    with pytest.raises(ValueError, match="n_samples must be a whole number of 1 or more, got -1"):
        ViewConflictDisplay(result, n_samples=-1).plot()
    data, y = make_multiview_classification(40, random_state=0)
    model = LateFusionClassifier().fit(data, y)
    with pytest.raises(ValueError, match="n_bins must be a whole number of 1 or more, got 0"):
        PatternReliabilityDisplay.from_estimator(model, data, y, n_bins=0)
