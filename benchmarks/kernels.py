"""Kernel machines: speed against libsvm (SVC), memory limits, accuracy beside plain baselines.

python benchmarks/kernels.py [--quick] [speed] [cache] [accuracy]
"""

import sys

import numpy as np
from _data import available, real
from _timing import least, report
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from consilience import MultiViewData, ViewTransformer
from consilience._core import rbf_epilogue
from consilience._solvers.kernel_rows import CachedRows
from consilience._solvers.kernels import KernelAgainst, kernel_gamma
from consilience._solvers.smo import solve_hinge
from consilience.kernel import MKLClassifier, MVMLClassifier
from consilience.margin import (
    AMVMEDClassifier,
    MVMEDClassifier,
    SMVMEDClassifier,
    SVM2KClassifier,
)


def epilogue(n=2000, d=50, gamma=0.02):
    """The in-place RBF epilogue against the same formula in NumPy, and whole kernels."""
    for dtype in (np.float64, np.float32):
        X = np.random.default_rng(0).standard_normal((n, d)).astype(dtype)
        norms = np.einsum("ij,ij->i", X, X)
        products = X @ X.T

        def numpy_epilogue(P=products, norms=norms, dtype=dtype):
            return np.exp(-dtype(gamma) * np.maximum(0, norms[:, None] + norms - 2 * P))

        def ours(P=products, norms=norms):
            rbf_epilogue(P.copy(), norms, norms, gamma)

        name = np.dtype(dtype).name
        report(f"RBF epilogue {n} x {n} {name} vs NumPy", least(ours), least(numpy_epilogue), "")
        full = least(lambda X=X, dtype=dtype: KernelAgainst(X, "rbf", gamma=gamma, dtype=dtype)(X))
        anchor = least(lambda X=X: rbf_kernel(X, gamma=gamma))
        report(f"RBF kernel {n} x {n} {name} vs scikit-learn", full, anchor, "")


def blobs(n, d=50, seed=0, spread=0.35):
    """Two overlapping Gaussian blobs for each of two classes."""
    rng = np.random.default_rng(seed)
    y, blob = rng.integers(0, 2, n), rng.integers(0, 2, n)
    centres = spread * rng.standard_normal((2, 2, d))
    return rng.standard_normal((n, d)) + centres[y, blob], y


def hinge(X, y, C, tol=1e-3, dtype=np.float32, capacity=None):
    """Form (c) as the classifiers run it, kernel included; float32 as libsvm keeps its rows."""
    write = KernelAgainst(X, "rbf", gamma=1 / X.shape[1], dtype=dtype).own_rows()
    rows = CachedRows(write, np.ones(len(X)), capacity or len(X), dtype)
    return solve_hinge(rows, np.where(y > 0, 1.0, -1.0), C, tol=tol)


def speed(sizes):
    """Form (c) and SMVMED against SVC, one thread each, the same C, gamma and tol."""
    for n in sizes:
        X, y = blobs(n)
        repeat = 7 if n <= 2000 else 3
        for C in (1.0, 10.0, 100.0):
            theirs = SVC(C=C, gamma=1 / X.shape[1], cache_size=2000)
            anchor = least(lambda m=theirs, X=X, y=y: m.fit(X, y), repeat)
            for dtype in (np.float32, np.float64):
                ours = least(lambda X=X, y=y, C=C, t=dtype: hinge(X, y, C, dtype=t), repeat)
                limit = ">= 8x" if C == 100 else ">= 5x"
                goal = limit if dtype == np.float32 else ""
                report(f"hinge rbf n={n} C={C:g} {np.dtype(dtype)} vs SVC", ours, anchor, goal)
            result = hinge(X, y, C)
            print(
                f"    support vectors {(result.dual > 0).sum()} ({theirs.n_support_.sum()}), steps "
                f"{result.n_iter} ({theirs.n_iter_[0]}), bias {result.bias:.4f} "
                f"({theirs.intercept_[0]:.4f})"
            )


def two_views(n=5000, repeat=3):
    """SMVMED, MVMED, AMVMED, SVM-2K with two Gaussian kernels against two SVC fits."""
    X, y = blobs(n, d=100)
    data = MultiViewData({"a": X[:, :50], "b": X[:, 50:]})

    def machines():
        for _, view in data.items():
            SVC(gamma=1 / 50).fit(view, y)

    anchor = least(machines, repeat)
    for name, model, goal in (
        ("SMVMED c=1", SMVMEDClassifier(1.0), ">= 1x"),
        ("SMVMED c=4", SMVMEDClassifier(4.0), ""),
        ("MVMED", MVMEDClassifier(), ""),
        ("MVMED exponential", MVMEDClassifier(prior="exponential"), ""),
        ("AMVMED", AMVMEDClassifier(), ""),
        ("AMVMED two-step", AMVMEDClassifier(form="two-step"), ""),
        ("SVM-2K", SVM2KClassifier(D=0.1), ""),
    ):
        model.set_params(kernel="rbf", gamma=1 / 50)
        ours = least(lambda m=model: m.fit(data, y), repeat)
        report(f"{name} rbf n={n}, two views, vs two SVC", ours, anchor, goal)


