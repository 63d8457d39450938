"""Boosting against the same loop refitting scikit-learn's trees, in one run.

Each ratio is printed twice: in process time, one thread each; and in wall-clock time with n_jobs=2
for ours, which the anchor's loop cannot use. Binning is included. The anchor runs a tenth of the
rounds and is scaled up, since every one of its rounds costs the same. Accuracies are on held-out
rows.

    python benchmarks/boosting.py [--quick]

scikit-multimodallearn is measured too if MULTIMODALLEARN_PYTHON names an interpreter that has it
(it wants Python 3.11, numpy 1.26.4, scipy 1.10.1, scikit-learn 1.2.2, cvxopt and six).
"""

import os
import subprocess
import sys
import tempfile
from time import perf_counter

import numpy as np
from _timing import least, report
from sklearn.tree import DecisionTreeClassifier

from consilience.boosting import MuMBoClassifier, RShareBoostClassifier, ShareBoostClassifier
from consilience.datasets import make_multiview_classification

VIEWS, WIDTH = 4, 196


def problem(n, n_classes, n_views=VIEWS, seed=0):
    return make_multiview_classification(
        n,
        n_views=n_views,
        n_features=WIDTH,
        n_classes=n_classes,
        strength=1.5,
        redundancy=0.3,
        random_state=seed,
    )


def speed(n, n_classes, max_depth, goal, repeat, rounds=100):
    data, y = problem(n, n_classes)
    tree = DecisionTreeClassifier(max_depth=max_depth)

    def ours(n_jobs=1):
        MuMBoClassifier(max_depth=max_depth, n_estimators=rounds, n_jobs=n_jobs).fit(data, y)

    def anchor():
        MuMBoClassifier(tree, n_estimators=rounds // 10).fit(data, y)

    work = f"MuMBo {rounds} rounds, n={n}, depth {max_depth}, K={n_classes}"
    report(f"{work}, process time", least(ours, repeat), 10 * least(anchor, 1), goal)
    two = least(lambda: ours(2), repeat, clock=perf_counter)
    report(f"{work}, n_jobs=2", two, 10 * least(anchor, 1, clock=perf_counter), goal)


PEER = """
import sys, time
import numpy as np
from multimodal.boosting.mumbo import MumboClassifier
from sklearn.tree import DecisionTreeClassifier
file, rounds, depth = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
data = np.load(file)
model = MumboClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=rounds)
start = time.process_time()
model.fit(data["X"], data["y"], data["ends"])
print(time.process_time() - start)
"""


def peer(n, n_classes, max_depth, repeat, rounds=100):
    """The same fit by scikit-multimodallearn, in its own environment."""
    interpreter = os.environ.get("MULTIMODALLEARN_PYTHON")
    if interpreter is None:
        return
    data, y = problem(n, n_classes)
    ends = np.cumsum([0, *data.widths.values()])
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/problem.npz"
        np.savez(file, X=data.to_array(), y=y, ends=ends)
        command = [interpreter, "-c", PEER, file, str(rounds // 10), str(max_depth)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    model = MuMBoClassifier(max_depth=max_depth, n_estimators=rounds)
    ours = least(lambda: model.fit(data, y), repeat)
    work = f"MuMBo depth {max_depth}, K={n_classes}, scikit-multimodallearn"
    report(work, ours, 10 * float(done.stdout), "")


def parity(n, n_classes, max_depth, n_seeds):
    """Accuracy of our trees minus that of exact trees in the same loop."""
    gaps = []
    for seed in range(n_seeds):
        data, y = problem(n, n_classes, seed=seed)
        train, test = slice(n // 2), slice(n // 2, n)
        scores = [
            MuMBoClassifier(tree, max_depth=max_depth, n_estimators=20)
            .fit(data[train], y[train])
            .score(data[test], y[test])
            for tree in (None, DecisionTreeClassifier(max_depth=max_depth, random_state=0))
        ]
        gaps.append(scores)
    ours, exact = np.mean(gaps, axis=0)
    difference = np.subtract(*np.transpose(gaps))
    error = difference.std(ddof=1) / np.sqrt(n_seeds)
    print(
        f"accuracy depth {max_depth} K={n_classes}: ours {ours:.4f}, exact trees {exact:.4f}, "
        f"difference {difference.mean():+.4f} ± {error:.4f} over {n_seeds} seeds"
    )


def bandit(n_rows, repeat):
    data, y = problem(n_rows, 2)

    def rounds(kind):
        # what 60 rounds cost beyond 10, so that binning does not count
        times = [
            least(
                lambda n=n: kind(max_depth=1, n_estimators=n, random_state=0).fit(data, y), repeat
            )
            for n in (10, 60)
        ]
        return times[1] - times[0]

    share, rshare = rounds(ShareBoostClassifier), rounds(RShareBoostClassifier)
    print(f"rShareBoost round / ShareBoost round: {rshare / share:.3f} (reach {1.3 / VIEWS:.3f})")


def growth(n, repeat):
    sizes = {"n": [(n // 2, 4), (4 * n, 4)], "V": [(n, 2), (n, 16)]}
    for name, ((n1, v1), (n2, v2)) in sizes.items():
        times = []
        for n, v in ((n1, v1), (n2, v2)):
            data, y = problem(n, 2, n_views=v)
            times.append(
                least(lambda d=data, y=y: MuMBoClassifier(n_estimators=30).fit(d, y), repeat)
            )
        exponent = np.log(times[1] / times[0]) / np.log((n2 * v2) / (n1 * v1))
        print(f"MuMBo growth in {name}: exponent {exponent:.2f} (reach at most 1.1)")


def main():
    quick = "--quick" in sys.argv
    n, repeat = (500, 1) if quick else (10_000, 5)
    speed(n, 2, 1, "reach 150x", repeat)
    speed(n, 10, 1, "reach 150x", repeat)
    speed(n, 2, 3, "reach 70x", repeat)
    for n_classes, max_depth in ((2, 1), (10, 1), (2, 3)):
        peer(n, n_classes, max_depth, repeat)
    bandit(n, repeat)
    growth(n, repeat)
    for n_classes, max_depth in ((2, 1), (10, 1), (2, 3)):
        parity(600 if quick else 3000, n_classes, max_depth, 2 if quick else 8)


if __name__ == "__main__":
    main()
