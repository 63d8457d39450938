"""An invalid parameter is refused before any data are read, whatever it is and wherever it is."""

import numpy as np
import pytest
from sklearn.base import clone

from common.estimators import CLASSIFIERS
from consilience import BinnedTreeClassifier, ViewTransformer
from consilience.distributed import BlockSequence
from consilience.kernel import LaplacianCompletion
from consilience.landmark import LandmarkProjector
from consilience.views import ViewPreparer

OTHERS = [BinnedTreeClassifier(), ViewTransformer("passthrough"), LaplacianCompletion(),
          LandmarkProjector(), ViewPreparer()]  # fmt: skip
ESTIMATORS = {type(model).__name__: model for model in [*CLASSIFIERS.values(), *OTHERS]}
PARAMETERS = [(name, key) for name, model in ESTIMATORS.items() for key in model.get_params(False)]


class Unread:
    """Data that must not be looked at."""

    def __getattribute__(self, name):
        # what isinstance and hasattr ask of any object is allowed
        if name in ("__class__", "__dict__"):
            return object.__getattribute__(self, name)
        raise AssertionError(f"the data were read: {name}")


def unreadable_blocks():
    raise AssertionError("a block was read")


class Nothing:
    """No parameter can be this."""

    def __repr__(self):
        return "Nothing()"


def refused(model, key, value, X):
    with pytest.raises(
        (ValueError, TypeError), match=rf"'{key}' parameter of {type(model).__name__}"
    ) as caught:
        model.set_params(**{key: value}).fit(X, np.array([0, 1]))
    assert repr(value) in str(caught.value)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "key"), PARAMETERS)
def test_a_wrong_type_is_refused_before_data_are_read(name, key):
    model = clone(ESTIMATORS[name])
    if key in ("landmarks", "unlabelled"):
        return  # samples of the user's own, and any label: they are checked with the data
    refused(model, key, Nothing(), Unread())


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "key"), PARAMETERS)
def test_a_string_is_no_boolean_and_a_boolean_no_number(name, key):
    model = clone(ESTIMATORS[name])
    default = model.get_params(False)[key]
    if isinstance(default, bool):
        refused(model, key, "False", Unread())
    elif isinstance(default, (int, float)):
        refused(clone(model), key, True, Unread())
        refused(clone(model), key, np.nan, Unread())


@pytest.mark.parametrize("name", ["MVLSVMClassifier", "SMVMEDClassifier"])
def test_no_block_is_read(name):
    for key in ESTIMATORS[name].get_params(False):
        if key == "landmarks":
            continue
        model = clone(ESTIMATORS[name]).set_params(**{key: Nothing()})
        with pytest.raises((ValueError, TypeError), match=f"'{key}' parameter"):
            model.fit(BlockSequence(unreadable_blocks))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_has_constraints(name):
    assert set(ESTIMATORS[name]._parameter_constraints) == set(ESTIMATORS[name].get_params(False))
