"""Slow twins of the parts of the default classifier."""

import numpy as np

from consilience._core.binned import MAX_DEPTH, BinnedView


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


def route(forest, tree, x, is_absent, min_weight, node, weight=1.0):
    """Class shares for one row that descends both sides of splits on absent columns."""
    if node < 0:
        return weight * forest.leaf_shares[~node].astype(float)
    at = forest.starts[tree] + node
    feature = forest.feature[at]

    def below(child, part):
        return route(forest, tree, x, is_absent, min_weight, child, part)

    if is_absent[feature]:
        if weight < min_weight:
            return weight * node_shares(forest, tree, node)
        left = weight * float(forest.left_share[at])
        return below(forest.left[at], left) + below(forest.right[at], weight - left)
    goes_left = x[feature] <= forest.threshold[at]
    if np.isnan(x[feature]):
        goes_left = forest.missing_left[at]
    return below(forest.left[at] if goes_left else forest.right[at], weight)


def node_shares(forest, tree, node):
    """Class shares of a node: those of its children, weighted."""
    if node < 0:
        return forest.leaf_shares[~node].astype(float)
    at = forest.starts[tree] + node
    left = float(forest.left_share[at])
    return left * node_shares(forest, tree, forest.left[at]) + (1 - left) * node_shares(
        forest, tree, forest.right[at]
    )


def route_forest(forest, X, is_absent, min_weight):
    """Mean over the trees of a forest, row by row; ``is_absent`` is n x d."""
    out = np.zeros((len(X), forest.leaf_shares.shape[1]))
    for t, root in enumerate(forest.roots):
        out += [
            route(forest, t, x, lacks, min_weight, root)
            for x, lacks in zip(X, is_absent, strict=True)
        ]
    return out / len(forest)


def grow_forest(X, codes, weight, seeds, n_classes, folds):
    """Class shares of the trees of a forest: votes for the rows left out, and a predict function.

    One tree after the other on the binned view, where every node keeps its class weights.
    """
    view = BinnedView(X, weight=weight)
    n_folds, trees = folds.max() + 1, []
    votes, n_votes = np.zeros((len(codes), n_classes)), np.zeros((len(codes), 1))
    for t, seed in enumerate(seeds):
        left_out = folds == t % n_folds
        tree = view.grow(
            codes,
            weight,
            n_classes=n_classes,
            rows=~left_out,
            max_depth=MAX_DEPTH,
            max_features=max(1, int(np.sqrt(X.shape[1]))),
            splitter="random",
            seed=int(seed),
        )
        shares = tree.value / tree.value.sum(axis=1, keepdims=True)
        votes[left_out] += shares[view.apply(tree)[left_out]]
        n_votes[left_out] += 1
        trees.append((tree, shares))

    def predict(rows):
        return np.mean([shares[tree.apply(rows)] for tree, shares in trees], axis=0)

    return votes / n_votes, predict
