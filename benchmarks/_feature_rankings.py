"""Other ways of ranking features, for comparison: F test, forest impurity, permutation, SHAP."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import f_classif
from sklearn.model_selection import train_test_split

N_TREES = 200
N_REPEATS = 3


def f_test(X, y):
    return np.nan_to_num(f_classif(X, y)[0])


def forest_rankings(X, y, seed, with_shap=True):
    """Impurity decrease, permutation importance and mean |SHAP| on a third of the rows left out."""
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=1 / 3, stratify=y, random_state=seed)
    forest = RandomForestClassifier(N_TREES, random_state=seed)
    impurity = forest.fit(X, y).feature_importances_
    forest.fit(X[train], y[train])
    out = {"impurity": impurity, "permutation": permutation(forest, X[test], y[test], seed)}
    if with_shap:
        values = shap_values(forest, X[test])
        if values is not None:
            out["SHAP"] = values
    return out


def permutation(forest, X, y, seed):
    """Increase of the log loss when a column is permuted, exactly as scikit-learn computes it.

    Only the trees that split on a column are evaluated again, which is what makes it affordable.
    """
    rng = np.random.RandomState(seed)
    X = X.astype(np.float32)
    codes = np.searchsorted(forest.classes_, y)
    trees = [estimator.tree_ for estimator in forest.estimators_]
    votes = [_shares(tree, X) for tree in trees]
    total = np.sum(votes, axis=0)
    users = {}
    for t, tree in enumerate(trees):
        for column in np.unique(tree.feature[tree.feature >= 0]):
            users.setdefault(int(column), []).append(t)
    base = _log_loss(total / len(trees), codes)
    out = np.zeros(X.shape[1])
    for column, own in users.items():
        kept = X[:, column].copy()
        for _ in range(N_REPEATS):
            X[:, column] = rng.permutation(kept)
            changed = total + np.sum([_shares(trees[t], X) - votes[t] for t in own], axis=0)
            out[column] += (_log_loss(changed / len(trees), codes) - base) / N_REPEATS
        X[:, column] = kept
    return out


def _shares(tree, X):
    values = tree.predict(X).reshape(len(X), -1)
    return values / values.sum(axis=1, keepdims=True)


def _log_loss(probabilities, codes):
    return -np.log(np.clip(probabilities[np.arange(len(codes)), codes], 1e-6, 1)).mean()


def shap_values(forest, X):
    """Mean |SHAP value| over rows and classes; None if shap is not installed."""
    try:
        import shap
    except ImportError:
        return None
    values = np.asarray(shap.TreeExplainer(forest).shap_values(X, check_additivity=False))
    if values.shape[0] != len(X):  # older versions: classes first
        values = np.moveaxis(values, 0, -1)
    return np.abs(values).mean(axis=(0, 2))
