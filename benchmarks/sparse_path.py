"""Speed of a path of 100 penalties, as a ratio to scikit-learn's saga on a part of the path.

``python benchmarks/sparse_path.py [--quick]``. If skglm, celer or adelie are installed in the same
environment, they run on the same problem at the tolerances that reach a similar objective; for
glmnet see docs/results/sparse.md.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

from consilience._solvers.penalised import PathSolver, Penalty, StandardisedViews, lambda_path


def draw(n, p, K, seed=0):
    """Columns with common factors, classes from 20 of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.3 * rng.normal(size=(n, 20)) @ rng.normal(size=(20, p))
    columns = rng.choice(p, 20, replace=False)
    scores = X[:, columns] @ rng.normal(size=(20, K))
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def own_path(X, y, K, n_penalties, tol=1e-7):
    n, p = X.shape
    views = StandardisedViews([X], np.ones((n, 1), dtype=bool), np.ones(n))
    penalty = Penalty(np.array([0, p]), np.ones(p), np.zeros(1), np.zeros(1))
    solver = PathSolver(views, y, K, penalty, tol=tol)
    gaps = [solver.solve(lam).gap for lam in lambda_path(solver.lam_max, 0.01, n_penalties)]
    return max(gaps), solver.lam_max


def anchor(X, y, lam):
    """One fit of saga at a tenth of the largest penalty."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LogisticRegression(
            C=1 / (len(X) * lam), l1_ratio=1.0, solver="saga", tol=1e-4, max_iter=100
        ).fit(X, y)


def seconds(function, *args):
    start = time.process_time()
    result = function(*args)
    return time.process_time() - start, result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    shapes = [(60, 500, 2), (60, 500, 4)] if quick else [(200, 22_000, 2), (200, 22_000, 4)]
    for n, p, K in shapes:
        X, y = draw(n, p, K)
        own, (gap, lam_max) = seconds(own_path, X, y, K, 20 if quick else 100)
        other, _ = seconds(anchor, X, y, 0.1 * lam_max)
        print(
            f"n={n} p={p} K={K}: path {own:.2f} s (largest gap {gap:.1e}), "
            f"{own / other:.2f} x one fit of saga ({other:.2f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
