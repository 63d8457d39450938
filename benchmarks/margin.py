"""Linear margin methods: real data beside the papers' figures, speed against LinearSVC, growth.

python benchmarks/margin.py [--quick]
"""

import sys

import numpy as np
import scipy.sparse as sp
from _data import available, load
from _timing import least
from sklearn.svm import LinearSVC

from consilience import MultiViewData
from consilience.margin import (
    AMVMEDClassifier,
    MVMEDClassifier,
    SMVMEDClassifier,
    SVM2KClassifier,
)

# accuracies of the paper (Mao & Sun 2016); SVM-2K is not among its methods on Course and Ads
INDOOR = {"SMVMED": 100.0, "SVM-2K": 99.55}
PAPER = {
    "Course": {"SMVMED": 94.36, "MVMED": 94.26, "AMVMED": 93.95},
    "Ads": {"SMVMED": 96.40, "MVMED": 95.07, "AMVMED": 95.27},
}


def indoor(subset):
    """RSSI in [0, 1], 300 + 220 random columns; buildings 0 and 1 against 2, or 0 against 1."""
    bunch = load("indoor-subset" if subset else "indoor")
    train, test = (bunch.splits["official"][part] for part in ("train", "test"))
    return bunch.data[train], bunch.target[train], bunch.data[test], bunch.target[test]


def two_machines(data, y, C=0.5):
    for _, X in data.items():
        LinearSVC(C=C).fit(X, y)


def speed(repeat):
    for subset in (False, True):
        data, y, test, y_test = indoor(subset)
        anchor = least(lambda data=data, y=y: two_machines(data, y), repeat)
        title = "Indoor subset" if subset else "Indoor"
        print(f"{title}: {len(y)} training rows; two LinearSVC {anchor:.4f} s")
        for name, model, goal in (
            ("SMVMED", SMVMEDClassifier(), 1.5),
            ("MVMED", MVMEDClassifier(1.0), 6),
            ("AMVMED", AMVMEDClassifier(1.0), None),
            ("SVM-2K", SVM2KClassifier(), 10),
        ):
            seconds = least(lambda m=model, X=data, y=y: m.fit(X, y), repeat)
            limit = f"(goal <= {goal}x)" if goal else ""
            paper = f" (paper {INDOOR[name]:.2f})" if name in INDOOR and not subset else ""
            print(
                f"  {name:<8} {seconds:8.4f} s  {seconds / anchor:6.2f}x {limit:<14} "
                f"steps {model.n_iter_:3d}  accuracy {100 * model.score(test, y_test):.2f}{paper}"
            )


def random_rows(n):
    """CSR views of 300 + 200 columns, 4 % full, and noisy labels."""
    rng = np.random.RandomState(0)
    Xs = [sp.random_array((n, d), density=0.04, format="csr", rng=rng) for d in (300, 200)]
    score = sum(X @ rng.standard_normal(X.shape[1]) for X in Xs)
    y = (score + rng.standard_normal(n) > 0).astype(int)
    return MultiViewData({"a": Xs[0], "b": Xs[1]}), y


def kinks(repeat, n):
    """The methods with kinks on random rows against two LinearSVC."""
    data, y = random_rows(n)
    anchor = least(lambda: two_machines(data, y), repeat)
    print(f"random CSR rows, n = {n}; two LinearSVC {anchor:.4f} s")
    for name, model in (("MVMED", MVMEDClassifier(1.0)), ("SVM-2K", SVM2KClassifier())):
        seconds = least(lambda m=model: m.fit(data, y), repeat)
        print(f"  {name:<8} {seconds:8.4f} s  {seconds / anchor:6.2f}x (goal <= 20x)")


def growth(sizes):
    """Seconds of SMVMED on random rows."""
    times = []
    for n in sizes:
        data, y = random_rows(n)
        times.append(least(lambda data=data, y=y: SMVMEDClassifier().fit(data, y), 2))
        print(f"  n = {n:>8}: {times[-1]:8.3f} s")
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"  growth with n: exponent {slope:.2f} (goal <= 1.1)")


def course(seed):
    """The 500 and 82 most frequent words, tf-idf of unit length."""
    bunch = load("course")
    return bunch.data, bunch.target


def ads(seed):
    """600 of the images; view 1 is the image itself, view 2 where it comes from and leads to."""
    bunch = load("ads")
    rows = np.random.RandomState(seed).permutation(len(bunch.target))[:600]
    return bunch.data[rows], bunch.target[rows]


def candidates(name, cs):
    """Every setting of the paper's grids."""
    if name == "SMVMED":
        grid = [SMVMEDClassifier(c, alpha=a) for c in cs for a in np.arange(10) / 10]
    elif name == "MVMED":
        grid = [MVMEDClassifier(c, tol=1e-8) for c in cs]
    elif name == "AMVMED":
        rhos = [0.1, 0.3, 0.5, 0.7, 0.9]
        grid = [AMVMEDClassifier(c, rho=r, tol=1e-8) for c in cs for r in rhos]
    else:
        grid = [SVM2KClassifier(C, tol=1e-8) for C in (0.1, 1.0, 10.0)]
    return grid


def three_decisions(model, data):
    """f₁, f₂ and the combination of both."""
    return [*model.view_decision_function(data).T, model.decision_function(data)]


def accuracy_table(n_splits):
    """The paper's protocol: half trains, a quarter chooses settings, a quarter tests."""
    for title, read, cs in (
        ("Course", course, [2.0**k for k in range(1, 6)]),
        ("Ads", ads, [2.0**k for k in range(1, 16, 2)]),
    ):
        results = {name: [] for name in ("SMVMED", "MVMED", "AMVMED", "SVM-2K")}
        for split in range(n_splits):
            data, y = read(split)
            order = np.random.RandomState(split).permutation(len(y))
            train, held, test = np.split(order, [len(y) // 2, 3 * len(y) // 4])
            for name, scores in results.items():
                best = -1.0
                for model in candidates(name, cs):
                    model.fit(data[train], y[train])
                    says = three_decisions(model, data[held])
                    valid = [((f > 0) == y[held]).mean() for f in says]
                    if max(valid) > best:
                        best, chosen = max(valid), int(np.argmax(valid))
                        said = three_decisions(model, data[test])[chosen] > 0
                scores.append((said == y[test]).mean())
        print(f"{title}, {n_splits} splits: accuracy (paper)")
        for name, scores in results.items():
            paper = PAPER[title].get(name)
            beside = f"({paper:.2f})" if paper else ""
            print(f"  {name:<8} {100 * np.mean(scores):6.2f} ± {100 * np.std(scores):.2f} {beside}")


def main():
    quick = "--quick" in sys.argv
    print("SMVMED on random CSR rows")
    growth([3000, 10_000] if quick else [10_000, 30_000, 100_000, 300_000, 1_000_000])
    kinks(1 if quick else 5, 5000 if quick else 20_000)
    if available(quick):
        speed(7)
        accuracy_table(10)


if __name__ == "__main__":
    main()
