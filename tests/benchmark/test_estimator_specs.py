"""Specifications of estimators: whatever changes a result changes them, nothing else does."""

import json
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import PredefinedSplit
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from consilience.benchmark.estimator_specs import estimator_spec


def power(X, k=2):
    return X**k


def raised_to(k):
    def inner(X):
        return X**k

    return inner


def counting():
    def count(n):
        return n and count(n - 1)

    return count


def defined(text):
    """The function f of a text, as if a module had been edited."""
    namespace = {"__name__": "edited"}
    exec(text, namespace)
    return namespace["f"]


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, X):
        return self.factor * X

    def apply(self, X):
        return self(X)


class Folds:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return "Folds()"


def long_array(value=0.0, dtype=float):
    array = np.zeros(5000, dtype=dtype)
    array[2500] = value
    return array


PAIRS = {
    "partial": (partial(power, k=2), partial(power, k=3)),
    "arguments of a partial": (partial(power, 2), partial(power, 3)),
    "lambdas": (lambda X: X, lambda X: X * 0),
    "constants": (lambda X: X * 2, lambda X: X * 3),
    "inner functions": (lambda X: (lambda Y: Y + 1)(X), lambda X: (lambda Y: Y + 2)(X)),
    "closures": (raised_to(2), raised_to(3)),
    "defaults": (defined("def f(X, k=1): pass"), defined("def f(X, k=2): pass")),
    "keyword defaults": (defined("def f(X, *, k=1): pass"), defined("def f(X, *, k=2): pass")),
    "an edited body": (defined("def f(X): return X.sum()"), defined("def f(X): return X.mean()")),
    "objects": (Scale(1), Scale(2)),
    "methods": (Scale(1).apply, Scale(2).apply),
    "kernels": (RBF(1.0), RBF(2.0)),
    "scorers": (make_scorer(fbeta_score, beta=1), make_scorer(fbeta_score, beta=2)),
    "arrays": (long_array(), long_array(9)),
    "dtypes": (long_array(), long_array(dtype=np.float32)),
    "shapes": (long_array(), long_array()[:, None]),
    "arrays of objects": (long_array(dtype=object), long_array(9, object)),
    "dataframes": (pd.DataFrame({"a": long_array()}), pd.DataFrame({"a": long_array(9)})),
    "series": (pd.Series(long_array()), pd.Series(long_array(9))),
    "splitters": (PredefinedSplit(long_array()), PredefinedSplit(long_array(1))),
    "objects that cannot be called": (Folds(2), Folds(3)),
    "sets": ({"a", "b"}, {"a", "c"}),
    "sparse": (sp.csr_array(long_array(8)[None]), sp.csr_array(long_array(9)[None])),
}


@pytest.mark.parametrize("name", PAIRS)
def test_settings_that_differ_have_different_specs(name):
    first, second = (estimator_spec(FunctionTransformer(kw_args={"a": a})) for a in PAIRS[name])
    assert json.dumps(first) != json.dumps(second)
    again = FunctionTransformer(kw_args={"a": PAIRS[name][0]})
    assert json.dumps(estimator_spec(again)) == json.dumps(first)


def test_equal_settings_have_equal_specs():
    def texts():
        return [
            json.dumps(estimator_spec(value))
            for value in (
                defined("\n\ndef f(X):\n    # twice\n    return 2 * X"),
                raised_to(2),
                partial(power, k=2),
                long_array(9),
                np.array(["a", None], dtype=object),
                sp.csc_array(long_array(9)[None]),
                Scale(2),
                counting(),
            )
        ]

    assert texts() == texts()
    assert estimator_spec(defined("def f(X): return 2 * X")) == estimator_spec(
        defined("\n\ndef f(X):\n    # twice\n    return 2 * X")
    )
    assert estimator_spec(long_array(9)) == estimator_spec(np.repeat(long_array(9), 2)[::2])


def test_specs_of_plain_settings_and_known_packages_are_those_of_stored_fits():
    assert estimator_spec([np.log1p, np.mean, fbeta_score, StandardScaler]) == [
        f"{np.log1p.__module__}.log1p",
        "numpy.mean",
        "sklearn.metrics._classification.fbeta_score",
        "sklearn.preprocessing._data.StandardScaler",
    ]
    assert estimator_spec(StandardScaler(with_mean=False)) == {
        "class": "sklearn.preprocessing._data.StandardScaler",
        "copy": True,
        "with_mean": False,
        "with_std": True,
    }
    assert estimator_spec(np.float64(0.5)) == 0.5
    assert estimator_spec(slice(2)) == "slice(None, 2, None)"
    assert estimator_spec(PredefinedSplit([0, 1])) == "PredefinedSplit(test_fold=array([0, 1]))"


def test_specs_do_not_depend_on_the_process():
    script = (
        "import json\n"
        "from sklearn.base import BaseEstimator\n"
        "from consilience.benchmark.estimator_specs import estimator_spec\n"
        "f = lambda x: x in {'a', 'b', 'c', 'd'}\n"
        "class Own(BaseEstimator):\n"
        "    def fit(self, X, y): return X in {'a', 'b', 'c', 'd'}\n"
        "letters = {'a', 'b', 'c', 'd'}\n"
        "print(json.dumps([estimator_spec(f), estimator_spec(Own()), estimator_spec(letters)]))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
