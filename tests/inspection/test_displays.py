import matplotlib as mpl
import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from consilience import MultiViewData
from consilience.boosting import MuMBoClassifier
from consilience.datasets import load_digits_views
from consilience.fusion import LateFusionClassifier
from consilience.inspection import (
    StagedScoreDisplay,
    ViewImportanceDisplay,
    ViewWeightsDisplay,
    view_permutation_importance,
    view_shapley,
)

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    data, y = load_digits_views(return_X_y=True)
    names = dict(zip(data.view_names, ["$a_$", "<b>", "c", "d"], strict=True))
    data = MultiViewData({names[name]: X for name, X in data.items()})[:400]
    return MuMBoClassifier(n_estimators=8, random_state=0).fit(data, y[:400]), data, y[:400]


def names_of(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def widths_of(display):
    return [bar.get_width() for bar in display.ax_.patches]


def test_weights_are_drawn_by_size_and_names_as_they_are(fitted):
    model, _, _ = fitted
    display = ViewWeightsDisplay.from_estimator(model, color="green")
    np.testing.assert_allclose(widths_of(display), np.sort(model.view_weights_))
    order = np.argsort(model.view_weights_, kind="stable")
    assert names_of(display) == [model.view_names_[v] for v in order]
    display.figure_.canvas.draw()  # a dollar sign would fail here if it were mathematics


@pytest.mark.parametrize("kind", ["permutation", "shapley"])
def test_importances(fitted, kind):
    model, data, y = fitted
    function = {"permutation": view_permutation_importance, "shapley": view_shapley}[kind]
    result = function(model, data, y, random_state=0)
    _, ax = plt.subplots()
    display = ViewImportanceDisplay.from_estimator(model, data, y, kind=kind, random_state=0, ax=ax)
    values = result["importances_mean" if kind == "permutation" else "shapley_values"]
    np.testing.assert_allclose(widths_of(display), np.sort(values))
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    with pytest.raises(ValueError, match="kind must be"):
        ViewImportanceDisplay.from_estimator(model, data, y, kind="other")


def test_staged_scores(fitted):
    model, data, y = fitted
    display = StagedScoreDisplay.from_estimator(model, data, y, name="$x_$")
    assert display.scores[-1] == model.score(data, y)
    np.testing.assert_array_equal(display.line_.get_xdata(), np.arange(1, 9))
    display.figure_.canvas.draw()
    other = StagedScoreDisplay.from_estimator(model, data, y, metric=balanced_accuracy_score)
    assert other.ax_.get_ylabel() == "balanced accuracy"
    with pytest.raises(TypeError, match="has no staged_predict"):
        StagedScoreDisplay.from_estimator(LateFusionClassifier(), data, y)


def test_labels_in_another_order_are_an_error(fitted):
    pd = pytest.importorskip("pandas")
    model, data, y = fitted
    ids = [f"s{i}" for i in range(len(y))]
    labelled = MultiViewData(dict(data.items()), sample_ids=ids)
    with pytest.raises(ValueError, match="y has the labels of the samples in a different order"):
        StagedScoreDisplay.from_estimator(model, labelled, pd.Series(y, index=ids)[::-1])
