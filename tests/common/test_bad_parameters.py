"""Every hyper-parameter x many bad values: an error that names the parameter, or a finite model.

``make test`` takes a tenth of the values for each parameter, a different tenth for each.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from common.test_parameters import ESTIMATORS, PARAMETERS, Nothing
from conftest import FULL
from consilience import MultiViewData
from consilience.datasets import make_multiview_classification

X, Y = make_multiview_classification(24, n_views=2, n_features=[2, 3], random_state=0)
KERNEL = np.eye(24) + 0.1
INPUT = {
    "BinnedTreeClassifier": X.to_array(),
    "LaplacianCompletion": MultiViewData(
        {"k0": KERNEL, "k1": 2 * KERNEL}, kinds={"k0": "kernel", "k1": "kernel"}
    ),
}

# no parameter of any estimator can be one of these
NEVER_VALID = {
    "object": Nothing(),
    "bytes": b"x",
    "complex": 1j,
    "array of objects": np.array([None, "a"], dtype=object),
    "matrix": np.ones((3, 3)),
    "ragged list": [[1], [2, 3]],
    "list of NaN": [np.nan],
    "set": {1, 2},
    "dict of objects": {"a": Nothing()},
    "dict of bad numbers": {"view0": -1, "view1": np.nan},
    "ellipsis": ...,
    "date": np.datetime64("2020-01-01"),
    "generator": "a generator, made for each case",
    "huge integer": 10**400,
    "2 ** 63": 2**63,
    "NaN": np.nan,
    "infinity": np.inf,
    "infinity in float32": np.float32("inf"),
    "minus infinity": -np.inf,
    "negative": -0.5,
    "very negative": -1e300,
    "text": "no such value",
    "empty text": "",
    "estimator with a bad parameter": LogisticRegression(C=-1),
    "tree with a bad parameter": DecisionTreeClassifier(max_depth=-1),
}
SOMETIMES_VALID = {
    "0": 0,
    "-1": -1,
    "1.5": 1.5,
    "true": True,
    "none": None,
    "1e300": 1e300,
    "1e308": 1e308,
    "subnormal": 1e-320,
    "2 ** 31": 2**31,
    "zeros": [0, 0],
    "empty list": [],
    "empty tuple": (),
    "empty dict": {},
    "empty array": np.array([]),
    "array": np.array([1.0, 2.0]),
    "class": LogisticRegression,
    "function": len,
    "scaler": StandardScaler(),
}
VALUES = {**NEVER_VALID, **SOMETIMES_VALID}

# parameters for which some of NEVER_VALID are valid after all
VALID = {
    # any label
    ("unlabelled", "bytes"), ("unlabelled", "object"), ("unlabelled", "complex"),
    ("unlabelled", "ellipsis"), ("unlabelled", "date"), ("unlabelled", "generator"),
    ("unlabelled", "huge integer"), ("unlabelled", "2 ** 63"), ("unlabelled", "NaN"),
    ("unlabelled", "infinity"), ("unlabelled", "infinity in float32"),
    ("unlabelled", "minus infinity"), ("unlabelled", "negative"), ("unlabelled", "very negative"),
    ("unlabelled", "text"), ("unlabelled", "empty text"),
    ("unlabelled", "estimator with a bad parameter"), ("unlabelled", "tree with a bad parameter"),
    # any finite number
    ("coef0", "negative"), ("coef0", "very negative"), ("coef0", "2 ** 63"),
    # large numbers that are not special
    ("gamma", "2 ** 63"), ("C", "2 ** 63"), ("c", "2 ** 63"), ("D", "2 ** 63"),
    ("a", "2 ** 63"), ("degree", "2 ** 63"), ("epsilon", "2 ** 63"), ("norm", "2 ** 63"),
    ("reg", "2 ** 63"), ("rho", "2 ** 63"), ("view_penalties", "2 ** 63"),
    ("metric_reg", "2 ** 63"), ("tol", "2 ** 63"), ("time_budget", "2 ** 63"),
}  # fmt: skip


def values_for(number):
    """All values, or a tenth that depends on the number of the parameter."""
    names = list(VALUES)
    return names if FULL else names[number % 10 :: 10]


CASES = [
    (*parameter, value)
    for number, parameter in enumerate(PARAMETERS)
    for value in values_for(number)
]


def outputs(model, data):
    """Decisions of a fitted classifier; nothing for other estimators."""
    if not hasattr(model, "predict"):
        return np.zeros(0)
    method = "decision_function" if hasattr(model, "decision_function") else "predict_proba"
    return np.asarray(getattr(model, method)(data), dtype=float)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "key", "value"), CASES)
def test_bad_value(name, key, value):
    bad = (i for i in range(2)) if value == "generator" else VALUES[value]
    model, data = clone(ESTIMATORS[name]).set_params(**{key: bad}), INPUT.get(name, X)
    message = ""
    try:
        model.fit(data, Y)
    except (ValueError, TypeError) as error:
        message = " ".join([str(error), *getattr(error, "__notes__", [])])
    if not message:
        assert value in SOMETIMES_VALID or (key, value) in VALID
        assert np.isfinite(outputs(model, data)).all()
    elif key == "unlabelled" and "at least 2 classes" in message:
        pass  # a label of the data can be the mark of unlabelled rows, but then a class is missing
    else:
        assert key in message
