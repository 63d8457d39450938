"""The evidence for ConsilienceClassifier beside the suite ``default``.

    python benchmarks/default.py summary     # the suite's results (docs/results/default-bench.csv)
    python benchmarks/default.py families    # synthetic families against ET and LR, 10 draws
    python benchmarks/default.py missing     # 30 % of the views hidden by chance
    python benchmarks/default.py hidden      # the same in test rows only, training rows complete
    python benchmarks/default.py unlabelled  # 500 rows without a label beside 100
    python benchmarks/default.py natural     # the suite default-natural: 17 sets, best peers
    python benchmarks/default.py more        # nine further sets beside five peers, natural shares
    python benchmarks/default.py official    # official splits of five sets
    python benchmarks/default.py rare        # a class thinned to 1:20 and 1:50
    python benchmarks/default.py growing     # accuracy as rows are added
    python benchmarks/default.py growing-families  # the same on three families
    python benchmarks/default.py threads     # two threads beside one
    python benchmarks/default.py speed       # time and memory
    python benchmarks/default.py prediction  # its time, that of one row, and the size of the model
    python benchmarks/default.py             # all of them
    python benchmarks/default.py --quick     # those without real data, in a small size

Families: 100 training rows, 2000 test rows of each draw; ET (300 trees) and LR (scaled columns) see
all views side by side. What is printed is Markdown, as in docs/results/default.md.
"""

import csv
import os
import pickle
import resource
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _data import MIRROR, available, load, real
from _families import FAMILIES
from _timing import least
from msgspec.structs import replace
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from consilience import ConsilienceClassifier, MultiViewData
from consilience.benchmark import load_suite, plan
from consilience.benchmark.problems import Problem, ProblemCache
from consilience.benchmark.protocol import make_rng, with_presence
from consilience.benchmark.tasks import Condition
from consilience.benchmark.work import execute, prepare_task_data
from consilience.datasets import make_multiview_classification
from consilience.fusion import EarlyFusionClassifier
from consilience.methods import METHODS

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "default-bench.csv"
NATURAL = RESULTS.with_name("default-natural.csv")
BOOSTING = RESULTS.with_name("default_boosting_peers.csv")
OURS = "Consilience"
DRAWS = 10


def trees(seed):
    return EarlyFusionClassifier(ExtraTreesClassifier(300, random_state=seed))


def our_tasks(wanted):
    """Our tasks of the suite with a wanted condition, and their problems; none without the data."""
    if not available():
        return
    os.environ["CONSILIENCE_DATA"] = str(MIRROR)
    problems = ProblemCache()
    for task in plan(load_suite("default"))[0]:
        if task.method == OURS and wanted(task.condition):
            yield task, problems.get(task.data, task.data_parameters)


# -- views missing by chance -----------------------------------------------------------------


def hide_by_chance(data, rate, rng):
    """Every view of every row is missing with this chance; a row that loses all gets one back."""
    present = data.present & (rng.random(data.present.shape) >= rate)
    for row in np.flatnonzero(~present.any(axis=1)):
        present[row, rng.choice(np.flatnonzero(data.present[row]))] = True
    return with_presence(data, present)


def missing(rate=0.3):
    """The suite's splits with 100 rows where views are hidden by chance, not by a fixed share."""
    scores = defaultdict(list)
    for task, problem in our_tasks(lambda condition: condition.missing):
        rows = np.arange(len(problem.target))
        if task.complete:
            rows = np.flatnonzero(problem.data.present.all(axis=1))
        rng = make_rng(task.seed, task.repeat, "views")
        hidden = Problem(hide_by_chance(problem.data[rows], rate, rng), problem.target[rows])
        condition = replace(task.condition, missing=0.0)
        outcome = execute(replace(task, condition=condition, complete=False), hidden)
        scores[task.data].append(outcome.metrics["accuracy"])
    print_means(scores)


