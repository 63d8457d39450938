"""Exp3.P by hand."""

import numpy as np
import pytest

from consilience._solvers.exp3p import (
    arm_probabilities,
    draw_arm,
    theorem_parameters,
    update_log_weights,
)


def test_probabilities_are_mixed_with_equal_ones():
    log_d = np.log([1.0, 2.0, 5.0])
    np.testing.assert_allclose(
        arm_probabilities(log_d, 0.3), 0.7 * np.array([1, 2, 5]) / 8 + 0.3 / 3
    )
    np.testing.assert_allclose(arm_probabilities(log_d + 1e4, 0.3), arm_probabilities(log_d, 0.3))


def test_the_drawn_arm_is_the_first_beyond_the_number():
    p = np.array([0.25, 0.5, 0.25])
    assert [draw_arm(p, u) for u in (0, 0.2, 0.25, 0.7, 0.75, 0.99)] == [0, 0, 1, 1, 2, 2]
    assert draw_arm(p * (1 - 1e-9), 1 - 1e-12) == 2  # rounding of the sum


def test_weights_grow_with_the_reward_and_the_confidence():
    p = np.array([0.2, 0.8])
    updated = update_log_weights(np.array([1.0, 2.0]), p, 1, 0.5, n_rounds=8, a=3.0, gamma=0.6)
    confidence = 3.0 / (p * 4)
    np.testing.assert_allclose(
        updated, [1 + 0.1 * confidence[0], 2 + 0.1 * (confidence[1] + 0.5 / 0.8)]
    )


def test_parameters_of_the_theorem():
    a, gamma = theorem_parameters(4, 1000, 0.05)
    assert a == pytest.approx(2 * np.sqrt(np.log(4 * 1000 / 0.05)))
    assert gamma == pytest.approx(2 * np.sqrt(3 * 4 * np.log(4) / 5000))
    assert theorem_parameters(4, 2, 0.05)[1] == 0.6
