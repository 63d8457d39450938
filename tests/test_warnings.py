"""Warnings point at the user's call, however deep in the library they are raised."""

import linecache

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from consilience import MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.kernel import MKLClassifier, MVMLClassifier
from consilience.landmark import LandmarkProjector, MVLSVMClassifier

DATA, Y = make_multiview_classification(40, n_views=2, random_state=0)
HALF = MultiViewData(dict(DATA.items()), present=np.tile([True, False], (40, 1)))


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier(),
        MVMLClassifier(random_state=0),
        MVLSVMClassifier(10, random_state=0),
        LandmarkProjector(10, random_state=0),
        make_pipeline(MKLClassifier()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_warning_points_at_the_call_of_fit(model):
    with pytest.warns(UserWarning, match="'view1' are present in no training row") as caught:
        model.fit(HALF, Y)
    [warning] = caught
    assert warning.filename == __file__
    assert "model.fit(HALF, Y)" in linecache.getline(warning.filename, warning.lineno)
