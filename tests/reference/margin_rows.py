"""Directions of the interior point method for margins, sample by sample with dense matrices.

A sample has slack variables ξ (k), values z (V), distances s and multipliers λ (p). A direction
solves, for given Δz, the linear system of Δξ, Δs and Δλ that the optimality conditions give.
"""

import numpy as np


def selection(slot, k):
    """E (p x k): which slack variable a constraint has."""
    return np.eye(k)[slot]


def direction(rows, s, lam, on, target, dz):
    """Δξ, Δs, Δλ of a sample with λΔs + sΔλ = target, ΣΔλ = bend Δξ and Δs = EΔξ + HΔz."""
    E, k, p = selection(rows["slot"], len(rows["bend"])), len(rows["bend"]), len(s)
    system, right = np.zeros((k + 2 * p, k + 2 * p)), np.zeros(k + 2 * p)
    xi, ds, dl = slice(k), slice(k, k + p), slice(k + p, k + 2 * p)
    system[xi, xi], system[xi, dl] = np.diag(rows["bend"]), -E.T
    system[ds, ds], system[ds, xi] = np.eye(p), -(E * on[:, None])
    right[ds] = on * (rows["H"] @ dz)
    system[dl, ds], system[dl, dl], right[dl] = np.diag(lam), np.diag(s), on * target
    x = np.linalg.solve(system, right)
    return x[xi], x[ds], x[dl]


def walk(rows, s, lam, on, stages, low, high, dz):
    """The last target, and the direction of the last stage for which there is Δz."""
    target, result = None, (None, None, None)
    for q, (kind, goal, aim) in enumerate(stages):
        _, ds, dlam = result
        if kind == "centred":
            product = (lam + aim * dlam) * (s + aim * ds)
            change = np.clip(product, low * goal, high * goal) - product
            target = target + on * np.maximum(change, -high * goal)
        else:
            second = ds * dlam if kind == "second" else 0.0
            target = on * (goal - lam * s - second)
        if q < len(dz):
            result = direction(rows, s, lam, on, target, dz[q])
    return target, result


def curvature(rows, s, lam):
    """HᵀΘH − HᵀΘE (bend + EᵀΘE)⁻¹ EᵀΘH."""
    E, theta = selection(rows["slot"], len(rows["bend"])), np.diag(lam / s)
    g = rows["H"].T @ theta @ E
    M = np.diag(rows["bend"]) + E.T @ theta @ E
    return rows["H"].T @ theta @ rows["H"] - g @ np.linalg.solve(M, g.T)


def pulled(rows, s, lam, on, target):
    """Hᵀ of what the target makes of λ if z stays: the right-hand side of θ."""
    _, _, dlam = direction(rows, s, lam, on, target, np.zeros(rows["H"].shape[1]))
    return rows["H"].T @ dlam