def small_cache(n=50_000):
    """n x 50 with 2 GiB for kernel rows: L2 machine (SMVMED of one view, c = 1) and form (c)."""
    X, y = blobs(n)
    anchor = least(lambda: SVC(gamma=1 / 50, cache_size=2000).fit(X, y), 1)
    ours = least(lambda: hinge(X, y, 1.0, capacity=(2 << 30) // (4 * n)), 1)
    report(f"hinge n={n}, 2 GiB of rows, vs SVC(cache_size=2000)", ours, anchor, ">= 1/3x")
    model = SMVMEDClassifier(1.0, kernel="rbf", gamma=1 / 50, cache_size=2048)
    ours = least(lambda: model.fit(X, y), 1)
    report(f"SMVMED c=1, one view, n={n}, 2 GiB of rows, vs SVC", ours, anchor, ">= 1/3x")


SETS = ("mfeat", "digits", "uwave", "flower17-descriptors", "ads")


class Concatenation:
    """SVC on all columns side by side."""

    def __init__(self, C):
        self.svc = SVC(C=C)

    def fit(self, data, y):
        self.svc.fit(data.to_array(), y)
        return self

    def predict(self, data):
        return self.svc.predict(data.to_array())


class EveryView:
    """One SVC for each view, decisions added; ``chosen`` takes a single view."""

    def __init__(self, C, chosen=None):
        self.C, self.chosen = C, chosen

    def fit(self, data, y):
        names = data.view_names if self.chosen is None else [data.view_names[self.chosen]]
        self.members = {name: SVC(C=self.C).fit(data[name], y) for name in names}
        self.classes = np.unique(y)
        return self

    def predict(self, data):
        f = sum(m.decision_function(data[name]) for name, m in self.members.items())
        return self.classes[f.argmax(axis=1) if f.ndim == 2 else (f > 0).astype(int)]


class SumOfKernels:
    """SVC on the sum of the views' Gaussian kernels."""

    def __init__(self, C):
        self.svc = SVC(C=C, kernel="precomputed")

    def _kernel(self, data):
        pairs = zip(self.views, self.kernels, strict=True)
        return sum(kernel(data[name]) for name, kernel in pairs) / len(self.views)

    def fit(self, data, y):
        self.views = data.view_names
        gammas = [kernel_gamma("scale", X) for _, X in data.items()]
        self.kernels = [
            KernelAgainst(X, "rbf", gamma=gamma)
            for (_, X), gamma in zip(data.items(), gammas, strict=True)
        ]
        self.svc.fit(self._kernel(data), y)
        return self

    def predict(self, data):
        return self.svc.predict(self._kernel(data))


def methods(n_views):
    """Candidates of every row of the table; the best on held-out rows is refitted."""
    costs, cs = (1.0, 10.0, 100.0), (1.0, 4.0, 16.0)
    rows = {
        "SVC, concatenation": [Concatenation(C) for C in costs],
        "SVC, best view": [EveryView(C, v) for C in costs for v in range(n_views)],
        "SVC of every view, added": [EveryView(C) for C in costs],
        "SVC, sum of kernels": [SumOfKernels(C) for C in costs],
        "SMVMED": [SMVMEDClassifier(c, alpha=a) for c in cs for a in (0.1, 0.5, 0.9)],
        "MVMED": [MVMEDClassifier(c) for c in cs],
        "AMVMED": [AMVMEDClassifier(c) for c in cs],
        "AMVMED, two-step": [AMVMEDClassifier(c, form="two-step") for c in cs],
        "SVM-2K": [SVM2KClassifier(C, D=D) for C in costs for D in (0.01, 0.1)],
    }
    for candidates in rows.values():
        for model in candidates:
            if hasattr(model, "set_params"):
                model.set_params(kernel="rbf")
    regs = (1e-4, 1e-3, 1e-2, 1e-1)
    metric = {"tol": 1e-3, "random_state": 0}
    return {
        **rows,
        "MKL, mean": [MKLClassifier("mean", C=C) for C in costs],
        "MKL, norm 1": [MKLClassifier(1, C=C) for C in costs],
        "MKL, norm 2": [MKLClassifier(2, C=C) for C in costs],
        "MVML": [MVMLClassifier(reg=r, metric_reg=r, **metric) for r in regs],
        "MVMLsp": [MVMLClassifier("sparse", reg=r, metric_reg=r, **metric) for r in regs],
    }


def accuracy(n_splits):
    """Columns standardised by view, gamma="scale"; half of the rows train."""
    table = {}
    for title in SETS:
        data, y = real(title)
        size = min(len(y) // 2, 1000)
        splits = StratifiedShuffleSplit(n_splits, train_size=size, random_state=0).split(y, y)
        for train, test in splits:
            test = test[:1500]
            inner, held = next(
                StratifiedShuffleSplit(1, test_size=0.25, random_state=0).split(y[train], y[train])
            )
            scaler = ViewTransformer(StandardScaler(with_mean=title != "ads"))
            rows, others = scaler.fit(data[train]).transform(data[train]), data[test]
            others = scaler.transform(others)
            for name, candidates in methods(data.n_views).items():
                scores = [
                    (
                        m.fit(rows[inner], y[train][inner]).predict(rows[held]) == y[train][held]
                    ).mean()
                    for m in candidates
                ]
                best = candidates[int(np.argmax(scores))].fit(rows, y[train])
                table.setdefault(name, {}).setdefault(title, []).append(
                    (best.predict(others) == y[test]).mean()
                )
        print(f"accuracy, {title}, {size} training rows, {n_splits} splits:", flush=True)
        for name, results in table.items():
            print(f"    {name:<26} {100 * np.mean(results[title]):6.2f}", flush=True)


def main():
    quick = "--quick" in sys.argv
    parts = [part for part in sys.argv[1:] if not part.startswith("-")]
    with threadpool_limits(1):
        if not parts or "speed" in parts:
            epilogue(500 if quick else 2000)
            speed([500] if quick else [1000, 2000, 5000, 10_000, 20_000])
            two_views(*((500, 1) if quick else (5000, 3)))
        if not quick if not parts else "cache" in parts:
            small_cache()
        if (not parts or "accuracy" in parts) and available(quick):
            accuracy(3)


if __name__ == "__main__":
    main()
