"""Spread of columns, and separation of right from wrong pairs of rows."""

import numpy as np
import scipy.sparse as sp

from consilience.trust import _cross_view
from consilience.trust._faults import _column_spread


def test_spread_of_columns():
    X = np.array([[1.0, 0.0, 5.0], [3.0, 0.0, 5.0], [0.0, 4.0, 5.0]])
    np.testing.assert_allclose(_column_spread(X), X.std(axis=0))
    np.testing.assert_allclose(_column_spread(sp.csr_array(X)), X.std(axis=0))


def test_columns_with_less_than_two_values_do_not_vary():
    X = np.array([[np.nan, 3.0, 1.0], [np.nan, np.nan, 3.0]])
    assert _column_spread(X).tolist() == [0, 0, 1]


def test_separation_is_the_share_of_wrong_pairs_with_less_evidence(monkeypatch):
    C = np.arange(200.0)[:, None]
    for sign, share in ((-1, 1.0), (1, 0.0)):
        monkeypatch.setattr(
            _cross_view, "_evidence", lambda _, predicted, C, s=sign: s * abs(predicted - C)[:, 0]
        )
        assert _cross_view._separation(None, C, C) == share
