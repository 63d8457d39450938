"""MVML as it is stated, given to a generic conic solver: all of A, with blocks between views."""

import clarabel
import numpy as np
import scipy.sparse as sp


def objective(Phi, Y, weight, A, g, lam, eta, sizes, kind):
    """|Y − Φg|² + λ tr gᵀA⁺g + Ω(A) by its definition."""
    value = weight @ ((Y - Phi @ g) ** 2).sum(axis=1)
    value += lam * np.trace(g.T @ np.linalg.pinv(A, rcond=1e-12, hermitian=True) @ g)
    ends = np.cumsum(sizes)
    parts = [slice(e - s, e) for e, s in zip(ends, sizes, strict=True)]
    if kind == "dense":
        return value + eta * (A**2).sum()
    return value + eta * sum(np.linalg.norm(A[u, v]) for u in parts for v in parts)


def minimum(Phi, Y, weight, lam, eta, sizes, kind):
    """The least value over A ⪰ 0 and g: [[A, g], [gᵀ, T]] ⪰ 0 makes tr T ≥ tr gᵀA⁻¹g."""
    d, P = Phi.shape[1], Y.shape[1]
    m = d + P
    upper = [(i, j) for j in range(m) for i in range(j + 1)]
    place = {pair: k for k, pair in enumerate(upper)}
    size = len(upper)
    where = lambda i, j: place[min(i, j), max(i, j)]  # noqa: E731
    owner = np.repeat(np.arange(len(sizes)), sizes)
    pairs = [(u, v) for u in range(len(sizes)) for v in range(u, len(sizes))]
    n_vars = size + (len(pairs) if kind == "sparse" else 0)
    H, q = np.zeros((n_vars, n_vars)), np.zeros(n_vars)
    gram, cross = (Phi * weight[:, None]).T @ Phi, (Phi * weight[:, None]).T @ Y
    for k in range(P):
        index = [where(i, d + k) for i in range(d)]
        H[np.ix_(index, index)] += 2 * gram
        q[index] -= 2 * cross[:, k]
        q[where(d + k, d + k)] += lam
    if kind == "dense":
        for i in range(d):
            for j in range(d):
                H[where(i, j), where(i, j)] += 2 * eta
    scale = np.array([1.0 if i == j else np.sqrt(2) for i, j in upper])
    rows, cones = [-np.hstack([np.diag(scale), np.zeros((size, n_vars - size))])], []
    cones.append(clarabel.PSDTriangleConeT(m))
    if kind == "sparse":
        for k, (u, v) in enumerate(pairs):
            q[size + k] = eta * (1 if u == v else 2)
            entries = [(i, j) for i in range(d) for j in range(d) if (owner[i], owner[j]) == (u, v)]
            block = np.zeros((1 + len(entries), n_vars))
            block[0, size + k] = -1
            for r, (i, j) in enumerate(entries):
                block[1 + r, where(i, j)] = -1
            rows.append(block)
            cones.append(clarabel.SecondOrderConeT(len(block)))
    A = np.vstack(rows)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(H)), q, sp.csc_matrix(A), np.zeros(len(A)), cones, settings
    ).solve()
    assert solution.status in (
        clarabel.SolverStatus.Solved,
        clarabel.SolverStatus.AlmostSolved,
    )
    return solution.obj_val + weight @ (Y**2).sum(axis=1)
