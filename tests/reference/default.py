"""Slow twins of the parts of the default classifier."""

import numpy as np


def ridge(K, Y, weight, penalty):
    """Coefficients of kernel ridge with a constant in the kernel, by the normal equations."""
    A = np.diag(weight) @ (K + 1) + penalty * np.eye(len(K))
    return np.linalg.solve(A, np.diag(weight) @ Y)


def left_out(K, Y, weight, penalty):
    """Prediction of each row by a fit without it."""
    out = np.empty_like(Y)
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        coef = ridge(K[np.ix_(rest, rest)], Y[rest], weight[rest], penalty)
        out[i] = (K[i, rest] + 1) @ coef
    return out


def feature_left_out(Z, Y, weight, penalty):
    """The same for ridge regression on features."""
    out = np.empty_like(Y)
    for i in range(len(Z)):
        rest = np.delete(np.arange(len(Z)), i)
        S = np.diag(weight[rest])
        A = Z[rest].T @ S @ Z[rest] + penalty * np.eye(Z.shape[1])
        out[i] = Z[i] @ np.linalg.solve(A, Z[rest].T @ S @ Y[rest])
    return out


def mean_imputed(X, is_present, joint, k):
    """Rows that lack a view at the mean of their k nearest rows that have it."""
    filled = X.copy()
    donors = np.flatnonzero(is_present)
    for i in np.flatnonzero(~is_present):
        nearest = donors[np.argsort(joint[i, donors], kind="stable")[:k]]
        filled[i] = X[nearest].mean(axis=0)
    return filled


def distances(A, B):
    """|a − b|² for all pairs."""
    return ((A[:, None] - B[None]) ** 2).sum(axis=2)


def principal_components(X, k):
    """Scores on the first k principal components, signs aside."""
    centred = X - X.mean(axis=0)
    _, _, right = np.linalg.svd(centred, full_matrices=False)
    return centred @ right[:k].T


def route(tree, shares, left_shares, x, is_absent, min_weight, node=0, weight=1.0):
    """Class shares for one row that descends both sides of splits on absent columns."""
    feature = tree.feature[node]
    if feature < 0 or (is_absent[feature] and weight < min_weight):
        return weight * shares[node].astype(float)

    def below(child, part):
        return route(tree, shares, left_shares, x, is_absent, min_weight, child, part)

    if is_absent[feature]:
        left = weight * left_shares[node]
        return below(tree.left[node], left) + below(tree.right[node], weight - left)
    goes_left = x[feature] <= tree.threshold[node]
    if np.isnan(x[feature]):
        goes_left = tree.missing_left[node]
    return below(tree.left[node] if goes_left else tree.right[node], weight)


def route_forest(forest, X, is_absent, min_weight):
    """Mean over the trees of a forest, row by row."""
    out = np.zeros((len(X), forest.shares.shape[1]))
    for t in range(len(forest)):
        tree, start = forest._tree(t), forest.starts[t]
        shares, left_shares = forest.shares[start:], forest.left_shares[start:]
        out += [route(tree, shares, left_shares, x, is_absent, min_weight) for x in X]
    return out / len(forest)
