"""Time of MKL against plain SVMs on one kernel, of its path over C, and of MVML.

python benchmarks/mkl.py [--quick]
"""

import sys

import numpy as np
from _data import available, real
from _timing import least
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from consilience import ViewTransformer
from consilience.datasets import load_digits_views
from consilience.kernel import MKLClassifier, MVMLClassifier

CS = [1.0, 10.0, 100.0]


def mkl(data, y, repeat):
    """Learning the weights takes several machines for each class; the anchor is one of each."""
    K = sum(rbf_kernel(X) for _, X in data.items()) / data.n_views
    svc = OneVsRestClassifier(SVC(kernel="precomputed", C=10.0))
    anchor = least(lambda: svc.fit(K, y), repeat)
    print(
        f"n = {len(y)}, {data.n_views} views: SVC of each class on the mean kernel {anchor:.3f} s"
    )
    for norm in (1, 2, "mean"):
        model = MKLClassifier(norm, C=10.0)
        ours = least(lambda m=model: m.fit(data, y), repeat)
        print(
            f"  MKL, {norm!s:<4} {ours:.3f} s with kernels, {ours / anchor:5.2f}x, weights changed "
            f"{model.n_iter_} times, gap {model.duality_gap_:.0e}"
        )
    model = MKLClassifier(1)
    single = least(lambda: [clone(model).set_params(C=C).fit(data, y) for C in CS], repeat)
    path = least(lambda: model.path(data, y, CS), repeat)
    print(f"  path over {len(CS)} values of C {path:.3f} s, single fits {single:.3f} s")


def mvml(data, y, repeat):
    for metric in ("dense", "sparse"):
        model = MVMLClassifier(metric, random_state=0)
        ours = least(lambda m=model: m.fit(data, y), repeat)
        print(
            f"  MVML, {metric:<6} {ours:.3f} s, {model.n_iter_} steps, gap {model.duality_gap_:.0e}"
        )


def main():
    quick = "--quick" in sys.argv
    data, y = real("mfeat") if available(quick) else load_digits_views(return_X_y=True)
    data = ViewTransformer(StandardScaler()).fit_transform(data)
    order = np.random.RandomState(0).permutation(len(y))
    for n in [200] if quick else [500, 1000, 2000]:
        rows = order[:n]
        mkl(data[rows], y[rows], 1 if quick else 3)
        mvml(data[rows], y[rows], 1 if quick else 3)


if __name__ == "__main__":
    main()
