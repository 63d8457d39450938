"""Block sparse PLS-DA written out on dense matrices that are deflated in place.

SGCCA with the Horst scheme (Tenenhaus et al. 2014), with the number of loadings that are not 0 in
place of a bound on their sum, as in DIABLO (Singh et al. 2019).
"""

import numpy as np


def sparsify(u, keep):
    """Subtract the (keep + 1)-th largest absolute value, and divide by the norm."""
    sizes = sorted(np.abs(u), reverse=True)
    if keep < len(u):
        u = np.array([np.sign(x) * max(abs(x) - sizes[keep], 0.0) for x in u])
    return u / np.sqrt(sum(x * x for x in u))


def dummy(y):
    """Classes as columns, centred and of variance 1."""
    Y = np.array([[float(label == k) for k in np.unique(y)] for label in y])
    return (Y - Y.mean(axis=0)) / Y.std(axis=0)


def block_spls(Xs, y, design, keep, n_iter=5000):
    """Loadings (d_v x H) of the views, and of the classes (K x H)."""
    Xs = [(X - X.mean(axis=0)) / X.std(axis=0) for X in Xs]
    Y = dummy(y)
    V, H = len(Xs), len(keep[0])
    C = np.ones((V + 1, V + 1))  # the last block are the classes
    C[:V, :V] = design
    loadings = [[] for _ in range(V + 1)]
    for h in range(H):
        blocks = [*Xs, Y]
        a = []
        for v in range(V):
            U, _, _ = np.linalg.svd(Xs[v].T @ Y, full_matrices=False)
            u = U[:, 0] * np.sign(U[np.argmax(np.abs(U[:, 0])), 0])
            a.append(sparsify(u, keep[v][h]))
        b = Y.T @ sum(Xs[v] @ a[v] for v in range(V))
        a.append(b / np.linalg.norm(b))
        for _ in range(n_iter):
            before = [x.copy() for x in a]
            for j in range(V + 1):
                z = sum(C[j, k] * (blocks[k] @ a[k]) for k in range(V + 1) if k != j)
                u = blocks[j].T @ z
                a[j] = sparsify(u, keep[j][h] if j < V else len(u))
            if max(np.abs(x - w).max() for x, w in zip(a, before, strict=True)) < 1e-13:
                break
        deflated = np.zeros_like(Y)
        for v in range(V):
            t = Xs[v] @ a[v]
            Xs[v] = Xs[v] - np.outer(t, t @ Xs[v]) / (t @ t)
            deflated += (Y - np.outer(t, t @ Y) / (t @ t)) / V
        Y = deflated
        for j in range(V + 1):
            loadings[j].append(a[j])
    return [np.column_stack(own) for own in loadings]
