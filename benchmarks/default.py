"""The evidence for ConsilienceClassifier: real data with few labels, synthetic families, time.

    python benchmarks/default.py real        # accuracies (of settings); kept in .cache and resumed
    python benchmarks/default.py families    # synthetic families against ET and LR
    python benchmarks/default.py speed       # time and memory
    python benchmarks/default.py table       # docs/results/default.md and .csv from the cache

Protocol: m training rows in all (as equal over the classes as can be, at least 2 each), 5 splits,
up to 2000 other rows as test. Baselines get standardised (dense) or max-abs scaled (sparse) views;
"mapped" ones get the same view maps as ours.
"""

import csv
import json
import os
import platform
import resource
import sys
import time
import warnings
from datetime import date
from pathlib import Path

import _data
import numpy as np
import scipy.sparse as sp
import sklearn
from _families import FAMILIES
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC

from consilience import ConsilienceClassifier, MultiViewData
from consilience.fusion import (
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
)
from consilience.views._maps import fit_view_map

SETS = {
    "mfeat": "mfeat",
    "uwave": "uwave",
    "reuters1200": "reuters-1200",
    "course": "course_tfidf",
    "ads": "ads",
    "flower17": "flower17-descriptors",
    "breast_tcga": "breast-tcga",
    "mnist": "mnist-1",
}
CACHE = Path(os.environ.get("CONSILIENCE_CACHE", Path(__file__).parents[1] / ".cache")) / "default"
RESULTS = Path(__file__).parents[1] / "docs" / "results"
SPLITS = 5
MARKER = "## Tables"


class Mapped(TransformerMixin, BaseEstimator):
    """The view map of ConsilienceClassifier as a step, so that baselines can have it."""

    def fit(self, X, y=None):
        self.map_ = fit_view_map(X, np.ones(X.shape[0]))
        return self

    def transform(self, X):
        return self.map_.apply(X)


class Scaled(TransformerMixin, BaseEstimator):
    """Standardised if dense, divided by the largest value if sparse."""

    def fit(self, X, y=None):
        self.scaler_ = (MaxAbsScaler() if sp.issparse(X) else StandardScaler()).fit(X)
        return self

    def transform(self, X):
        return self.scaler_.transform(X)


def lr():
    return LogisticRegression(max_iter=1000)


def et(seed):
    return ExtraTreesClassifier(300, random_state=seed)


def rf(seed):
    return RandomForestClassifier(300, random_state=seed)


class OnViews(BaseEstimator):
    """A transformer on each view, then a classifier of views; knows just what the tables need."""

    def __init__(self, step, model):
        self.step, self.model = step, model

    def fit(self, data, y):
        from consilience import ViewTransformer

        self.views_ = ViewTransformer(self.step).fit(data)
        self.model.fit(self.views_.transform(data), y)
        return self

    def predict(self, data):
        return self.model.predict(self.views_.transform(data))


class SumKernelSVC(BaseEstimator):
    """SVC on the mean of RBF kernels of the scaled views."""

    def fit(self, data, y):
        self.steps_ = {n: Scaled().fit(v) for n, v in data.items()}
        self.train_ = {n: self.steps_[n].transform(v) for n, v in data.items()}
        self.gamma_ = {n: 1 / v.shape[1] for n, v in self.train_.items()}
        self.svc_ = SVC(kernel="precomputed").fit(self._kernel(self.train_), y)
        return self

    def _kernel(self, views):
        from sklearn.metrics.pairwise import rbf_kernel

        return np.mean(
            [rbf_kernel(X, self.train_[n], gamma=self.gamma_[n]) for n, X in views.items()], axis=0
        )

    def predict(self, data):
        return self.svc_.predict(
            self._kernel({n: s.transform(data[n]) for n, s in self.steps_.items()})
        )


