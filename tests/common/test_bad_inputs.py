"""Every classifier x more than a hundred kinds of bad input: an error that says what is wrong.

``make test`` gives each classifier a tenth of them, a different tenth for each.
"""

import re

import numpy as np
import pytest
from sklearn.base import clone

from common.bad_inputs import BAD_VIEWS, BAD_X, CASES, TABLES, VIEW, A, B, Y
from common.estimators import CLASSIFIERS, TAKES_TABLES
from conftest import FULL

# what the default method takes: empty cells and categories in any view, and rows without a label
TAKEN = {
    "view: sparse with NaN",
    *(f"view: {name}" for name in TABLES if "dates" not in name and "durations" not in name),
    "y: None among numbers",
    "y: None among texts",
}


def pairs(names, step=10):
    """Classifier x case; a part of the cases, another one for each classifier, if not FULL."""
    return [
        (model, name)
        for i, model in enumerate(CLASSIFIERS)
        for name in (names if FULL else list(names)[i % step :: step])
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "case"), pairs(CASES))
def test_fit(name, case):
    make, message = CASES[case]
    X, y, arguments = make()
    model = clone(CLASSIFIERS[name])
    if type(model).__name__ in TAKES_TABLES and case in TAKEN:
        return
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y, **arguments)


@pytest.fixture(scope="module")
def fitted():
    """The classifiers that have been fitted already."""
    return {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "case"), pairs(BAD_VIEWS))
def test_predict_bad_view(name, case, fitted):
    if name not in fitted:
        fitted[name] = clone(CLASSIFIERS[name]).fit({"a": A, "b": B}, Y)
    model = fitted[name]
    if type(model).__name__ in TAKES_TABLES and f"view: {case}" in TAKEN:
        return
    with pytest.raises((ValueError, TypeError), match=VIEW):
        model.predict({"a": A, "b": BAD_VIEWS[case]()})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "case"), pairs(BAD_X))
def test_predict_bad_x(name, case, fitted):
    if name not in fitted:
        fitted[name] = clone(CLASSIFIERS[name]).fit({"a": A, "b": B}, Y)
    if "without any view" in case:
        return  # these rows get the class prior, with a warning
    with pytest.raises((ValueError, TypeError), match=r"\bX\b|view|row|sample"):
        fitted[name].predict(BAD_X[case]())


SCALES = [1e308, 1e200, 1e120, 1e90, 1e-90, 1e-200, 1e-308]
PLACES = ["both views", "one view", "one row", "one column"]


def scaled(scale, place):
    X = {"a": A.copy(), "b": B.copy()}
    where = {"one row": np.s_[3:4], "one column": np.s_[:, :1]}.get(place, np.s_[:])
    with np.errstate(over="ignore"):
        for view in "ab" if place == "both views" else "b":
            X[view][where] = np.clip(X[view][where] * scale, -1.7e308, 1.7e308)
    return X


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "case"), pairs([(scale, place) for scale in SCALES for place in PLACES], step=7)
)
def test_huge_and_tiny_values(name, case):
    X = scaled(*case)
    finite_or_named(lambda: clone(CLASSIFIERS[name]).fit(X, Y), X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "scale"), pairs([1e308, 1e155, 1e90], step=3))
def test_predict_huge_values(name, scale, fitted):
    if name not in fitted:
        fitted[name] = clone(CLASSIFIERS[name]).fit({"a": A, "b": B}, Y)
    finite_or_named(lambda: fitted[name], scaled(scale, "one view"))


def finite_or_named(fit, X):
    """Finite outputs of a classifier, or an error that names the view."""
    message = ""
    try:
        model = fit()
        outputs = [model.decision_function(X)]
        if hasattr(model, "predict_proba"):
            outputs.append(model.predict_proba(X))
    except ValueError as error:
        message = str(error)
    if message:
        assert re.search(r"view '[ab]' has values too large", message)
    else:
        assert all(np.isfinite(values).all() for values in outputs)