def hidden(rate=0.3):
    """Complete training rows of the suite's splits with 100 rows; views of test rows hidden."""
    scores = defaultdict(list)
    for task, problem in our_tasks(lambda condition: condition.missing):
        parts = prepare_task_data(
            replace(task, condition=replace(task.condition, missing=0.0)), problem
        )
        train, test = parts.rows.train, parts.rows.test
        model = ConsilienceClassifier(random_state=task.seed + task.index)
        model.fit(parts.data[train], parts.train_labels)
        rng = make_rng(task.seed, task.repeat, "views")
        rows = hide_by_chance(parts.data[test], rate, rng)
        scores[task.data].append(model.score(rows, parts.target[test]))
    print_means(scores)


def print_means(scores):
    """Mean of each data set, and the mean of these."""
    if scores:
        means = {name: np.mean(result) for name, result in scores.items()}
        print(", ".join(f"{name} {mean:.3f}" for name, mean in means.items()))
        print(f"mean {np.mean(list(means.values())):.4f}")


# -- rows without a label ----------------------------------------------------------------------


def accuracy_and_log_loss(model, data, target):
    p = model.predict_proba(data)
    y_pred = model.classes_[p.argmax(axis=1)]
    return [accuracy_score(target, y_pred), log_loss(target, p, labels=model.classes_)]


def unlabelled(most=500):
    """The suite's splits with 100 rows, and the same with rows that are in no split."""
    scores = defaultdict(list)
    for task, problem in our_tasks(lambda condition: condition == Condition(train_size=100)):
        parts = prepare_task_data(task, problem)
        train, test = parts.rows.train, parts.rows.test
        rest = np.setdiff1d(np.arange(len(parts.target)), np.r_[train, test])
        rest = np.random.RandomState(0).permutation(rest)[:most]
        labels = [*parts.train_labels.tolist(), *[None] * len(rest)]
        row = [len(rest)]
        for rows in (train, np.r_[train, rest]):
            model = ConsilienceClassifier(random_state=task.seed + task.index)
            model.fit(parts.data[rows], labels[: len(rows)])
            row += accuracy_and_log_loss(model, parts.data[test], parts.target[test])
        scores[task.data].append(row)
    if not scores:
        return
    means = {name: np.mean(rows, axis=0) for name, rows in scores.items()}
    means["mean"] = np.mean(list(means.values()), axis=0)
    print("| data | rows without | accuracy | with them | log loss | with them |")
    print("|---" * 6 + "|")
    for name, (n, before, loss, after, loss_after) in means.items():
        print(f"| {name} | {n:.0f} | {before:.4f} | {after:.4f} | {loss:.3f} | {loss_after:.3f} |")


# -- the suite -------------------------------------------------------------------------------


def read_accuracies(path):
    """Mean accuracies: condition -> method -> data set."""
    result = defaultdict(lambda: defaultdict(dict))
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["metric"] == "accuracy":
                names = ("train_size", "missing", "junk_views", "label_noise")
                condition = tuple(float(row[name]) for name in names)
                result[condition][row["method"]][row["dataset"]] = float(row["mean"])
    return result


def title(condition):
    size, missing, junk, noise = condition
    parts = [f"m = {size:g}", missing and f"{missing:.0%} missing", junk and f"{junk:g} junk views"]
    return ", ".join(filter(None, [*parts, noise and f"{noise:.0%} label noise"]))


def best_of(methods, dataset, names):
    return max(names, key=lambda name: methods[name][dataset])


