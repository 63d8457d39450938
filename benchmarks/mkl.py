"""MKL, MVML and the sum of kernels beside plain SVMs: accuracy on real data, and MKL's time."""

import sys

import numpy as np
import scipy.sparse as sp
from _data import MIRROR, available, digits, mfeat, uwave
from _timing import least
from sklearn.base import clone
from sklearn.metrics.pairwise import additive_chi2_kernel, euclidean_distances, rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import SVC

from consilience import MultiViewData, ViewTransformer
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier
from consilience.kernel import MKLClassifier, MVMLClassifier

CS = [1.0, 10.0, 100.0]
REGS = [1e-4, 1e-3, 1e-2]
WORDS = ("hsv_hist", "lab_bow", "sift_dense_bow", "sift_keypoint_bow", "lbp")


def flower17():
    """The seven recomputed descriptors as distances: χ² of histograms, Euclidean of the others."""
    file = np.load(MIRROR / "flower17_recomputed" / "flower17_recomputed.npz")
    views = {}
    for name in (*WORDS, "hog", "gabor"):
        X = file[name].astype(float)
        if name in WORDS:
            views[name] = -additive_chi2_kernel(X)
        else:
            views[name] = euclidean_distances(normalize(X), squared=True)
    kinds = dict.fromkeys(views, "distance")
    splits = [
        (np.r_[file[f"trn{k}"], file[f"val{k}"]].astype(int), file[f"tst{k}"].astype(int))
        for k in (1, 2, 3)
    ]
    return MultiViewData(views, kinds=kinds), file["y"].astype(int), splits


def ads():
    """View 1 is the image itself, view 2 where it comes from and leads to."""
    file = np.load(MIRROR / "ads" / "ads.npz")
    groups = {"image": ("url", "alt", "caption"), "links": ("origurl", "ancurl")}
    views = {
        name: sp.csr_array(np.hstack([file[key] for key in keys]).astype(float))
        for name, keys in groups.items()
    }
    return MultiViewData(views), file["y"].astype(int)


def halves(y, n_splits, n_train=1000):
    """Random training rows, the others test."""
    out = []
    for seed in range(n_splits):
        order = np.random.RandomState(seed).permutation(len(y))
        size = min(n_train, len(y) // 2)
        out.append((order[:size], order[size:]))
    return out


def problems(n_splits):
    """Name -> data, labels, splits, whether columns are scaled."""
    yield "mfeat", *mfeat(), None, True
    yield "digits", *digits(), None, True
    data, y = uwave()
    n = int(np.load(MIRROR / "uwave" / "uwave.npz")["n_train"])
    yield "uwave", data, y, [(np.arange(n), np.arange(n, len(y)))], False
    data, y, splits = flower17()
    yield "flower17", data, y, splits[:n_splits], False
    yield "ads", *ads(), None, False


def candidates(pairwise, scaled):
    """Name -> models with the settings to choose from."""
    svm = [SVC(C=C) for C in CS]
    if scaled:
        svm = [make_pipeline(StandardScaler(), model) for model in svm]
    if not pairwise:
        yield "SVC on concatenation", [EarlyFusionClassifier(m) for m in svm]
        yield "SVC per view, sum", [LateFusionClassifier(m, voting="sum") for m in svm]
    for name, norm in (("sum of kernels", "mean"), ("MKL, norm 1", 1), ("MKL, norm 2", 2)):
        yield name, [MKLClassifier(norm, C=C) for C in CS]
    for name, metric in (("MVML", "dense"), ("MVMLsp", "sparse")):
        settings = {"n_landmarks": 100, "tol": 1e-3, "random_state": 0}
        yield name, [MVMLClassifier(metric, reg=r, metric_reg=r, **settings) for r in REGS]


def choose(models, data, y, train, scaled):
    """The setting that does best on a fifth of the training rows, fitted on all of them."""
    order = np.random.RandomState(0).permutation(train)
    held, rest = order[: len(train) // 5], order[len(train) // 5 :]
    if scaled and not isinstance(models[0], EarlyFusionClassifier | LateFusionClassifier):
        models = [make_pipeline(ViewTransformer(StandardScaler()), m) for m in models]
    scores = [clone(m).fit(data[rest], y[rest]).score(data[held], y[held]) for m in models]
    best = models[int(np.argmax(scores))]
    return best.fit(data[train], y[train])


def accuracy(n_splits):
    for name, data, y, splits, scaled in problems(n_splits):
        splits = splits or halves(y, n_splits)
        print(f"{name}: {len(splits[0][0])} training rows, {data.n_views} views", flush=True)
        pairwise = "distance" in data.kinds.values()
        for method, models in candidates(pairwise, scaled):
            scores, weights = [], []
            for train, test in splits:
                model = choose(models, data, y, train, scaled)
                scores.append(model.score(data[test], y[test]))
                last = model[-1] if scaled and hasattr(model, "steps") else model
                weights.append(getattr(last, "view_weights_", np.zeros(0)))
            shown = " ".join(f"{w:.2f}" for w in np.mean(weights, axis=0))
            mean, spread = 100 * np.mean(scores), 100 * np.std(scores)
            print(f"  {method:<22} {mean:6.2f} ± {spread:.2f}  {shown}", flush=True)


def speed(sizes, repeat):
    """MKL against the same number of SVC fits on one precomputed kernel: one for each class."""
    data, y = mfeat() if available() else digits()
    data = ViewTransformer(StandardScaler()).fit_transform(data)
    for n in sizes:
        rows = np.random.RandomState(0).permutation(len(y))[:n]
        part, labels = data[rows], y[rows]
        model = MKLClassifier(1, C=10.0).fit(part, labels)
        K = sum(rbf_kernel(X) for _, X in part.items()) / part.n_views
        svc = OneVsRestClassifier(SVC(kernel="precomputed", C=10.0))
        anchor = least(lambda K=K, t=labels, svc=svc: svc.fit(K, t), repeat)
        ours = least(lambda m=model, X=part, t=labels: m.fit(X, t), repeat)
        print(
            f"n = {n}, {part.n_views} views: MKL {ours:.3f} s (kernels included, {model.n_iter_} "
            f"weights, gap {model.duality_gap_:.0e}), SVC of each class on the mean kernel "
            f"{anchor:.3f} s: {ours / anchor:.2f}x"
        )
        cold = least(
            lambda m=model, X=part, t=labels: [clone(m).set_params(C=C).fit(X, t) for C in CS], 1
        )
        path = least(lambda m=model, X=part, t=labels: m.path(X, t, CS), 1)
        print(f"  path over {len(CS)} values of C {path:.3f} s, single fits {cold:.3f} s")


def main():
    quick = "--quick" in sys.argv
    speed([500] if quick else [500, 1000, 2000], 1 if quick else 3)
    if not available():
        print("the real data are not beside this checkout: nothing more to measure")
        return
    accuracy(1 if quick else 3)


if __name__ == "__main__":
    main()
