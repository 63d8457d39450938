"""scikit-learn's own checks, with their number frozen: a wrong tag would lower it.

``make test`` runs half of them with one view, the other half with two, and a third for variants.
"""

import unittest
import warnings
from functools import partial

import pytest
import sklearn
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    estimator_checks_generator,
)

from common.estimators import CLASSIFIERS, TAKES_TABLES, VARIANTS
from conftest import FULL
from consilience import ViewTransformer
from consilience.landmark import LandmarkProjector
from consilience.views import ViewPreparer

TWO_VIEWS = [slice(0, 1), slice(1, None)]

# checks run for a classifier, by scikit-learn version; one more if it takes class_weight
N_CHECKS = {"1.9": 63}
N_CHECKS_CLASS_WEIGHT = {"1.9": 64}
N_TRANSFORMER_CHECKS = {"1.9": 46}
N_PROJECTOR_CHECKS = {"1.9": 55}

BLOCKS = (
    "scikit-learn's allow_nan means NaN in any cell or in none; the check's NaN in column 0 is "
    "here the whole first view, a missing view"
)
LOOSE = "at the default tolerance weights are repetitions to about 1e-3; checked at 1e-9 beside"
RANDOM_ROWS = "which views are suspicious is learned from random rows, that weights are not"
NOT_AN_ARRAY = "scikit-learn's check makes one array of what transform returns"
TRANSFORMER_FAILURES = dict.fromkeys(
    [
        "check_pipeline_consistency",
        "check_estimators_pickle",
        "check_array_api_input",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit_idempotent",
    ],
    NOT_AN_ARRAY,
)

WEIGHT_CHECKS = (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)


def run_checks(estimator, expected_failures, part=0, n_parts=1):
    """Name and status of every check; every ``n_parts``-th is run, the others are left out."""
    with warnings.catch_warnings():
        # the checks fit on odd data on purpose; what they want warned about they assert themselves
        warnings.simplefilter("ignore")
        checks = estimator_checks_generator(estimator, expected_failed_checks=expected_failures)
        return [
            (name_of(check), run_check(estimator, check, expected_failures))
            if number % n_parts == part % n_parts
            else (name_of(check), "left out")
            for number, (estimator, check) in enumerate(checks)
        ]


def name_of(check):
    while isinstance(check, partial):
        check = check.func
    return check.__name__


def run_check(estimator, check, expected_failures):
    try:
        check(estimator)
    except unittest.SkipTest:
        return "skipped"
    except Exception:
        if name_of(check) not in expected_failures:
            raise
        return "xfail"
    return "passed"


def assert_counts(results, frozen, expected_failures):
    version = ".".join(sklearn.__version__.split(".")[:2])
    assert {status for _, status in results} <= {"passed", "xfail", "left out"}
    xfailed = {name for name, status in results if status == "xfail"}
    left_out = {name for name, status in results if status == "left out"}
    assert xfailed <= set(expected_failures)
    if version in frozen:
        assert xfailed >= set(expected_failures) - left_out
        assert len(results) == frozen[version]
    else:
        assert len(results) >= 0.8 * max(frozen.values())


# the class itself is checked with one view too
CASES = [
    pytest.param(name, views, id=f"{name}-{'one view' if views is None else 'two views'}")
    for name in CLASSIFIERS
    for views in ([TWO_VIEWS] if name in VARIANTS and not FULL else [None, TWO_VIEWS])
]


def part_of(name, views):
    """Which checks ``make test`` runs: (first, step)."""
    number = list(CLASSIFIERS).index(name)
    return (number, 8) if name in VARIANTS else (number + 4 * (views is None), 8)


@pytest.mark.parametrize(("name", "views"), CASES)
def test_classifier(name, views):
    # who takes NaN in any cell is not asked to refuse it: one check less
    takes_nan = name in TAKES_TABLES
    failures = {} if views is None or takes_nan else {"check_estimators_nan_inf": BLOCKS}
    model = clone(CLASSIFIERS[name]).set_params(views=views)
    if "(rbf)" in name:
        # minutes at a tolerance that only these two checks need
        for check in WEIGHT_CHECKS:
            check(type(model).__name__, clone(model))
        model.set_params(tol=type(model)().tol)
        failures |= {check.__name__: LOOSE for check in WEIGHT_CHECKS}
    if name == "RobustPoolingClassifier" and views is not None:
        failures |= {check.__name__: RANDOM_ROWS for check in WEIGHT_CHECKS}
    frozen = N_CHECKS_CLASS_WEIGHT if "class_weight" in model.get_params() else N_CHECKS
    frozen = {version: count - takes_nan for version, count in frozen.items()}
    part, n_parts = (0, 1) if FULL else part_of(name, views)
    assert_counts(run_checks(model, failures, part, n_parts), frozen, failures)


@pytest.mark.parametrize("views", [None, TWO_VIEWS], ids=["one view", "two views"])
@pytest.mark.parametrize(
    "transformer", [ViewTransformer(MaxAbsScaler()), ViewPreparer()], ids=lambda t: type(t).__name__
)
def test_transformer(transformer, views):
    results = run_checks(clone(transformer).set_params(views=views), TRANSFORMER_FAILURES)
    assert_counts(results, N_TRANSFORMER_CHECKS, TRANSFORMER_FAILURES)


@pytest.mark.parametrize("views", [None, TWO_VIEWS], ids=["one view", "two views"])
def test_projector(views):
    failures = {} if views is None else {"check_estimators_nan_inf": BLOCKS}
    results = run_checks(LandmarkProjector(views=views, random_state=0), failures)
    assert_counts(results, N_PROJECTOR_CHECKS, failures)
