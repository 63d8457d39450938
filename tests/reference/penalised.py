"""Penalised multinomial regression on several views, written out and solved as a conic program."""

from itertools import pairwise

import clarabel
import numpy as np
import scipy.sparse as sp


def standardise(X, present, weight, scale=True):
    """Centre and scale columns over the rows that have the view; 0 in the others."""
    w = weight * present / (weight * present).sum()
    X = np.where(present[:, None], X, 0.0)
    X = np.where(present[:, None], X - w @ X, 0.0)
    sd = np.sqrt(w @ X**2)
    return X / np.where(sd > 1e-12, sd, 1.0) if scale else X


def objective(Xs, present, weight, codes, coef, intercept, starts, l1, tau, ridge, lam, rho):
    """The value of the problem at coefficients (d x outputs), row by row."""
    widths = np.cumsum([0] + [X.shape[1] for X in Xs])
    eta = [X @ coef[a:b] for X, a, b in zip(Xs, widths[:-1], widths[1:], strict=True)]
    value = 0.0
    for i, y in enumerate(codes):
        score = intercept + sum(e[i] for e in eta)
        score = np.array([0.0, score[0]]) if len(score) == 1 else score
        value += weight[i] * (np.log(np.exp(score - score.max()).sum()) + score.max() - score[y])
        for u in range(len(Xs)):
            for v in range(u):
                if present[i, u] and present[i, v]:
                    value += weight[i] * rho / 2 * ((eta[u][i] - eta[v][i]) ** 2).sum()
    value += lam * (l1 * np.linalg.norm(coef, axis=1)).sum()
    for g, (a, b) in enumerate(pairwise(starts)):
        size = np.linalg.norm(coef[a:b])
        value += lam * (tau[g] * size + ridge[g] * size**2 / 2)
    return value


def solve_conic(
    Xs, present, weight, codes, K, starts, l1, tau, ridge, lam, rho, non_negative=False
):
    """Optimal value by an interior point method for exponential and second-order cones.

    Variables: coefficients, intercept, t_i ≥ log Σ exp, u_ik, norms s_j and s_g.
    """
    C = 1 if K == 2 else K
    n, V = present.shape
    widths = np.cumsum([0] + [X.shape[1] for X in Xs])
    d, G = widths[-1], len(tau)
    where = np.cumsum([0, d * C, C, n, n * K, d, G])
    B = np.arange(where[0], where[1]).reshape(d, C)
    b, t = np.arange(where[1], where[2]), np.arange(where[2], where[3])
    u = np.arange(where[3], where[4]).reshape(n, K)
    s, sg = np.arange(where[4], where[5]), np.arange(where[5], where[6])
    size = where[-1]
    X = np.hstack(Xs)
    P, q = np.zeros((size, size)), np.zeros(size)
    q[s], q[sg], q[t] = lam * l1, lam * tau, weight
    for g in range(G):
        for j in range(starts[g], starts[g + 1]):
            P[B[j], B[j]] += lam * ridge[g]
    for i in range(n):
        for v in range(V):
            for w in range(v):
                if not (present[i, v] and present[i, w]):
                    continue
                row = np.zeros(d)
                row[widths[v] : widths[v + 1]] = Xs[v][i]
                row[widths[w] : widths[w + 1]] = -Xs[w][i]
                for k in range(C):
                    P[np.ix_(B[:, k], B[:, k])] += weight[i] * rho * np.outer(row, row)
        # − weight × score of the own class
        k = codes[i] if C > 1 else 0
        if C > 1 or codes[i] == 1:
            q[B[:, k]] -= weight[i] * X[i]
            q[b[k]] -= weight[i]
    rows, offsets, cones = [], [], []

    def add(entries, offset):
        row = np.zeros(size)
        for index, value in entries:
            row[index] += value
        rows.append(row)
        offsets.append(offset)

    for i in range(n):  # Σ_k u_ik ≤ 1
        add([(u[i], np.ones(K))], 1.0)
    cones.append(clarabel.NonnegativeConeT(n))
    if non_negative:
        for j in range(d):
            add([(B[j, 0], -1.0)], 0.0)
        cones.append(clarabel.NonnegativeConeT(d))
    for i in range(n):  # (score_ik − t_i, 1, u_ik) in the exponential cone
        for k in range(K):
            entries = [(t[i], 1.0)]
            if C > 1:
                entries += [(B[:, k], -X[i]), (b[k], -1.0)]
            elif k == 1:
                entries += [(B[:, 0], -X[i]), (b[0], -1.0)]
            add(entries, 0.0)
            add([], 1.0)
            add([(u[i, k], -1.0)], 0.0)
            cones.append(clarabel.ExponentialConeT())
    for j in range(d):
        add([(s[j], -1.0)], 0.0)
        for k in range(C):
            add([(B[j, k], -1.0)], 0.0)
        cones.append(clarabel.SecondOrderConeT(C + 1))
    for g in range(G):
        add([(sg[g], -1.0)], 0.0)
        members = B[starts[g] : starts[g + 1]].ravel()
        for index in members:
            add([(index, -1.0)], 0.0)
        cones.append(clarabel.SecondOrderConeT(len(members) + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(np.array(rows)), np.array(offsets), cones,
        settings,
    )  # fmt: skip
    solution = solver.solve()
    return solution.obj_val, np.array(solution.x)[B], str(solution.status)


def solve_weights_conic(Z, codes, weight, lam):
    """Optimal value of non-negative view weights, variables a, b, t, u as above."""
    n, V, K = Z.shape
    size = V + K + n + n * K
    t, u = V + K, V + K + n
    q = np.zeros(size)
    q[:V], q[t : t + n] = lam, weight
    rows, offsets = [], []
    for i, y in enumerate(codes):
        q[:V] -= weight[i] * Z[i, :, y]
        q[V + y] -= weight[i]
        rows.append(np.zeros(size))
        rows[-1][u + i * K : u + (i + 1) * K] = 1.0
        offsets.append(1.0)
    rows += list(-np.eye(V, size))
    offsets += [0.0] * V
    for i in range(n):
        for k in range(K):
            row = np.zeros(size)
            row[t + i], row[:V], row[V + k] = 1.0, -Z[i, :, k], -1.0
            last = np.zeros(size)
            last[u + i * K + k] = -1.0
            rows += [row, np.zeros(size), last]
            offsets += [0.0, 1.0, 0.0]
    cones = [clarabel.NonnegativeConeT(n + V)] + [clarabel.ExponentialConeT()] * (n * K)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    # a constant in all intercepts changes nothing
    P = sp.diags_array(np.where(np.arange(size) == V, 1e-12, 0.0), format="csc")
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(P), q, sp.csc_matrix(np.array(rows)), np.array(offsets), cones, settings
    ).solve()
    return solution.obj_val, str(solution.status)
