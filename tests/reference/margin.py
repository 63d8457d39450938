"""The margin problems as they are stated, given to a generic conic solver; and plain loops.

Variables are x = (w_1 … w_V, b_1 … b_V, slacks); views are dense, ``present`` says where they are.
"""

from itertools import combinations, product

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.linalg import block_diag


def conic(P, q, rows, bounds, cones=()):
    """min ½xᵀPx + qᵀx for rows @ x ≥ bounds and (matrix, offset) in exponential cones."""
    A, b = [-rows], [-bounds]
    kinds = [clarabel.NonnegativeConeT(len(bounds))]
    for matrix, offset in cones:
        A.append(-matrix)
        b.append(offset)
        kinds.append(clarabel.ExponentialConeT())
    parts = sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(np.vstack(A)), np.hstack(b), kinds
    for tolerance in (1e-11, 1e-10, 1e-9, 1e-8):  # asked for too much, the solver returns less
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter = False, 500
        for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
            setattr(settings, name, tolerance)
        solution = clarabel.DefaultSolver(*parts, settings).solve()
        if solution.status == clarabel.SolverStatus.Solved:
            break
    return np.array(solution.x)


def margin_rows(Xs, y):
    """Matrices (n x Σd + V) that turn (w, b) into y f_v, one for each view."""
    widths = [X.shape[1] for X in Xs]
    d, out = sum(widths), []
    for v, X in enumerate(Xs):
        M = np.zeros((len(y), d + len(Xs)))
        first = sum(widths[:v])
        M[:, first : first + widths[v]] = y[:, None] * X
        M[:, d + v] = y
        out.append(M)
    return out


def ridge(Xs):
    """½|w|² leaves the intercepts free."""
    return np.diag(np.r_[np.ones(sum(X.shape[1] for X in Xs)), np.zeros(len(Xs))])


def smvmed(Xs, present, y, weight, c, alpha):
    n, V = present.shape
    W = (np.ones((V, V)) - np.eye(V)) / (V - 1) if V > 1 else np.zeros((1, 1))
    M = margin_rows(Xs, y)
    size = M[0].shape[1]
    P = block_diag(ridge(Xs), *[w * c**2 * (np.eye(V) - alpha * W) for w in weight])
    rows = [
        np.r_[M[v][t], np.eye(n * V)[t * V + v]]
        for t in range(n)
        for v in range(V)
        if present[t, v]
    ]
    return conic(P, np.zeros(len(P)), np.array(rows), np.ones(len(rows)))[:size]


def smvmed_objective(Xs, present, y, weight, c, alpha, x):
    """½|w|² + (c²/2) Σ ω ξᵀ(I − αW)ξ at (w, b) = x, the slacks by a small conic problem each."""
    n, V = present.shape
    W = (np.ones((V, V)) - np.eye(V)) / (V - 1) if V > 1 else np.zeros((1, 1))
    Q = np.eye(V) - alpha * W
    u = np.column_stack([1 - M @ x for M in margin_rows(Xs, y)])
    value = x @ ridge(Xs) @ x / 2
    for t in range(n):
        seen = np.flatnonzero(present[t])
        best = np.inf
        # the slacks that are at their bounds decide; the others follow from them
        for mask in product([False, True], repeat=len(seen)):
            bound = seen[list(mask)]
            free = np.setdiff1d(np.arange(V), bound)
            xi = np.zeros(V)
            xi[bound] = u[t, bound]
            if len(free):
                xi[free] = -np.linalg.solve(
                    Q[np.ix_(free, free)], Q[np.ix_(free, bound)] @ xi[bound]
                )
            if (xi[seen] >= u[t, seen] - 1e-12).all():
                best = min(best, xi @ Q @ xi)
        value += c**2 / 2 * weight[t] * best
    return value


def mvmed(Xs, present, y, weight, c, prior="gaussian"):
    n, V = present.shape
    M = margin_rows(Xs, y)
    size = M[0].shape[1]
    rows = np.array(
        [np.r_[M[v][t], np.eye(n)[t]] for t in range(n) for v in range(V) if present[t, v]]
    )
    if prior == "gaussian":
        P = block_diag(ridge(Xs), c**2 * np.diag(weight))
        return conic(P, np.zeros(len(P)), rows, np.ones(len(rows)))[:size]
    # one more variable r_t ≤ log ξ_t for each sample: (r, 1, ξ) lies in the exponential cone
    P = block_diag(ridge(Xs), np.zeros((2 * n, 2 * n)))
    q = np.r_[np.zeros(size), c * weight, -weight]
    rows = np.hstack([rows, np.zeros((len(rows), n))])
    cones = []
    for t in range(n):
        matrix = np.zeros((3, len(P)))
        matrix[0, size + n + t] = matrix[2, size + t] = 1
        cones.append((matrix, np.array([0.0, 1.0, 0.0])))
    return conic(P, q, rows, np.ones(len(rows)), cones)[:size]


