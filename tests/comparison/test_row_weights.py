"""Sums of weights, from which the precision of scores follows."""

import pytest

from consilience.comparison._row_weights import RowWeights


def test_rows_of_equal_weight_that_are_as_precise():
    weights = RowWeights(2, 0, [3.0, 1.0], [9.0, 1.0])
    assert weights.effective_rows == pytest.approx(16 / 10)
    assert weights.effective_counts.tolist() == [1, 1]
    weights.check(2)


@pytest.mark.parametrize(("sums", "squares"), [([1.0, 1.0], [0.0, 0.0]), ([0.0, 0.0], [1.0, 1.0])])
def test_sums_without_weight_are_refused(sums, squares):
    with pytest.raises(ValueError, match="positive weight"):
        RowWeights(2, 0, sums, squares).check(2)
