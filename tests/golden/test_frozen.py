"""Results stay what they were: every output matches the numbers kept in ``frozen/``.

Those of classifiers are compared beside the other tests of their package, in ``test_frozen.py``.
"""

from pathlib import Path

import numpy as np

from golden import outputs
from golden.frozen_numbers import CLOSE, SAME_BLAS, frozen, package_of

TESTS = Path(__file__).parents[1]
SCORE_TOLERANCE = 1e-8 if SAME_BLAS else 1e-2  # the files keep ten digits


def test_every_package_with_classifiers_compares_its_own():
    models = [model for case in outputs.CASES for model in outputs.estimators_of(case).values()]
    for package in {package_of(model) for model in models}:
        (file,) = TESTS.glob(f"{package.strip('_')}*/test_frozen.py")
        assert f'frozen_cases("{package}")' in file.read_text()


def test_other_estimators():
    now = outputs.other_outputs()
    assert sorted(now) == sorted(frozen("others"))
    for key, values in now.items():
        np.testing.assert_allclose(values, frozen("others")[key], **CLOSE)


def test_scores_of_studies(tmp_path):
    now = outputs.study_scores(tmp_path)
    assert sorted(now) == sorted(frozen("scores"))
    for key, values in now.items():
        np.testing.assert_allclose(values, frozen("scores")[key], SCORE_TOLERANCE, err_msg=key)
