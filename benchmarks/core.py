"""The tree kernels against DecisionTreeClassifier and LightGBM: times, accuracies, growth, parity.

``python benchmarks/core.py [--quick]`` prints the speed ratios; ``--parity`` compares boosting on
our trees with boosting on exact ones over several seeds; ``--mfeat FILE`` adds the multiple
features data (an ``.npz`` with the views and the labels ``y``).
"""

import argparse
import warnings

import numpy as np
import scipy.sparse as sp
from _timing import least, report
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from consilience._core.binned import BinnedView

try:
    import lightgbm
except ImportError:
    lightgbm = None


def dense_problem(n_classes, n=10_000, d=196, seed=0):
    """Training and test halves, float32 as the anchor wants it, and boosting-like weights."""
    X, y = make_classification(
        2 * n, d, n_informative=20, n_redundant=20, n_classes=n_classes, n_clusters_per_class=1,
        class_sep=0.7, flip_y=0.05, random_state=seed,
    )  # fmt: skip
    X = X.astype(np.float32)
    weight = np.random.default_rng(seed).exponential(size=n)
    return X[:n], y[:n], X[n:], y[n:], weight


def sparse_problem(n, seed=0):
    """n words, 50 in each row, of equal rarity but for ten that tell the classes apart."""
    rng, d, n_entries = np.random.default_rng(seed), n, 50 * n
    frequent = sp.random(2 * n, 10, density=0.2, format="csr", rng=rng)
    share = (n_entries - 2 * n) / (n * (d - 10))
    rare = sp.random(2 * n, d - 10, density=share, format="csr", rng=rng)
    score = frequent @ rng.normal(size=10) + 0.2 * rng.normal(size=2 * n)
    X, y = sp.hstack([rare, frequent], format="csr"), (score > 0).astype(int)
    return X[:n], y[:n], X[n:], y[n:], rng.exponential(size=n)


def accuracy(model, X, y):
    return (model.predict(X) == y).mean()


def lightgbm_line(X, y, X_test, y_test, weight, params):
    """Time and accuracy of one LightGBM tree on an already binned data set, one thread."""
    if lightgbm is None:
        return
    quiet = {"verbose": -1, "feature_pre_filter": False}
    data = lightgbm.Dataset(X, y, weight=weight, params=quiet).construct()
    options = {
        "objective": "binary", **quiet, "num_threads": 1, "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0.0, "boost_from_average": True, **params,
    }  # fmt: skip
    seconds = least(lambda: lightgbm.train(options, data, num_boost_round=1), repeat=5)
    model = lightgbm.train(options, data, num_boost_round=1)
    right = ((model.predict(X_test) > y.mean()) == y_test).mean()
    print(f"{'':<58} {seconds:9.4f} s  LightGBM, one tree, accuracy {right:.3f}")


def compare(work, view, X, data, anchor_X, goal, **params):
    """One line: a tree re-fitted on the binned view against the anchor's fit, both accuracies."""
    y, X_test, y_test, weight = data
    n_classes = int(y.max()) + 1

    def ours():
        return view.grow(y, weight, n_classes=n_classes, **params)

    model = DecisionTreeClassifier(max_depth=params["max_depth"], random_state=0)
    anchor = least(lambda: model.fit(anchor_X, y, sample_weight=weight), repeat=3)
    report(work, least(ours, repeat=15), anchor, goal)
    print(
        f"{'':<58} accuracy {accuracy(ours(), X_test, y_test):.3f}, "
        f"anchor {accuracy(model, X_test, y_test):.3f}"
    )


def dense_refits(n):
    goals = {(2, 1): "(reach 100x)", (2, 3): "(reach 60x)"}
    for n_classes in (2, 10):
        X, y, X_test, y_test, weight = dense_problem(n_classes, n)
        view = BinnedView(X)
        for depth in (1, 3):
            compare(
                f"re-fit, depth {depth}, {n} x 196, K = {n_classes}",
                view, X, (y, X_test, y_test, weight), X, goals.get((n_classes, depth), ""),
                max_depth=depth,
            )  # fmt: skip
            if n_classes == 2:
                shape = {"max_depth": depth, "num_leaves": 2**depth}
                lightgbm_line(X, y, X_test, y_test, weight, shape)


def voter_set(n, max_depth=6):
    X, y, X_test, y_test, weight = dense_problem(2, n)

    def ours():
        view = BinnedView(X)
        tree = view.grow(y, weight, n_classes=2, max_depth=max_depth)
        return view.predict_depths(tree, max_depth), tree

    def theirs():
        models = [
            DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y, sample_weight=weight)
            for depth in range(1, max_depth + 1)
        ]
        return np.column_stack([model.predict(X) for model in models]), models

    report(
        f"voter set, depth 1..6 with binning, {n} x 196",
        least(ours, repeat=7), least(theirs, repeat=2), "(reach 50x)",
    )  # fmt: skip
    depths = ours()[1].predict_depths(X_test, max_depth)
    ours_right = [f"{(column == y_test).mean():.3f}" for column in depths.T]
    theirs_right = [f"{accuracy(model, X_test, y_test):.3f}" for model in theirs()[1]]
    print(f"{'':<58} accuracy {' '.join(ours_right)}\n{'':<58} anchor   {' '.join(theirs_right)}")


