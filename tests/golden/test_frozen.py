"""Results stay what they were: every output matches the numbers kept in ``frozen/``.

They match to 1e-10 where the BLAS is the one they were computed with; kernels for other processors
add up in another order, which iterative solvers carry to about 1e-6.
"""

from pathlib import Path

import numpy as np
import pytest
import threadpoolctl
from sklearn.base import clone

from golden import outputs

FROZEN = Path(__file__).parent / "frozen"
BLAS = {info.get("architecture") for info in threadpoolctl.threadpool_info()} - {None}
SAME_BLAS = set((FROZEN / "blas.txt").read_text().split()) == BLAS
CLOSE = {"rtol": 1e-10, "atol": 1e-10} if SAME_BLAS else {"rtol": 1e-6, "atol": 1e-6}


@pytest.fixture(scope="module")
def frozen():
    return {path.stem: dict(np.load(path)) for path in FROZEN.glob("*.npz")}


@pytest.mark.parametrize(
    ("case", "name"),
    [(case, name) for case in outputs.CASES for name in outputs.estimators_of(case)],
)
def test_classifiers(frozen, case, name):
    now = outputs.classifier_outputs(clone(outputs.estimators_of(case)[name]), case)
    kept = [key for key in frozen[case] if key.startswith(f"{name}|")]
    assert sorted(kept) == sorted(f"{name}|{method}" for method in now)
    for method, values in now.items():
        np.testing.assert_allclose(values, frozen[case][f"{name}|{method}"], **CLOSE)


def test_other_estimators(frozen):
    now = outputs.other_outputs()
    assert sorted(now) == sorted(frozen["others"])
    for key, values in now.items():
        np.testing.assert_allclose(values, frozen["others"][key], **CLOSE)


def test_scores_of_studies(frozen, tmp_path):
    now = outputs.study_scores(tmp_path)
    assert sorted(now) == sorted(frozen["scores"])
    for key, values in now.items():
        # the files keep ten digits
        np.testing.assert_allclose(values, frozen["scores"][key], rtol=1e-8, err_msg=key)
