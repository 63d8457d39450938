"""Process time of every classifier with the default number of BLAS threads against one thread.

Threads that wait for small products spin and cost more than they bring: the ratios are to stay
below 1.2. ``--quick`` takes few rows. Without OPENBLAS_NUM_THREADS, or there is nothing to see.

    python benchmarks/threads.py [--quick] [NAME ...]
"""

import inspect
import sys
import warnings

from _timing import least
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from consilience import (
    ConsilienceClassifier,
    boosting,
    fusion,
    kernel,
    landmark,
    margin,
    sparse,
    vote,
)
from consilience._base import MultiViewClassifier
from consilience.datasets import make_multiview_classification

FAMILIES = (boosting, fusion, kernel, landmark, margin, sparse, vote)
# fewer rounds, folds and values than the defaults: the kernels are the same
SETTINGS = {
    "ConsilienceClassifier": {"n_estimators": 20, "random_state": 0},
    "CooperativeClassifierCV": {"rhos": [0, 0.5], "n_penalties": 4, "cv": 2},
    "SMVMEDClassifierCV": {"cs": [0.5, 2], "alphas": [0, 0.5], "cv": 2},
    "SparseGroupLogisticClassifierCV": {"l1_ratios": [0.5], "n_penalties": 4, "cv": 2},
    "BlockSPLSDAClassifierCV": {"keeps": [2, 5], "cv": 2},
    "StackedPenalisedClassifier": {"n_penalties": 4, "cv": 2},
    "IBoostClassifier": {"n_estimators": 20},
    "MVWABClassifier": {"n_estimators": 20},
    "MuMBoClassifier": {"n_estimators": 20},
    "RShareBoostClassifier": {"n_estimators": 20, "random_state": 0},
    "ShareBoostClassifier": {"n_estimators": 20},
}
KERNELS = {
    f"{name}(rbf)": getattr(margin, name)(kernel="rbf")
    for name in ("SMVMEDClassifier", "MVMEDClassifier", "AMVMEDClassifier", "SVM2KClassifier")
}


def classifiers():
    """Every classifier that a family exports, the default and kernels of the margin methods."""
    exported = {name: getattr(family, name) for family in FAMILIES for name in family.__all__}
    kinds = {"ConsilienceClassifier": ConsilienceClassifier, **exported}
    return {
        **{
            name: kind(**SETTINGS.get(name, {}))
            for name, kind in kinds.items()
            if inspect.isclass(kind) and issubclass(kind, MultiViewClassifier)
        },
        **KERNELS,
    }


def fit_and_predict(model, data, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data, y).predict(data)


def main():
    arguments = sys.argv[1:]
    quick, names = "--quick" in arguments, [a for a in arguments if not a.startswith("-")]
    n, repeat = (150, 1) if quick else (2000, 3)
    data, y = make_multiview_classification(
        n, n_views=3, n_features=40, n_classes=2, redundancy=0.3, random_state=0
    )
    blas = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
    print(f"n = {n}, 3 views of 40 columns; BLAS threads {blas} against 1; fit and predict")
    if max(blas) == 1:
        print("BLAS has one thread: unset OPENBLAS_NUM_THREADS")
    worst = 0.0
    for name, model in classifiers().items():
        if names and name not in names:
            continue

        def work(model=model):
            fit_and_predict(model, data, y)

        with threadpool_limits(1, user_api="blas"):
            work()
            one = least(work, repeat)
        default = least(work, repeat)
        worst = max(worst, default / one)
        print(
            f"  {name:<34} {one:8.3f} s  {default:8.3f} s  ratio {default / one:5.2f}", flush=True
        )
    print(f"largest ratio {worst:.2f} (goal <= 1.2)")


if __name__ == "__main__":
    main()