METHODS = {
    "ours": lambda seed: ConsilienceClassifier(random_state=seed),
    "ET concat": lambda seed: EarlyFusionClassifier(et(seed)),
    "LR concat": lambda seed: OnViews(Scaled(), EarlyFusionClassifier(lr())),
    "RF concat": lambda seed: EarlyFusionClassifier(rf(seed)),
    "ET mapped": lambda seed: OnViews(Mapped(), EarlyFusionClassifier(et(seed))),
    "SVC concat": lambda seed: OnViews(Scaled(), EarlyFusionClassifier(SVC())),
    "vote LR": lambda seed: OnViews(Scaled(), LateFusionClassifier(lr())),
    "vote RF": lambda seed: LateFusionClassifier(rf(seed)),
    "vote ET": lambda seed: LateFusionClassifier(et(seed)),
    "sum-kernel SVC": lambda seed: SumKernelSVC(),
    "stack LR": lambda seed: OnViews(Scaled(), StackingFusionClassifier(lr(), random_state=seed)),
    "LR mapped": lambda seed: OnViews(Mapped(), EarlyFusionClassifier(lr())),
    "ET mean-imputed": lambda seed: EarlyFusionClassifier(
        make_pipeline(SimpleImputer(keep_empty_features=True), et(seed))
    ),
}
PLAIN = ["LR concat", "SVC concat", "RF concat", "ET concat", "vote LR", "vote RF",
         "sum-kernel SVC", "stack LR"]  # fmt: skip
MAPPED = ["ET mapped", "LR mapped"]
INCOMPLETE = ["vote ET", "vote RF", "ET mean-imputed"]

# setting -> (training rows, change of the problem, methods)
SETTINGS = {
    "m=100": (100, None, ["ours", *PLAIN, *MAPPED]),
    "m=100, 30 % missing": (100, "missing", ["ours", *INCOMPLETE]),
    "m=100, 3 junk views": (100, "junk", ["ours", "ET concat", "ET mapped"]),
    "m=100, 30 % label noise": (100, "noise", ["ours", "ET concat", "LR concat", "RF concat"]),
    "m=50": (50, None, ["ours", "ET concat", "LR concat", "RF concat", "ET mapped", "vote RF"]),
    "m=500": (500, None, ["ours", "ET concat", "LR concat", "RF concat", "ET mapped", "vote RF"]),
}


