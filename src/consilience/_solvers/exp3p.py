"""Exp3.P, the adversarial bandit with high-probability bounds.

Arms k = 1 … V with log-weights ``log_d``; T rounds in all; parameters a, gamma.

    p        = (1 − gamma) softmax(log_d) + gamma / V
    log_d_k += gamma / (3 V) · (reward / p_v · [k = v] + a / (p_k sqrt(V T)))

Reference: P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire, "The nonstochastic multiarmed bandit
problem", SIAM Journal on Computing 32 (2002).
"""

from __future__ import annotations

import numpy as np

__all__ = ["arm_probabilities", "draw_arm", "theorem_parameters", "update_log_weights"]


def arm_probabilities(log_d: np.ndarray, gamma: float) -> np.ndarray:
    """p = (1 − gamma) softmax(log_d) + gamma / V; never below gamma / V."""
    d = np.exp(log_d - log_d.max())
    return (1 - gamma) * d / d.sum() + gamma / len(d)


def draw_arm(p: np.ndarray, u: float) -> int:
    """The first arm whose cumulated probability exceeds ``u`` in [0, 1)."""
    return min(int(np.searchsorted(np.cumsum(p), u, side="right")), len(p) - 1)


def update_log_weights(
    log_d: np.ndarray,
    p: np.ndarray,
    arm: int,
    reward: float,
    n_rounds: int,
    a: float,
    gamma: float,
) -> np.ndarray:
    """log_d after ``reward`` was seen on ``arm``; every arm gets its confidence term."""
    gain = a / (p * np.sqrt(len(p) * n_rounds))
    gain[arm] += reward / p[arm]
    return log_d + gamma / (3 * len(p)) * gain


def theorem_parameters(n_arms: int, n_rounds: int, delta: float) -> tuple[float, float]:
    """(a, gamma) for which the regret bound holds with probability 1 − delta."""
    a = 2 * np.sqrt(np.log(n_arms * n_rounds / delta))
    gamma = min(3 / 5, 2 * np.sqrt(3 * n_arms * np.log(n_arms) / (5 * n_rounds)))
    return a, gamma
