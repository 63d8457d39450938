"""Laplacian completion as it is meant: missing samples move to the mean of the others, again and
again, in the feature space of the kernel."""

import numpy as np


def likeness(Ks, present, v):
    """Mean over the other views that have both samples, by loops."""
    n = len(present)
    scales = [np.mean([K[i, i] for i in range(n) if present[i, u]]) for u, K in enumerate(Ks)]
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            result = [
                max(K[i, j], 0.0) / scales[u]
                for u, K in enumerate(Ks)
                if u != v and present[i, u] and present[j, u]
            ]
            if result and i != j:
                W[i, j] = np.mean(result)
    return W


def completed(Ks, present, v, rounds=20_000, tol=1e-13):
    """Kernel of view v with its missing rows filled."""
    W, known = likeness(Ks, present, v), present[:, v]
    values, vectors = np.linalg.eigh(Ks[v][np.ix_(known, known)])
    features = np.zeros((len(W), known.sum()))
    features[known] = vectors * np.sqrt(np.maximum(values, 0.0))
    for _ in range(rounds):
        before = features.copy()
        for i in np.flatnonzero(~known):
            features[i] = W[i] @ features / W[i].sum()
        if np.abs(features - before).max() < tol:
            break
    return features @ features.T