def summary(path=RESULTS):
    """Means over the data sets, and ours against the best baseline of each."""
    result = read_accuracies(path)
    conditions, methods = list(result), list(next(iter(result.values())))
    print("| method | " + " | ".join(map(title, conditions)) + " |")
    print("|---" * (len(conditions) + 1) + "|")
    others = [name for name in methods if name != OURS]
    plain = [name for name in others if "mapped" not in name]
    for name in methods:
        means = [np.mean(list(result[c][name].values())) for c in conditions]
        print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    for label, names in (
        ("best plain one of each set", plain),
        ("best of all of each set", others),
    ):
        bests = [
            np.mean([max(result[c][name][d] for name in names) for d in result[c][OURS]])
            for c in conditions
        ]
        print(f"| {label} | " + " | ".join(f"{best:.3f}" for best in bests) + " |")
    condition = (100.0, 0.0, 0.0, 0.0)
    table = result[condition]
    print(f"\n| {title(condition)} | ours | best plain | | best with maps | |\n" + "|---" * 6 + "|")
    for d, ours in table[OURS].items():
        cells = []
        for names in (plain, [name for name in others if name not in plain]):
            best = best_of(table, d, names)
            cells += [f"{table[best][d]:.3f} ({best})", f"{ours - table[best][d]:+.3f}"]
        print(f"| {d} | {ours:.3f} | " + " | ".join(cells) + " |")


# -- synthetic families ----------------------------------------------------------------------


def family_scores(draw, seed):
    """Accuracies of ours, ET and LR, and of each member of ours."""
    views, y = draw(2100, np.random.RandomState(seed + 7))
    data = MultiViewData(views)
    train, test, truth = data[:100], data[100:], y[100:]
    models = [ConsilienceClassifier(random_state=seed), trees(seed), EarlyFusionClassifier()]
    scores = [model.fit(train, y[:100]).score(test, truth) for model in models]
    members = models[0].member_decision_function(test)
    answers = models[0].classes_[members.argmax(axis=2)]
    return [*scores, *(answers == truth).mean(axis=1)]


def families(names=tuple(FAMILIES), draws=DRAWS):
    print("| family | ours | ET | LR | ours − better | ± | ours − its best member |")
    print("|---" * 7 + "|")
    for name in names:
        scores = np.array([family_scores(FAMILIES[name], seed) for seed in range(draws)])
        means = scores.mean(axis=0)
        better = 1 + int(np.argmax(means[1:3]))
        gaps = scores[:, 0] - scores[:, better]
        error = gaps.std(ddof=1) / np.sqrt(draws)
        print(
            f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means[:3]),
            f"| {gaps.mean():+.3f} | {error:.3f} | {means[0] - means[3:].max():+.3f} |",
            flush=True,
        )


# -- time and memory -------------------------------------------------------------------------


def few_rows(widths, sparsity=0.0, repeat=5):
    """Time of a fit on 100 rows beside that of 300 trees on the same columns."""
    data, y = make_multiview_classification(
        100,
        n_views=len(widths),
        n_features=widths,
        n_classes=6,
        sparsity=sparsity,
        random_state=0,
    )
    views = [view for _, view in data.items()]
    X = sp.csr_array(sp.hstack(views)) if sparsity else np.hstack(views)
    ours = least(lambda: ConsilienceClassifier(random_state=0).fit(data, y), repeat)
    anchor = least(lambda: ExtraTreesClassifier(300, random_state=0).fit(X, y), repeat)
    kind = "sparse" if sparsity else "dense"
    print(f"- n = 100, {kind} views of {widths} columns: {ours:.2f} s,", end=" ")
    print(f"{ours / anchor:.2f} x ET(300) ({anchor:.2f} s)", flush=True)


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def many_rows(n=100_000):
    data, y = make_multiview_classification(
        n + 5000, n_views=4, n_features=200, n_classes=4, strength=2, random_state=0
    )
    train, test = data[:n], data[n:]
    before, start, clock = peak_memory(), time.process_time(), time.monotonic()
    model = ConsilienceClassifier(random_state=0).fit(train, y[:n])
    taken, waited = time.process_time() - start, time.monotonic() - clock
    print(f"- n = {n}, 4 views x 200, one thread: {taken:.0f} s ({waited:.0f} s waited),", end=" ")
    print(f"peak {peak_memory():.2f} GiB of the process ({before:.2f} GiB before the fit)")
    start = time.process_time()
    score = model.score(test, y[n:])
    print(f"- 5000 other rows: {time.process_time() - start:.0f} s, accuracy {score:.3f}")


