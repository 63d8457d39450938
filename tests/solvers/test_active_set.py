"""Steps of the active-set method."""

import numpy as np
import pytest

from consilience._solvers.active_set import step_to_bound

INF = np.inf


@pytest.mark.parametrize(
    ("lam", "change", "upper", "step"),
    [
        ([0.5, 0.5], [-1.0, 1.0], [INF, INF], 0.5),
        ([0.5, 0.5], [-0.625, 0.0], [1.0, 0.5], 0.8),  # a multiplier at its bound may rest
        ([0.5, 0.5], [-0.1, 0.625], [1.0, 1.0], 0.8),
        ([0.5, 0.5], [-0.1, 0.1], [1.0, 1.0], 1.0),
        ([0.0, 0.5], [0.5, -0.5], [1.0, 1.0], 1.0),
    ],
)
def test_largest_step_within_the_bounds(lam, change, upper, step):
    found = step_to_bound(np.array(lam), np.array(change), np.array(upper))
    assert found == pytest.approx(step)
