"""The margin problems as they are stated, given to a generic conic solver; and plain loops.

Variables are x = (w_1 … w_V, b_1 … b_V, slacks); views are dense, ``present`` says where they are.
"""

from itertools import combinations, product

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.linalg import block_diag


def conic(P, q, rows, bounds, cones=(), zero=None):
    """min ½xᵀPx + qᵀx for rows @ x ≥ bounds, zero @ x = 0, (matrix, offset) in exp. cones."""
    A, b = [-rows], [-bounds]
    kinds = [clarabel.NonnegativeConeT(len(bounds))]
    if zero is not None:
        A.append(zero)
        b.append(np.zeros(len(zero)))
        kinds.append(clarabel.ZeroConeT(len(zero)))
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


def dual_coupled(Ks, y, upper, own, shared, c=0.0, linear=1.0):
    """λ (V x n): max Σ pλ − Σψ − ½ Σ (yλ_v)ᵀK_v(yλ_v), 0 ≤ λ ≤ upper, yᵀλ_v = 0.

    ψ = ½ own Σ_v λ² + ½ shared μ², or −own log(1 − μ/(c own)) for c > 0; μ = Σ_v λ_v.
    """
    V, n = upper.shape
    kept = np.flatnonzero(upper.ravel() > 0)
    P = block_diag(*[np.outer(y, y) * K for K in Ks])
    q = -np.broadcast_to(linear, (V, n)).ravel().astype(float)
    sums = np.tile(np.eye(n), V)
    if c == 0:
        P = P + np.kron(np.eye(V), np.diag(own)) + sums.T @ np.diag(shared) @ sums
    P, q, top = P[np.ix_(kept, kept)], q[kept], upper.ravel()[kept]
    sums, m = sums[:, kept], len(kept)
    bounded = np.isfinite(top)
    rows = np.vstack([np.eye(m), -np.eye(m)[bounded]])
    bounds = np.r_[np.zeros(m), -top[bounded]]
    zero, cones = np.kron(np.eye(V), y)[:, kept], []
    zero = zero[zero.any(axis=1)]
    if c > 0:
        # r_t ≤ log(1 − μ_t/(c own_t)): (r, 1, 1 − μ/(c own)) lies in the exponential cone
        P, q = block_diag(P, np.zeros((n, n))), np.r_[q, -own]
        rows, zero = (np.hstack([M, np.zeros((len(M), n))]) for M in (rows, zero))
        for t in range(n):
            matrix = np.zeros((3, m + n))
            matrix[0, m + t] = 1
            matrix[2, :m] = -sums[t] / (c * own[t])
            cones.append((matrix, np.array([0.0, 1.0, 1.0])))
    lam = np.zeros(V * n)
    lam[kept] = conic(P, q, rows, bounds, cones, zero)[:m]
    return lam.reshape(V, n)


def dual_coupled_value(lam, Ks, y, own, shared, c=0.0, linear=1.0):
    mu = lam.sum(axis=0)
    value = (linear * lam).sum()
    value -= sum((y * l) @ K @ (y * l) / 2 for l, K in zip(lam, Ks, strict=True))
    if c > 0:
        return value + own @ np.log1p(-mu / (c * own))
    return value - (own * lam**2).sum() / 2 - shared @ mu**2 / 2


def dual_pair(Ks, y, C, D, epsilon):
    """SVM-2K's g (2 x n) from a₁, a₂, β⁺, β⁻."""
    n = len(y)
    eye, none = np.eye(n), np.zeros((n, n))
    G = [
        np.hstack([np.diag(y), none, -eye, eye]),
        np.hstack([none, np.diag(y), eye, -eye]),
    ]
    P = sum(g.T @ K @ g for g, K in zip(G, Ks, strict=True))
    q = np.r_[-np.ones(2 * n), np.full(2 * n, epsilon)]
    rows = np.vstack([np.eye(4 * n), -np.eye(4 * n)[: 2 * n], -np.hstack([none, none, eye, eye])])
    bounds = np.r_[np.zeros(4 * n), -C.ravel(), -D]
    x = conic(P, q, rows, bounds, zero=np.array([g.sum(axis=0) for g in G]))
    return np.array([g @ x for g in G])


def pair_objective(g, b, Ks, y, C, D, epsilon):
    """SVM-2K's primal at f_v = K_v g_v + b_v."""
    f = [K @ g_v + b_v for K, g_v, b_v in zip(Ks, g, b, strict=True)]
    value = sum(g_v @ K @ g_v / 2 for K, g_v in zip(Ks, g, strict=True))
    value += sum(C[v] @ np.maximum(0, 1 - y * f[v]) for v in range(2))
    return value + D @ np.maximum(0, np.abs(f[0] - f[1]) - epsilon)


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