def speed():
    few_rows([76, 216, 64, 240, 47, 6])
    few_rows([2000] * 5, sparsity=0.98)
    many_rows()


def threads(n=20_000):
    """Time waited for a fit by two threads beside one; other programs must not run."""
    data, y = make_multiview_classification(
        n, n_views=4, n_features=50, n_classes=4, strength=2, random_state=0
    )
    waited = []
    for n_jobs in (1, 2):
        clock = time.monotonic()
        ConsilienceClassifier(random_state=0, n_jobs=n_jobs).fit(data, y)
        waited.append(time.monotonic() - clock)
    one, two = waited
    print(f"- n = {n}, 4 views x 50: one thread {one:.1f} s, two {two:.1f} s, {two / one:.2f}")


def prediction(sizes=(2000, 20_000), n_new=10_000, repeat=3):
    """Prediction, the same with 30 % of the views missing, one row, and the size of the model."""
    for n in sizes:
        data, y = make_multiview_classification(
            n + n_new, n_views=4, n_features=50, n_classes=4, strength=2, random_state=0
        )
        new, X = data[n:], np.hstack([view for _, view in data.items()])
        anchor = ExtraTreesClassifier(300, random_state=0).fit(X[:n], y[:n])
        model = ConsilienceClassifier(random_state=0).fit(data[:n], y[:n])
        anchor_time = least(lambda anchor=anchor, X=X[n:]: anchor.predict_proba(X), repeat)
        lacking = hide_by_chance(new, 0.3, np.random.RandomState(0))
        times = [
            least(lambda model=model, rows=rows: model.predict_proba(rows), repeat)
            for rows in (new, lacking[:500])
        ]
        rows = [new[i : i + 1] for i in range(20)]
        one = least(lambda model=model, rows=rows: list(map(model.predict_proba, rows)), repeat)
        ours, theirs = (len(pickle.dumps(each)) / 2**20 for each in (model, anchor))
        print(f"- trained on {n} rows, 4 views x 50: {n_new} rows {times[0]:.2f} s,", end=" ")
        print(f"{times[0] / anchor_time:.2f} x ET(300) ({anchor_time:.2f} s);", end=" ")
        print(f"one row {one / 20 * 1000:.1f} ms;", end=" ")
        print(f"500 rows with 30 % of the views missing {times[1]:.2f} s;", end=" ")
        print(f"model {ours:.0f} MiB, {ours / theirs:.2f} x ET(300) ({theirs:.0f} MiB)", flush=True)


# -- further sets ----------------------------------------------------------------------------

MORE = (
    "acm",
    "adult",
    "basicmotions",
    "landuse21",
    "ngs",
    "prokaryotic",
    "rosmap",
    "threesources",
    "webkb203",
)
PEERS = ("Early fusion", "Late fusion", "RandomForest", "ExtraTrees", "Early+SVM")
MAX_TEST_ROWS = 1000


def more(sizes=(50, 100, 500), n_splits=5, names=MORE):
    """Accuracy and log loss with m training rows in the classes' own shares."""
    if not available():
        return
    for m in sizes:
        print(f"\n| m = {m} | {OURS} | {' | '.join(PEERS)} |\n|---|{'---|' * (len(PEERS) + 1)}")
        means = []
        for name in names:
            data, y = real(name, rows=None)
            if len(y) < 1.25 * m:
                continue
            scores = [
                [fit_and_score(method, data, y, m, seed) for method in (OURS, *PEERS)]
                for seed in range(n_splits)
            ]
            means.append(np.mean(scores, axis=0))
            print_scores(name, means[-1])
        print_scores("mean", np.mean(means, axis=0))


