"""Data for the tests of blocks: several classes, missing views, weights, dense and sparse."""

import numpy as np
import scipy.sparse as sp

from consilience import MultiViewData
from consilience._solvers.water_filling import coupling, water_fill
from consilience._targets import one_vs_rest_signs
from consilience.distributed import BlockSequence
from consilience.landmark import MVLSVMClassifier


def make(n, n_classes=3, seed=0, dtype=np.float64):
    """Views a (dense), b (of the dtype) and c (sparse), labels, weights (some of them 0).

    Similarities of float32 rows round at 1e-7, by the number of rows that are multiplied at once.
    """
    rng = np.random.RandomState(seed)
    codes = rng.randint(n_classes, size=n)
    codes[:n_classes] = np.arange(n_classes)
    a = rng.randn(n, 5) + 0.7 * codes[:, None]
    b = (rng.randn(n, 4) + (codes == 1)[:, None]).astype(dtype)
    c = (rng.rand(n, 8) < 0.3) * (rng.rand(n, 8) + 0.3 * codes[:, None])
    present = rng.rand(n, 3) > 0.2
    present[~present.any(axis=1), 0] = True
    weight = rng.randint(0, 4, size=n) / 2.0
    weight[:n_classes] = 1.0
    views = {"a": a, "b": b, "c": sp.csr_array(c)}
    labels = np.array(["no", "perhaps", "yes"][:n_classes])[codes]
    return MultiViewData(views, present=present), labels, weight


def landmarks(n=12, seed=5):
    """Landmarks that do not depend on the training rows."""
    data, _, _ = make(n, seed=seed)
    return MultiViewData(dict(data.items()), present=np.ones((n, 3), bool))


def mvlsvm(**settings):
    """MVL-SVM whose landmarks and imputation are those of the same model in memory."""
    settings = {"imputation": "mean", "C": 100.0, **settings}
    return MVLSVMClassifier(landmarks=landmarks(), random_state=0, **settings)


def objective(model, data, y, weight):
    """What the fit minimises, summed over the problems."""
    codes, weight = np.searchsorted(model.classes_, y), np.asarray(weight, dtype=float)
    signs = one_vs_rest_signs(codes, len(model.classes_)).T
    if isinstance(model, MVLSVMClassifier):
        M = model._imputer(model._projection(data), model._projection.present(data))
        slack = np.maximum(0, 1 - signs * (M @ model.coef_.T + model.intercept_))
        loss = model.C * (weight @ slack**2) / weight.sum()
        return float((np.sum(model.coef_**2, axis=1) / 2 + loss).sum())
    f = model.view_decision_function(data).reshape(len(data), data.n_views, -1)
    total = sum(np.sum(w**2) for w in model.coef_.values()) / 2
    for k in range(signs.shape[1]):
        u = np.where(data.present, 1 - signs[:, [k]] * np.nan_to_num(f[:, :, k]), 0.0)
        lam = water_fill(u, *coupling(model.c, model.alpha, data.n_views))
        total += weight @ (lam * u).sum(axis=1) / 2
    return float(total)


def cut(data, y, weight=None, rows=(100,)):
    """Blocks whose sizes repeat."""
    blocks, start, k = [], 0, 0
    while start < len(y):
        part = slice(start, start + rows[k % len(rows)])
        blocks.append((data[part], y[part]) + (() if weight is None else (weight[part],)))
        start, k = part.stop, k + 1
    return BlockSequence(blocks)