def course_tfidf():
    """The tf-idf matrices of the course pages that are in circulation (3000 and 1840 words)."""
    file = np.load(_data.MIRROR / "course" / "course_tfidf.npz")
    views = {}
    for name in ("page", "link"):
        parts = tuple(file[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
        views[name] = sp.csr_array(parts, shape=tuple(file[f"{name}_shape"]))
    return MultiViewData(views), file["y"].astype(int)


def complete(source):
    """The rows that have all views (the test part of breast-tcga lacks one)."""
    data, y = course_tfidf() if source == "course_tfidf" else _data.real(source)
    rows = np.flatnonzero(data.present.all(axis=1))
    return data[rows], y[rows]


def split(y, m, seed, n_test=2000):
    rng = np.random.RandomState(seed)
    classes = rng.permutation(np.unique(y))
    sizes = [max(2, m // len(classes) + (k < m % len(classes))) for k in range(len(classes))]
    train = np.concatenate(
        [rng.permutation(np.flatnonzero(y == k))[:s] for k, s in zip(classes, sizes, strict=True)]
    )
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), train))
    return train, rest[:n_test]


def change(data, y, train, kind, seed):
    """The problem with missing views, views of noise, or wrong labels in training."""
    rng = np.random.RandomState(1000 + seed)
    y_train = y[train].copy()
    if kind == "missing":
        present = rng.random_sample((len(data), data.n_views)) >= 0.3
        kept, empty = rng.randint(data.n_views, size=len(data)), ~present.any(axis=1)
        present[empty, kept[empty]] = True
        data = MultiViewData(dict(data.items()), present=present)
    if kind == "junk":
        junk = {f"junk{j}": rng.standard_normal((len(data), 100)) for j in range(3)}
        data = MultiViewData({**dict(data.items()), **junk})
    if kind == "noise":
        wrong = rng.random_sample(len(train)) < 0.3
        y_train[wrong] = rng.choice(np.unique(y), size=wrong.sum())
    return data, y_train


def path_of(key):
    return CACHE / (key.replace("/", "_").replace(" ", "_") + ".json")


def cached(key, compute):
    CACHE.mkdir(parents=True, exist_ok=True)
    path = path_of(key)
    if path.exists():
        return json.loads(path.read_text())
    value = compute()
    path.write_text(json.dumps(value))
    return value


def real(only=None):
    for setting, (m, kind, methods) in SETTINGS.items():
        if only is not None and setting not in only:
            continue
        for name, source in SETS.items():
            data, y = complete(source)
            line = []
            for method in methods:
                scores = []
                for seed in range(SPLITS):

                    def run(method=method, seed=seed, data=data, y=y, m=m, kind=kind):
                        train, test = split(y, m, seed)
                        changed, labels = change(data, y, train, kind, seed)
                        start = time.process_time()
                        model = METHODS[method](seed).fit(changed[train], labels)
                        taken = time.process_time() - start
                        right = model.predict(changed[test]) == y[test]
                        return {"accuracy": float(right.mean()), "fit": taken}

                    key = f"{setting}-{name}-{method}-{seed}"
                    scores.append(cached(key, run)["accuracy"])
                line.append(f"{method} {np.mean(scores):.3f}")
            print(f"{setting:24} {name:10}", " | ".join(line), flush=True)


def families():
    for name, draw in FAMILIES.items():
        lines = {}
        for method in ("ours", "ET concat", "LR concat"):
            scores = []
            for seed in range(SPLITS):

                def run(method=method, seed=seed, draw=draw):
                    views, y = draw(2100, np.random.RandomState(seed + 7))
                    data = MultiViewData(views)
                    model = METHODS[method](seed).fit(data[:100], y[:100])
                    right = model.predict(data[100:]) == y[100:]
                    out = {"accuracy": float(right.mean())}
                    if method == "ours":
                        out["members"] = member_accuracies(model, data[100:], y[100:])
                    return out

                scores.append(cached(f"family-{name}-{method}-{seed}", run))
            lines[method] = np.mean([s["accuracy"] for s in scores])
            if method == "ours":
                best = np.mean([s["members"] for s in scores], axis=0).max()
        gain = lines["ours"] - max(lines["ET concat"], lines["LR concat"])
        print(
            f"{name:28}", " ".join(f"{k} {v:.3f}" for k, v in lines.items()),
            f"against the better {gain:+.3f}, against its best member {lines['ours'] - best:+.3f}",
            flush=True,
        )  # fmt: skip


def member_accuracies(model, data, y):
    scores = model.member_decision_function(data)
    return [float((model.classes_[s.argmax(axis=1)] == y).mean()) for s in scores]


def speed():
    from consilience.datasets import make_multiview_classification

    for n, widths in ((100, [76, 216, 64, 240, 47, 6]), (100, [2000] * 5)):
        sparsity = 0.98 if widths[0] == 2000 else 0.0
        data, y = make_multiview_classification(
            n,
            n_views=len(widths),
            n_features=widths,
            n_classes=6,
            sparsity=sparsity,
            random_state=0,
        )
        ours, anchor = [], []
        for _ in range(3):
            start = time.process_time()
            ConsilienceClassifier(random_state=0).fit(data, y)
            ours.append(time.process_time() - start)
            start = time.process_time()
            EarlyFusionClassifier(et(0)).fit(data, y)
            anchor.append(time.process_time() - start)
        print(f"n={n}, views {widths}: {min(ours):.2f} s, {min(ours) / min(anchor):.2f} x ET(300)")
    data, y = make_multiview_classification(
        100_000, n_views=4, n_features=200, n_classes=4, strength=2, random_state=0
    )
    start = time.monotonic()
    model = ConsilienceClassifier(random_state=0, n_jobs=2).fit(data, y)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"n=100000, 4 views x 200: {time.monotonic() - start:.0f} s, peak {memory:.2f} GiB")
    start = time.monotonic()
    score = model.score(data[:5000], y[:5000])
    print(f"    5000 rows predicted in {time.monotonic() - start:.0f} s, accuracy {score:.3f}")


