"""Tools x carriers: what works, and the exact error where it cannot."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from common.carriers import carriers, problem
from common.estimators import CLASSIFIERS, PRECOMPUTED, VARIANTS
from common.tools import TOOLS
from conftest import FULL

CARRIERS = carriers()
CONTAINERS = [name for name in CARRIERS if "container" in name]

NEEDS_ARRAY = (
    TypeError,
    r"converted to one array; use data\.to_array\(\).*views=data\.view_slices",
)
NAMES_LOST = (ValueError, r"view 'a' refers to columns by name, but X has no column names")
WIDTHS_CHANGED = (ValueError, r"views=\[3, 4\] adds up to 7 columns, but X has n_features = \d")
ALL_FITS_FAILED = (
    ValueError,
    r"(?s)All the 2 fits failed.*(refers to columns by name|adds up to 7)",
)
NO_SPARSE = (ValueError, r"'X' parameter of permutation_importance must be an array-like")

# tools that make one array of X, or add and drop columns
DEMAND_ARRAY = [
    "BaggingClassifier",
    "AdaBoostClassifier",
    "OneVsOneClassifier",
    "OutputCodeClassifier",
    "ClassifierChain",
    "SelfTrainingClassifier",
    "permutation_importance",
    "RFE",
    "SequentialFeatureSelector",
]
DROP_NAMES = [
    "BaggingClassifier",
    "AdaBoostClassifier",
    "OneVsOneClassifier",
    "ClassifierChain",
    "SelfTrainingClassifier",
    "RFE",
]

EXPECTED_ERRORS = {
    **{(tool, carrier): NEEDS_ARRAY for tool in DEMAND_ARRAY for carrier in CONTAINERS},
    **{(tool, frame): NAMES_LOST for tool in DROP_NAMES for frame in ("pandas", "polars")},
    ("permutation_importance", "polars"): NAMES_LOST,
    ("permutation_importance", "csr"): NO_SPARSE,
    **{(t, c): WIDTHS_CHANGED for t in ("ClassifierChain", "RFE") for c in ("ndarray", "csr")},
    **{
        ("SequentialFeatureSelector", carrier): ALL_FITS_FAILED
        for carrier in ("ndarray", "csr", "pandas", "polars")
    },
}


def estimator_for(name, carrier):
    _, views, kernel = CARRIERS[carrier]
    if kernel:
        return clone(PRECOMPUTED[name])
    return clone(CLASSIFIERS[name]).set_params(views=views)


def values(result):
    result = getattr(result, "support_", result)
    return np.asarray(result, dtype=np.float64)


def test_size_of_the_matrix():
    assert len(TOOLS) >= 20
    assert len(CARRIERS) == 8


@pytest.mark.one_in(3)
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("tool", TOOLS)
def test_late_fusion(tool, carrier):
    check_cell("LateFusionClassifier", tool, carrier)


# the other classifiers go through the tools that differ in how they cut or call
SHORT_LIST = ["fit", "clone and pickle", "cross_val_score", "GridSearchCV"]
SHORT_LIST += ["CalibratedClassifierCV", "BaggingClassifier"]
# the class itself goes through all of these
VARIANT_LIST = SHORT_LIST if FULL else ["fit", "GridSearchCV"]
OTHERS = [
    (name, tool)
    for name in CLASSIFIERS
    if "Late" not in name
    for tool in (VARIANT_LIST if name in VARIANTS else SHORT_LIST)
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(("name", "tool"), OTHERS)
def test_other_classifiers(name, tool, carrier):
    if carrier == "kernel container" and name not in PRECOMPUTED:
        X, _, _ = CARRIERS[carrier]
        with pytest.raises(TypeError, match=r"a kernel view, but .* only supports features views"):
            CLASSIFIERS[name].fit(X, problem()[1])
        return
    check_cell(name, tool, carrier)


def check_cell(name, tool, carrier):
    X, _, _ = CARRIERS[carrier]
    _, y = problem()
    estimator = estimator_for(name, carrier)
    expected = EXPECTED_ERRORS.get((tool, carrier))
    with warnings.catch_warnings():
        if expected is not None:
            # scikit-learn warns that names were lost before we refuse
            warnings.simplefilter("ignore")
            with pytest.raises(expected[0], match=expected[1]):
                TOOLS[tool](estimator, X, y)
            return
        assert np.isfinite(values(TOOLS[tool](estimator, X, y))).all()