def mvmed_objective(x, Xs, present, y, weight, c, prior):
    z = np.column_stack([m @ x for m in margin_rows(Xs, y)])
    worst = np.where(present, 1 - z, -np.inf).max(axis=1)
    if prior == "gaussian":
        cost = c**2 * np.maximum(worst, 0) ** 2 / 2
    else:
        xi = np.maximum(worst, 1 / c)
        cost = c * xi - 1 - np.log(c * xi)
    return x @ ridge(Xs) @ x / 2 + weight @ cost


def svm2k(Xs, present, y, weight, C, D, epsilon):
    """One or two views."""
    n, V = present.shape
    M = margin_rows(Xs, y)
    size = M[0].shape[1]
    k = n * (3 if V == 2 else 1)
    rows, bounds = [np.hstack([np.zeros((k, size)), np.eye(k)])], [np.zeros(k)]
    for v in range(V):
        unit = np.eye(k)[v * n : (v + 1) * n]
        rows.append(np.hstack([M[v], unit])[present[:, v]])
        bounds.append(np.ones(present[:, v].sum()))
    if V == 2:
        both = present.all(axis=1)
        for sign in (1, -1):
            rows.append(np.hstack([sign * (M[0] - M[1]), np.eye(k)[2 * n :]])[both])
            bounds.append(np.full(both.sum(), -epsilon))
    costs = np.concatenate([c * weight for c in ([*C, D] if V == 2 else C)])
    P = block_diag(ridge(Xs), np.zeros((k, k)))
    return conic(P, np.r_[np.zeros(size), costs], np.vstack(rows), np.concatenate(bounds))[:size]


def svm2k_objective(x, Xs, present, y, weight, C, D, epsilon):
    M = margin_rows(Xs, y)
    z = np.column_stack([m @ x for m in M])
    value = x @ ridge(Xs) @ x / 2
    for v, cost in enumerate(C):
        value += cost * weight @ (np.maximum(1 - z[:, v], 0) * present[:, v])
    if len(Xs) == 2:
        apart = np.maximum(np.abs(z[:, 0] - z[:, 1]) - epsilon, 0)
        value += D * weight @ (apart * present.all(axis=1))
    return value


def slacks_by_enumeration(u, a, b):
    """max_{λ ≥ 0} λᵀu − ½ λᵀ(aI + b11ᵀ)λ over all sets of positive entries."""
    V = len(u)
    best, value = np.zeros(V), 0.0
    for m in range(1, V + 1):
        for index in map(list, combinations(range(V), m)):
            lam = np.zeros(V)
            lam[index] = np.linalg.solve(a * np.eye(m) + b, u[index])
            here = lam @ u - (a * lam @ lam + b * lam.sum() ** 2) / 2
            if (lam >= 0).all() and here > value:
                best, value = lam, here
    return best, value


def dual_value(Xs, y, weight, lam, a, b):
    """SMVMED's dual, a lower bound of its objective, at λ made feasible (yᵀλ_v = 0)."""
    lam = lam.copy()
    for v in range(lam.shape[1]):
        plus, minus = lam[y > 0, v].sum(), lam[y < 0, v].sum()
        if plus > minus:
            lam[y > 0, v] *= minus / plus
        elif minus > plus:
            lam[y < 0, v] *= plus / minus
    value = lam.sum() - ((a * (lam**2).sum(axis=1) + b * lam.sum(axis=1) ** 2) / weight).sum() / 2
    for v, X in enumerate(Xs):
        w = X.T @ (y * lam[:, v])
        value -= w @ w / 2
    return value


def margin_norms(Xs, y, lam):
    """½ Σ_v |X_vᵀ y λ_v|²."""
    return sum(((X.T @ (y * lam[:, v])) ** 2).sum() for v, X in enumerate(Xs)) / 2


def exponential_dual(Xs, y, weight, lam, c):
    """MVMED's dual with the exponential prior, Σ ω [μ + log(1 − μ/c)] − ½ Σ|X_vᵀyλ_v|²."""
    mu = lam.sum(axis=1) / weight
    return weight @ (mu + np.log1p(-mu / c)) - margin_norms(Xs, y, lam)


def svm2k_dual(Xs, y, weight, lam, C, D, epsilon):
    """SVM-2K's dual at the multipliers of the views, λ₁ = a₁ − β and λ₂ = a₂ + β, as they allow.

    λ is fixed, so |β| is as small as 0 ≤ a ≤ C permits.
    """
    lam = lam / weight[:, None]
    value = weight @ lam.sum(axis=1) - margin_norms(Xs, y, lam * weight[:, None])
    if len(Xs) == 2:
        low = np.maximum(-lam[:, 0], lam[:, 1] - C[1])
        high = np.minimum(C[0] - lam[:, 0], lam[:, 1])
        beta = np.clip(0.0, low, np.maximum(low, high))
        assert (np.abs(beta) <= D + 1e-9).all()
        value -= epsilon * weight @ np.abs(beta)
    return value