def results():
    """Means over the splits: setting -> set -> method -> (accuracy, seconds)."""
    out = {}
    for setting, (_, _, methods) in SETTINGS.items():
        for name in SETS:
            for method in methods:
                paths = [path_of(f"{setting}-{name}-{method}-{s}") for s in range(SPLITS)]
                if all(path.exists() for path in paths):
                    runs = [json.loads(path.read_text()) for path in paths]
                    mean = tuple(float(np.mean([r[k] for r in runs])) for k in ("accuracy", "fit"))
                    out.setdefault(setting, {}).setdefault(name, {})[method] = mean
    return out


def family_rows():
    """Name, accuracies of ours, ET and LR, and of the best member of ours."""
    rows = []
    for name in FAMILIES:
        runs = {}
        for method in ("ours", "ET concat", "LR concat"):
            paths = [path_of(f"family-{name}-{method}-{seed}") for seed in range(SPLITS)]
            if all(path.exists() for path in paths):
                runs[method] = [json.loads(path.read_text()) for path in paths]
        if len(runs) == 3:
            means = [float(np.mean([run["accuracy"] for run in r])) for r in runs.values()]
            best = np.mean([run["members"] for run in runs["ours"]], axis=0).max()
            rows.append((name, *means, float(best)))
    return rows


def table():
    """Writes the tables below the marker of docs/results/default.md, and all runs as csv."""
    found, lines = results(), []
    lines.append(f"{date.today()}, Python {platform.python_version()}, scikit-learn ")
    lines[0] += f"{sklearn.__version__}, NumPy {np.__version__}, {os.cpu_count()} cores."
    with open(RESULTS / "default.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["setting", "data", "method", "accuracy", "fit_seconds"])
        for setting, sets in found.items():
            for name, methods in sets.items():
                for method, (accuracy, seconds) in methods.items():
                    out.writerow([setting, name, method, f"{accuracy:.4f}", f"{seconds:.3f}"])
        for name, *accuracies, _ in family_rows():
            for method, accuracy in zip(
                ("ours", "ET concat", "LR concat"), accuracies, strict=True
            ):
                out.writerow(["family", name, method, f"{accuracy:.4f}", ""])
    for setting, sets in found.items():
        methods = [m for m in SETTINGS[setting][2] if all(m in row for row in sets.values())]
        lines += ["", f"### {setting}", "", "| data | " + " | ".join(methods) + " |"]
        lines.append("|---" * (len(methods) + 1) + "|")
        for name, row in sets.items():
            lines.append(f"| {name} | " + " | ".join(f"{row[m][0]:.3f}" for m in methods) + " |")
        means = [np.mean([row[m][0] for row in sets.values()]) for m in methods]
        lines.append("| mean | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    lines += ["", "### Synthetic families (100 training rows, 2000 test rows)", ""]
    lines += ["| family | ours | ET concat | LR concat | ours − better | ours − its best member |"]
    lines.append("|---" * 6 + "|")
    for name, ours, trees, linear, best in family_rows():
        lines.append(
            f"| {name} | {ours:.3f} | {trees:.3f} | {linear:.3f} | "
            f"{ours - max(trees, linear):+.3f} | {ours - best:+.3f} |"
        )
    page = (RESULTS / "default.md").read_text().split(MARKER)[0]
    (RESULTS / "default.md").write_text(page + MARKER + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    if sys.argv[1] == "real":
        real(sys.argv[2:] or None)
    else:
        {"families": families, "speed": speed, "table": table}[sys.argv[1]]()
