"""Comparison of outputs with the numbers kept in ``frozen/``, by package.

They match to 1e-10 where the BLAS is the one they were computed with; kernels for other processors
add up in another order, which iterative solvers carry to about 1e-6. Solvers of margins stop at a
duality gap of about 1e-9: where rounding makes them stop a step earlier, decisions move by the
root of that, and further where several solutions are as good.
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
TOLERANCE = 1e-10 if SAME_BLAS else 1e-6
GAP_TOLERANCE = 1e-10 if SAME_BLAS else 1e-3  # of methods that stop at a duality gap
CLOSE = {"rtol": TOLERANCE, "atol": TOLERANCE}


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
    model = clone(outputs.estimators_of(case)[name])
    atol = GAP_TOLERANCE if package_of(model) == "margin" else TOLERANCE
    now = outputs.classifier_outputs(model, case)
    kept = [key for key in frozen(case) if key.startswith(f"{name}|")]
    assert sorted(kept) == sorted(f"{name}|{method}" for method in now)
    for method, values in now.items():
        np.testing.assert_allclose(values, frozen(case)[f"{name}|{method}"], TOLERANCE, atol)
