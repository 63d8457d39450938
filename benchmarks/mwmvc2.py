"""MωMvC²: the paper's table on MNIST quarters, the choice of defaults, and speed.

python benchmarks/mwmvc2.py [--quick | view-weights]
"""

import sys
from time import process_time

import numpy as np
from _data import available, few_labels, real
from _timing import least, report
from scipy.stats import rankdata
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier

from consilience.benchmark import RECIPES
from consilience.boosting import MVWABClassifier
from consilience.datasets import make_multiview_classification
from consilience.vote import MwMvC2Classifier, _mwmvc2

PAPER = {
    "MwMvC2": (0.8659, 0.591),
    "Mono": (0.783, 0.436),
    "Concat": (0.799, 0.462),
    "Fusion": (0.817, 0.477),
    "MV-MV": (0.838, 0.524),
    "MVWAB": (0.847, 0.570),
    "rBoost.SH": (0.758, 0.407),
}


def paper_table(n_splits):
    """The paper's methods on its protocol, mean over tasks and splits."""
    data, digit = real("mnist-1", rows=None)
    build = {name: RECIPES[name].build for name in PAPER if name in RECIPES}
    build["MwMvC2"] = lambda seed: MwMvC2Classifier(random_state=seed)
    build["MVWAB"] = lambda seed: MVWABClassifier(random_state=seed)
    results = {name: [] for name in PAPER}
    for split, y, train, test in splits_of_digits(digit, n_splits):
        for name in PAPER:
            model = build[name](split).fit(data[train], y[train])
            y_pred = model.predict(data[test])
            results[name].append(((y_pred == y[test]).mean(), f1_score(y[test], y_pred)))
    print(f"MNIST_1, m = 100, {n_splits} splits x 10 tasks: accuracy / F1 (paper)")
    for name, values in results.items():
        accuracy, f1 = np.mean(values, axis=0)
        error = np.reshape(values, (n_splits, 10, 2)).mean(axis=1).std(axis=0)
        print(
            f"  {name:<10} {accuracy:.4f} ± {error[0]:.4f} / {f1:.4f} ± {error[1]:.4f}"
            f"   ({PAPER[name][0]:.3f} / {PAPER[name][1]:.3f})"
        )


def splits_of_digits(digit, n_splits):
    """Split, class, 50 + 50 training rows of it against the rest, and 10 000 test rows."""
    for split in range(n_splits):
        rng = np.random.RandomState(split)
        order = rng.permutation(len(digit))
        test, pool = order[:10_000], order[10_000:]
        for task in range(10):
            y = (digit == task).astype(int)
            parts = [rng.permutation(pool[y[pool] == k])[:50] for k in (0, 1)]
            yield split, y, np.concatenate(parts), test


def vote_uniformly(model):
    """The fitted voters of all views with equal weights."""
    for weights in model._weights:
        for pi in weights.pi:
            pi[:] = 1 / len(pi)
    return model


def view_weights(n_splits):
    """The choice of rho, and the same voters without learned weights, on the paper's protocol."""
    data, digit = real("mnist-1", rows=None)
    scores = {}
    for split, y, train, test in splits_of_digits(digit, n_splits):
        for name in ("uniform", "loss", "paper", "equal votes"):
            choice = "uniform" if name == "equal votes" else name
            model = MwMvC2Classifier(view_weights=choice, random_state=split)
            model.fit(data[train], y[train])
            if name == "equal votes":
                vote_uniformly(model)
            y_pred = model.predict(data[test])
            scores.setdefault(name, []).append(
                (np.mean(y_pred == y[test]), f1_score(y[test], y_pred))
            )
    print(f"MNIST_1, m = 100, {n_splits} splits x 10 tasks: accuracy / F1 of MwMvC2")
    for name, values in scores.items():
        accuracy, f1 = np.mean(values, axis=0)
        print(f"  view_weights {name:<12} {accuracy:.4f} / {f1:.4f}")


def choice_of_defaults(n_seeds):
    """Mean rank of the settings over data sets and training sizes."""
    settings = [
        (voters, view_weights, n_iter)
        for voters in ("random_trees", "trees")
        for view_weights in ("uniform", "loss", "paper")
        for n_iter in (2, 5)
    ]
    table = []
    for name in ("mnist-1", "mnist-2", "mfeat", "digits", "uwave", "reuters-1200"):
        data, y = real(name)
        for m in (100, 500):
            row = np.zeros(len(settings))
            for seed in range(n_seeds):
                train, test = few_labels(y, m, seed)
                for s, (voters, view_weights, n_iter) in enumerate(settings):
                    model = MwMvC2Classifier(
                        voters, view_weights=view_weights, n_iter=n_iter, random_state=seed
                    )
                    row[s] += model.fit(data[train], y[train]).score(data[test], y[test]) / n_seeds
            table.append(row)
            print(f"  {name} m={m}: " + " ".join(f"{a:.3f}" for a in row), flush=True)
    ranks = np.mean([rankdata(-np.array(row)) for row in table], axis=0)
    print("mean rank and accuracy of voters, view weights, iterations:")
    for s in np.argsort(ranks):
        print(f"  {ranks[s]:.2f}  {np.mean(table, axis=0)[s]:.4f}  {settings[s]}")


def speed(data, y, repeat):
    model = MwMvC2Classifier("trees")
    model.fit(data, y)
    depths = {name: model.voters_[name].depth for name in data.view_names}

    def anchor():
        for name, view in data.items():
            for depth in range(1, depths[name] + 1):
                DecisionTreeClassifier(max_depth=depth).fit(view, y)

    ours = least(lambda: model.fit(data, y), repeat)
    work = f"MwMvC2 voters='trees', depths up to {max(depths.values())}, {len(y)} rows"
    report(work, ours, least(anchor, 1), "reach 20x")
    spent, learn = [], _mwmvc2.learn_weights

    def timed(*args, **kwargs):
        start = process_time()
        out = learn(*args, **kwargs)
        spent.append(process_time() - start)
        return out

    _mwmvc2.learn_weights = timed
    for voters in ("trees", "random_trees"):
        spent.clear()
        model = MwMvC2Classifier(voters, random_state=0)
        total = least(lambda model=model: model.fit(data, y), repeat)
        print(f"weight learning with {voters}: {min(spent) / total:.1%} of fit (reach below 5 %)")
    _mwmvc2.learn_weights = learn


def main():
    quick = "--quick" in sys.argv
    if not available(quick):
        speed(*make_multiview_classification(1000, n_features=100, random_state=0), 2)
        return
    if "view-weights" in sys.argv:
        view_weights(20)
        return
    data, digit = real("mnist-1", rows=10_000)
    speed(data, (digit == 3).astype(int), 5)
    paper_table(20)
    view_weights(20)
    choice_of_defaults(5)


if __name__ == "__main__":
    main()
