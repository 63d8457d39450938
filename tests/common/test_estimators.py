"""No public estimator is left out of the common tests."""

import pytest
from sklearn.base import ClassifierMixin

from common.estimators import CLASSIFIERS, OTHER_ESTIMATORS, SETTINGS, public_estimators


@pytest.mark.parametrize("name", public_estimators())
def test_public_estimator_is_tested(name):
    kind = public_estimators()[name]
    tested = {type(model) for model in CLASSIFIERS.values()}
    assert (kind in tested) == (name not in OTHER_ESTIMATORS)
    if kind in tested:
        assert issubclass(kind, ClassifierMixin)


def test_settings_are_those_of_public_estimators():
    assert set(SETTINGS) | set(OTHER_ESTIMATORS) <= set(public_estimators())
