"""Slow contributions of columns: derivatives by differences, and trees node by node."""

import numpy as np


def integrated_gradients(score, x, mean, n_points=200, step=1e-5):
    """c_jk = (x_j − m_j) ∫ ∂f_k/∂x_j along the line from the mean to x, by the midpoint rule."""
    n_classes = len(score(x))
    out = np.zeros((len(x), n_classes))
    for t in (np.arange(n_points) + 0.5) / n_points:
        point = mean + t * (x - mean)
        for j in range(len(x)):
            up, down = point.copy(), point.copy()
            up[j] += step
            down[j] -= step
            out[j] += (score(up) - score(down)) / (2 * step) / n_points
    return out * (x - mean)[:, None]


def walk(trees, x):
    """Contributions (d x K) of the columns on the paths of one row, tree by tree."""
    out = np.zeros((len(x), trees.value.shape[1]))
    for root in trees.roots:
        node = root
        while trees.feature[node] >= 0:
            column = trees.feature[node]
            goes_left = x[column] <= trees.threshold[node]
            if np.isnan(x[column]):
                goes_left = trees.missing_left[node] >= 0.5
            child = trees.left[node] if goes_left else trees.right[node]
            out[column] += trees.value[child] - trees.value[node]
            node = child
    return out