def fit_and_score(method, data, y, m, seed):
    train, test = train_test_split(np.arange(len(y)), train_size=m, stratify=y, random_state=seed)
    model = METHODS[method].make_estimator(seed).fit(data[train], y[train])
    test = test[:MAX_TEST_ROWS]
    if not hasattr(model, "predict_proba"):
        return model.score(data[test], y[test]), np.nan
    return accuracy_and_log_loss(model, data[test], y[test])


def print_scores(name, scores):
    cells = (f"{accuracy:.4f} ({loss:.3f})" for accuracy, loss in scores)
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def growing(
    names=("adult", "mnist-1", "mnist-2", "indoor-floor", "acm", "landuse21"),
    sizes=(500, 1000, 2000, 3000, 5000, 10_000, 20_000),
    n_draws=2,
):
    """Accuracy on the same test rows as rows are added."""
    if not available():
        return
    print(f"\n| set | {' | '.join(map(str, sizes))} |\n|---|{'---|' * len(sizes)}")
    for name in names:
        data, y = real(name, rows=None)
        cells = []
        for n in sizes:
            if n + 600 > len(y):
                continue
            scores = []
            for seed in range(n_draws):
                order = np.random.RandomState(seed).permutation(len(y))
                rows, test = order[:n], order[-min(3000, len(y) // 4) :]
                model = ConsilienceClassifier(random_state=seed).fit(data[rows], y[rows])
                scores.append(model.score(data[test], y[test]))
            cells.append(f"{np.mean(scores):.4f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def growing_families(
    names=("words", "tables", "rings"), sizes=(500, 1000, 2000, 3000, 5000, 10_000), n_draws=1
):
    """The same on synthetic families."""
    print(f"\n| family | {' | '.join(map(str, sizes))} |\n|---|{'---|' * len(sizes)}")
    for name in names:
        cells = []
        for n in sizes:
            scores = []
            for seed in range(n_draws):
                views, y = FAMILIES[name](sizes[-1] + 3000, np.random.RandomState(seed))
                data = MultiViewData(views)
                model = ConsilienceClassifier(random_state=seed).fit(data[:n], y[:n])
                scores.append(model.score(data[sizes[-1] :], y[sizes[-1] :]))
            cells.append(f"{np.mean(scores):.4f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


# -- official splits, rare classes -----------------------------------------------------------


def official(names=("basicmotions", "rosmap", "uwave", "flower17-descriptors", "breast-tcga")):
    """Accuracy on the published test rows, mean over the official splits and three seeds."""
    if not available():
        return
    methods = (OURS, *PEERS, "Sum of kernels")
    print(f"\n| official split | {' | '.join(methods)} |\n|---|{'---|' * len(methods)}")
    for name in names:
        bunch = load(name)
        cells = []
        for method in methods:
            scores = []
            for split in bunch.splits.values():
                parts = [split["train"], split.get("validation", np.empty(0, dtype=int))]
                train, test = np.concatenate(parts).astype(int), split["test"]
                for seed in range(3):
                    model = METHODS[method].make_estimator(seed)
                    model.fit(bunch.data[train], bunch.target[train])
                    scores.append(model.score(bunch.data[test], bunch.target[test]))
            cells.append(f"{np.mean(scores):.4f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def thin_class(data, y, ratio, seed):
    """The data with the smallest class thinned to 1 / ratio of the median of the others."""
    counts = np.bincount(y)
    rare = counts.argmin()
    size = max(6, int(np.median(np.delete(counts, rare)) / ratio))
    kept = np.random.RandomState(seed).permutation(np.flatnonzero(y == rare))[:size]
    rows = np.sort(np.r_[np.flatnonzero(y != rare), kept])
    return data[rows], y[rows]


def rare(
    names=("ads", "mfeat", "landuse21", "prokaryotic", "breast-tcga"), ratios=(20, 50), n_draws=3
):
    """Balanced accuracy (accuracy) where a class is rare; half of the rows, at most 1000, train."""
    if not available():
        return
    methods = (OURS, "ExtraTrees", "RandomForest", "Early fusion", "Late fusion")
    print(f"\n| set, ratio | {' | '.join(methods)} |\n|---|{'---|' * len(methods)}")
    for name in names:
        whole = real(name, rows=None)
        for ratio in ratios:
            cells = []
            for method in methods:
                scores = []
                for seed in range(n_draws):
                    data, y = thin_class(*whole, ratio, seed)
                    train, test = train_test_split(
                        np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed
                    )
                    train = train[:1000]
                    model = METHODS[method].make_estimator(seed).fit(data[train], y[train])
                    y_pred = model.predict(data[test])
                    scores.append(
                        [
                            balanced_accuracy_score(y[test], y_pred),
                            accuracy_score(y[test], y_pred),
                        ]
                    )
                balanced, accuracy = np.mean(scores, axis=0)
                cells.append(f"{balanced:.3f} ({accuracy:.3f})")
            print(f"| {name}, 1:{ratio} | {' | '.join(cells)} |", flush=True)


# -- 17 sets with their own class shares -----------------------------------------------------


def read_scores(path, metric):
    """Mean scores: training rows (0 for all) -> method -> data set."""
    result = defaultdict(lambda: defaultdict(dict))
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["metric"] == metric and row["mean"] and row["failed"] == "0":
                size = int(float(row["train_size"] or 0))
                result[size][row["method"]][row["dataset"]] = float(row["mean"])
    return result


def natural(paths=(NATURAL, BOOSTING)):
    """Ours against the best peer of each set in hindsight, in accuracy and log loss."""
    for metric, best, sign in (("accuracy", max, 1), ("log_loss", min, -1)):
        tables = [read_scores(path, metric) for path in paths if path.is_file()]
        if not tables:
            print("the suite default-natural has not been run")
            return
        for size in tables[0]:
            methods = {}
            for table in tables:
                methods |= table.get(size, {})
            ours = methods.pop(OURS)
            sets = [name for name in ours if any(name in scores for scores in methods.values())]
            bests = {d: best(scores[d] for scores in methods.values() if d in scores) for d in sets}
            complete = {
                name: np.mean([scores[d] for d in sets])
                for name, scores in methods.items()
                if set(sets) <= set(scores)
            }
            single = best(complete, key=complete.get)
            title = f"{size} rows" if size else "80/20"
            print(f"\n{metric}, {title}, {len(sets)} sets: ours", end=" ")
            print(f"{np.mean([ours[d] for d in sets]):.4f}, best peer of each set", end=" ")
            print(f"{np.mean(list(bests.values())):.4f}, best single peer", end=" ")
            print(f"{complete[single]:.4f} ({single})")
            gaps = {d: sign * (ours[d] - bests[d]) for d in sets}
            print(
                ", ".join(f"{d} {gap:+.3f}" for d, gap in sorted(gaps.items(), key=lambda x: x[1]))
            )


def quick():
    """The parts that need no real data, in a small size."""
    summary()
    families(["equal views", "words", "tables"], draws=2)
    few_rows([76, 216, 64, 240, 47, 6], repeat=1)
    few_rows([2000] * 5, sparsity=0.98, repeat=1)
    many_rows(2000)
    prediction([200], n_new=500, repeat=1)
    available(quick=True)


PARTS = {
    "summary": summary,
    "families": families,
    "missing": missing,
    "hidden": hidden,
    "unlabelled": unlabelled,
    "natural": natural,
    "more": more,
    "official": official,
    "rare": rare,
    "growing": growing,
    "growing-families": growing_families,
    "threads": threads,
    "speed": speed,
    "prediction": prediction,
}

if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    if "--quick" in sys.argv:
        quick()
    else:
        for part in sys.argv[1:] or PARTS:
            PARTS[part]()
