"""Comparison of outputs with the numbers kept in ``frozen/``, by package.

They match to 1e-10 where the BLAS is the one they were computed with; kernels for other processors
add up in another order, which iterative solvers carry to about 1e-6.
"""

from functools import cache
from pathlib import Path

import numpy as np
import threadpoolctl
from sklearn.base import clone

from golden import outputs

FROZEN = Path(__file__).parent / "frozen"
BLAS = {info.get("architecture") for info in threadpoolctl.threadpool_info()} - {None}
SAME_BLAS = set((FROZEN / "blas.txt").read_text().split()) == BLAS
CLOSE = {"rtol": 1e-10, "atol": 1e-10} if SAME_BLAS else {"rtol": 1e-6, "atol": 1e-6}


@cache
def frozen(case):
    return dict(np.load(FROZEN / f"{case}.npz"))


def package_of(model):
    return type(model).__module__.split(".")[1]


def frozen_cases(package):
    """(kind of input, name) of all classifiers of a package."""
    return [
        (case, name)
        for case in outputs.CASES
        for name, model in outputs.estimators_of(case).items()
        if package_of(model) == package
    ]


def assert_as_frozen(case, name):
    """All outputs of a classifier are those of the file."""
    now = outputs.classifier_outputs(clone(outputs.estimators_of(case)[name]), case)
    kept = [key for key in frozen(case) if key.startswith(f"{name}|")]
    assert sorted(kept) == sorted(f"{name}|{method}" for method in now)
    for method, values in now.items():
        np.testing.assert_allclose(values, frozen(case)[f"{name}|{method}"], **CLOSE)