def sparse_refits(n):
    X, y, X_test, y_test, weight = sparse_problem(n)
    lean = X.tocsc().astype(np.float32)
    view = BinnedView(X)
    print(f"{f'binning {n} x {n} with {X.nnz} entries':<58} {least(lambda: BinnedView(X)):9.4f} s")
    data = (y, X_test, y_test, weight)
    name = f"re-fit, depth {{}}, sparse {n} x {n}, {{}}"
    compare(name.format(1, "CSC float32"), view, X, data, lean, "(reach 30x)", max_depth=1)
    compare(name.format(1, "CSR float64"), view, X, data, X, "", max_depth=1)
    compare(name.format(3, "CSC float32"), view, X, data, lean, "", max_depth=3)


def exponent(sizes, times):
    """Slope of log time over log size."""
    return np.polyfit(np.log(sizes), np.log(times), 1)[0]


def growth(n_least):
    rng = np.random.default_rng(0)
    for name, shapes in {
        "rows": [(times * n_least, 64) for times in (1, 2, 4, 8)],
        "features": [(n_least, d) for d in (64, 128, 256, 512)],
    }.items():
        sizes = [n * d for n, d in shapes]
        for depth in (1, 3):
            times, binning = [], []
            for n, d in shapes:
                X = rng.normal(size=(n, d)).astype(np.float32)
                y, weight = (X[:, 0] + X[:, 1] > 0).astype(np.int32), rng.exponential(size=n)
                view = BinnedView(X)
                times.append(
                    least(lambda: view.grow(y, weight, n_classes=2, max_depth=depth))  # noqa: B023
                )
                binning.append(least(lambda: BinnedView(X), repeat=3))  # noqa: B023
            print(
                f"growth in {name}, depth {depth}: time ~ size^{exponent(sizes, times):.2f}, "
                f"binning ~ size^{exponent(sizes, binning):.2f}"
            )


# --- parity of boosting -------------------------------------------------------------------------


def samme(fit, X, y, X_test, n_classes, n_rounds):
    """Test votes of SAMME; ``fit(weight)`` returns predictions on X and a predictor."""
    weight = np.full(len(y), 1 / len(y))
    votes = np.zeros((len(X_test), n_classes))
    for _ in range(n_rounds):
        predicted, predict = fit(weight)
        error = np.clip(weight[predicted != y].sum(), 1 / (2 * len(y)), 1 - 1 / (2 * len(y)))
        if error >= 1 - 1 / n_classes:
            break
        alpha = np.log((1 - error) / error) + np.log(n_classes - 1)
        votes[np.arange(len(X_test)), predict(X_test)] += alpha
        weight = weight * np.exp(alpha * (predicted != y))
        weight /= weight.sum()
    return votes.argmax(axis=1)


def boosted(X, y, seed, depth, n_rounds=50):
    """Accuracies on one split: our trees, exact trees, exact trees on slightly moved values.

    The third shows how far boosting wanders when nothing of substance changes: every value moves
    by a hundredth of a standard deviation, less than the width of most bins.
    """
    n_classes = int(y.max()) + 1
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    noise = np.random.default_rng(seed).normal(scale=0.01, size=X.shape) * X.std(axis=0)
    view = BinnedView(X)

    def ours(weight):
        tree = view.grow(y, weight, n_classes=n_classes, max_depth=depth)
        return view.predict(tree), tree.predict

    def exact(weight, X=X):
        model = DecisionTreeClassifier(max_depth=depth, random_state=seed)
        model.fit(X, y, sample_weight=weight)
        return model.predict(X), model.predict

    fits = (ours, exact, lambda weight: exact(weight, X + noise))
    return [(samme(fit, X, y, X_test, n_classes, n_rounds) == y_test).mean() for fit in fits]


def parity(mfeat, n_seeds):
    data = {"digits": load_digits(return_X_y=True)}
    data["synthetic"] = make_classification(
        3000, 40, n_informative=10, n_classes=3, n_clusters_per_class=2, flip_y=0.05,
        class_sep=0.8, random_state=0,
    )  # fmt: skip
    if mfeat:
        file = np.load(mfeat)
        views = [file[name] for name in file.files if file[name].ndim == 2]
        y = next(file[name] for name in file.files if file[name].ndim == 1)
        data["mfeat"] = np.hstack(views), np.unique(y, return_inverse=True)[1]
    print("boosting (SAMME, 50 rounds): our trees against exact ones, and exact ones against")
    print("exact ones on values moved by a hundredth of a standard deviation")
    for name, (X, y) in data.items():
        for depth in (1, 3):
            scores = np.array([boosted(X, y, seed, depth) for seed in range(n_seeds)])
            print(
                f"{name:<9} depth {depth}: {scores[:, 0].mean():.4f} vs {scores[:, 1].mean():.4f}"
            )
            for kind, column in (("ours", 0), ("moved", 2)):
                gaps = scores[:, column] - scores[:, 1]
                error = gaps.std(ddof=1) / np.sqrt(n_seeds)
                print(
                    f"  {kind:<5} − exact {gaps.mean():+.4f} (standard error {error:.4f}), "
                    f"seeds {gaps.min():+.4f} … {gaps.max():+.4f}"
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parity", action="store_true")
    parser.add_argument("--mfeat", help="path of an .npz file")
    parser.add_argument("--seeds", type=int, default=8)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", module="lightgbm")
    if arguments.parity:
        parity(arguments.mfeat, arguments.seeds)
        return
    n = 1000 if arguments.quick else 10_000
    dense_refits(n)
    voter_set(n)
    sparse_refits(n)
    growth(n)


if __name__ == "__main__":
    main()
