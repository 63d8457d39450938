"""Plots of features."""

import matplotlib as mpl
import numpy as np
import pytest

from consilience import MultiViewData
from consilience.datasets import make_multiview_biomarkers
from consilience.fusion import LateFusionClassifier
from consilience.inspection import (
    FeatureHeatmapDisplay,
    FeatureNetworkDisplay,
    FeatureVolcanoDisplay,
    feature_importance,
)

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def study():
    problem = make_multiview_biomarkers(
        100, n_features=[10, 20], n_informative=4, n_copies=4, effect=1.5, random_state=0
    )
    names = ["_$a", "<b>"]
    data = MultiViewData(dict(zip(names, [X for _, X in problem.data.items()], strict=True)))
    return feature_importance(LateFusionClassifier(), data, problem.target), data, problem.target


def test_bars(study):
    result, _, _ = study
    display = result.plot(5)
    display.figure_.canvas.draw()
    assert [ax.get_title() for ax in display.axes_] == ["_$a", "<b>"]
    widths = [bar.get_width() for bar in display.axes_[0].patches]
    own = np.sort(result.importance[result.view == "_$a"])[-5:]
    np.testing.assert_allclose(widths, own)
    with pytest.raises(ValueError, match="2 axes"):
        result.plot(ax=plt.subplots()[1])


def test_volcano(study):
    result, _, _ = study
    display = FeatureVolcanoDisplay.from_result(result, target=0)
    display.figure_.canvas.draw()
    points = np.vstack([part.get_offsets() for part in display.ax_.collections])
    np.testing.assert_allclose(points[:, 0], result.class_effect[:, 0])
    assert len(display.ax_.get_legend().get_texts()) == 2
    with pytest.raises(ValueError, match="target must be"):
        FeatureVolcanoDisplay.from_result(result, target=9)


def test_heatmap(study):
    result, data, y = study
    display = FeatureHeatmapDisplay.from_result(result, data, y, k=6)
    display.figure_.canvas.draw()
    image = display.ax_.images[0].get_array()
    assert image.shape == (6, 100)
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["0", "1"]
    pd = pytest.importorskip("pandas")
    ids = [f"s{i}" for i in range(len(y))]
    labelled = MultiViewData(dict(data.items()), sample_ids=ids)
    with pytest.raises(ValueError, match="y has the labels of the samples in a different order"):
        FeatureHeatmapDisplay.from_result(result, labelled, pd.Series(y, index=ids)[::-1], k=6)


def test_network(study):
    result, data, _ = study
    display = FeatureNetworkDisplay.from_result(result, data, k=4)
    display.figure_.canvas.draw()
    assert len(display.edges_) >= 4  # each informative feature and its copy
    assert all(display.views[a] != display.views[b] for a, b in display.edges_)
    present = np.ones((100, 2), dtype=bool)
    present[30:, 1] = False
    few = MultiViewData(dict(data.items()), present=present)
    shown = FeatureNetworkDisplay.from_result(result, few, k=4)
    expected = FeatureNetworkDisplay.from_result(result, data[:30], k=4)
    is_across = shown.views[:, None] != shown.views
    np.testing.assert_allclose(shown.correlations[is_across], expected.correlations[is_across])
