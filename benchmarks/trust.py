"""How far predictions can be trusted: coverage, conflict, mix-ups, wrong labels, next view, time.

    python benchmarks/trust.py [--quick] [--only PART,...] [--draws N]

Every part prints one line per data set and setting as soon as it is known. MAPIE and cleanlab are
compared with if they are installed.
"""

import argparse
import copy
import time
import warnings

import _data
import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from consilience import ConsilienceClassifier, MultiViewData
from consilience.datasets import load_digits_views, make_multiview_classification
from consilience.fusion import EarlyFusionClassifier
from consilience.trust import (
    ConformalClassifier,
    RobustPoolingClassifier,
    SelectiveClassifier,
    find_label_errors,
    find_mismatched_samples,
    next_view,
    view_cost_curve,
    view_opinions,
)
from consilience.trust._conformal_steps import lac_scores, p_values
from consilience.trust._reference import fit_reference_table
from consilience.trust._selective import lowest_safe_threshold

warnings.simplefilter("ignore")
LOGISTIC = EarlyFusionClassifier(LogisticRegression(C=0.1, max_iter=200))


def load_more(name):
    """A set of the folder ``more`` of the mirror: v0, v1, … dense or CSR, and y."""
    arrays = np.load(_data.MIRROR / "more" / f"{name}.npz")
    views = {}
    for v in range(20):
        if f"v{v}" in arrays:
            views[f"v{v}"] = arrays[f"v{v}"]
        elif f"v{v}_data" in arrays:
            parts = [arrays[f"v{v}_{part}"] for part in ("data", "indices", "indptr")]
            views[f"v{v}"] = sp.csr_array(tuple(parts), shape=arrays[f"v{v}_shape"])
    return MultiViewData(views), arrays["y"]


def load(name):
    """Views and class codes of a real data set."""
    if name == "digits-features":
        data, y = load_digits_views(kind="features", return_X_y=True)
    elif (_data.MIRROR / "more" / f"{name}.npz").exists():
        data, y = load_more(name)
    else:
        data, y = _data.real(name)
    return data, np.unique(y, return_inverse=True)[1]


def draw(name, n_train, n_test, seed):
    """Random training and test rows; "synthetic" is drawn anew."""
    if name == "synthetic":
        data, y = make_multiview_classification(
            n_train + n_test, n_classes=3, strength=1.5, missing_rate=0.2, random_state=seed
        )
        return data[:n_train], y[:n_train], data[n_train:], y[n_train:]
    data, y = load(name)
    rows = np.random.RandomState(seed).permutation(len(y))
    train, test = rows[:n_train], rows[n_train : n_train + n_test]
    return data[train], y[train], data[test], y[test]


# -- coverage ------------------------------------------------------------------------------------


def coverage(quick, n_draws):
    """Share of sets with the right class: all rows, worst class, worst pattern of views."""
    sets = ["synthetic"] if quick or not _data.available(quick) else ["synthetic", "mfeat-few"]
    for name in sets:
        for m in (100, 500):
            for method, conditional in (
                ("split", None),
                ("split", "class"),
                ("split", "pattern"),
                ("cv+", "pattern"),
            ):
                rows = [
                    coverage_of_draw(name, m, method, conditional, seed) for seed in range(n_draws)
                ]
                marginal, by_class, by_pattern, size = np.nanmean(rows, axis=0)
                print(
                    f"coverage {name} m={m} {method} {conditional}: marginal {marginal[0]:.4f} "
                    f"class {np.nanmin(by_class):.4f} to {np.nanmax(by_class):.4f} lowest "
                    f"pattern {np.nanmin(by_pattern):.4f} highest {np.nanmax(by_pattern):.4f} "
                    f"size {size[0]:.3f} ({n_draws} draws)",
                    flush=True,
                )


def coverage_of_draw(name, m, method, conditional, seed, n_test=400):
    """Coverage of one draw: marginal, of each class, of each pattern; set size, each 8 numbers."""
    data, y, test, y_test = coverage_rows(name, m, method, n_test, seed)
    size = m / len(data) if method == "split" else 0.3
    model = ConformalClassifier(
        LOGISTIC, method=method, conditional=conditional, calibration_size=size, random_state=seed
    )
    sets = model.fit(data, y).predict_set(test)
    is_covered = sets[np.arange(len(y_test)), y_test]
    out = np.full((4, 8), np.nan)
    out[0], out[3] = is_covered.mean(), sets.sum(axis=1).mean()
    for k in range(min(8, y_test.max() + 1)):
        out[1, k] = is_covered[y_test == k].mean()
    patterns = test.present @ (1 << np.arange(test.n_views))
    for p in range(8):
        own = patterns == p if test.n_views == 3 else patterns == 63 - p
        out[2, p] = is_covered[own].mean() if own.sum() >= 10 else np.nan
    return out


def coverage_rows(name, m, method, n_test, seed):
    n_train = m + 150 if method == "split" else m
    if name != "mfeat-few":
        return draw(name, n_train, n_test, seed)
    data, y, test, y_test = draw("mfeat", n_train, n_test, seed)
    views = ["fou", "zer", "mor"]
    return data.select(views), y, test.select(views), y_test


def real_coverage(quick, n_draws, alpha=0.1):
    """Coverage over splits of left-out rows of real data, whose probabilities are computed once.

    The default is fitted once on each set; each draw divides the other rows (up to 4000), of which
    a third lack a view, into calibration and test rows.
    """
    if quick or not _data.available(quick):
        return
    for name in ("mfeat", "landuse21", "uwave", "synthetic"):
        table = left_out_table(name)
        for m in (100, 500):
            for conditional in (None, "class", "pattern"):
                print_real_coverage(name, table, m, conditional, alpha, n_draws)
            print_real_risk(name, table, m, n_draws)


def left_out_table(name):
    """What the default says of rows it has not seen, a third of which lack a view."""
    data, y, rest, y_rest = draw(name, 500, 4000, 0)
    model = ConsilienceClassifier(random_state=0).fit(data, y)
    rng = np.random.RandomState(0)
    present = np.array(rest.present)
    if present.all():
        lacking = np.flatnonzero(rng.rand(len(rest)) < 1 / 3)
        present[lacking, rng.randint(2, size=len(lacking))] = False  # one of the first two views
    has_view = np.flatnonzero(present.any(axis=1))
    prior = np.bincount(y) / len(y)
    part = MultiViewData(dict(rest[has_view].items()), present=present[has_view])
    return fit_reference_table(model, part, y_rest[has_view], np.arange(len(prior)), prior)


def print_real_risk(name, table, m, n_draws, max_error=0.05, delta=0.1):
    """Share of draws in which at most ``max_error`` of the answers are wrong, of those with any."""
    p = table.own_probabilities()
    confidence, is_wrong = p.max(axis=1), p.argmax(axis=1) != table.codes
    kept, answered = [], []
    for seed in range(n_draws):
        rows = np.random.RandomState(seed).permutation(len(table))
        own, test = rows[:m], rows[m:]
        threshold = lowest_safe_threshold(confidence[own], is_wrong[own], max_error, delta)
        has_answer = confidence[test] >= threshold
        answered.append(has_answer.mean())
        kept.append(not has_answer.any() or is_wrong[test][has_answer].mean() <= max_error)
    print(
        f"risk {name} m={m}: error on the answered at most {max_error} in {np.mean(kept):.3f} of "
        f"{n_draws} draws, answered {np.mean(answered):.3f}, error of all {is_wrong.mean():.3f}",
        flush=True,
    )


def print_real_coverage(name, table, m, conditional, alpha, n_draws):
    """Mean coverage of all rows, and of classes and patterns with 50 calibration rows."""
    p, n_classes = table.own_probabilities(), len(table.prior)
    pattern = table.present @ (1 << np.arange(table.present.shape[1]))
    all_rows, sizes, by_group = [], [], {}
    for seed in range(n_draws):
        rows = np.random.RandomState(seed).permutation(len(table))
        own, test = rows[:m], rows[m:]
        cells = {"class": table.codes, "pattern": pattern, None: np.zeros(len(rows), int)}
        group = cells[conditional]
        scores = lac_scores(p)
        sets = np.zeros((len(test), n_classes), dtype=bool)
        for g in np.unique(group):
            cal = own[group[own] == g]
            known = scores[cal, table.codes[cal]]
            flat = np.ones(len(cal)), np.zeros(len(cal), dtype=int)
            if conditional == "class":
                sets[:, [g]] = p_values(scores[None][:, test][:, :, [g]], known, *flat) > alpha
            else:
                new = np.flatnonzero(group[test] == g)
                sets[new] = p_values(scores[None][:, test[new]], known, *flat) > alpha
        is_covered = sets[np.arange(len(test)), table.codes[test]]
        all_rows.append(is_covered.mean())
        sizes.append(sets.sum(axis=1).mean())
        for g in np.unique(group):
            new = group[test] == g
            if (group[own] == g).sum() >= 50 and new.any():
                by_group.setdefault(int(g), []).append((is_covered[new].sum(), new.sum()))
    line = f"coverage {name} m={m} by {conditional}: marginal {np.mean(all_rows):.4f}"
    if conditional is not None and by_group:
        shares = [np.sum(v, axis=0)[0] / np.sum(v, axis=0)[1] for v in by_group.values()]
        line += f", {len(shares)} groups {min(shares):.4f} to {max(shares):.4f}"
    print(f"{line}, size {np.mean(sizes):.3f} ({n_draws} draws)", flush=True)


SIZE_SETS = ["mfeat", "landuse21", "uwave", "synthetic"]


def set_sizes(quick, n_draws):
    """Mean size of split-conformal sets against MAPIE's methods on the same probabilities."""
    try:
        from mapie.classification import SplitConformalClassifier
    except ImportError:
        print("set size: MAPIE is not installed")
        return
    for name in ["synthetic"] if quick or not _data.available(quick) else SIZE_SETS:
        data, y, test, y_test = draw(name, 600, 600, 0)
        fitted = LOGISTIC.fit(data[:400], y[:400])
        P, Q, own = fitted.predict_proba(data[400:]), fitted.predict_proba(test), y[400:]
        ours = lac_scores(P)[np.arange(200), own]
        weight, fold = np.ones(200), np.zeros(200, dtype=int)
        for alpha in (0.05, 0.1, 0.2):
            sets = p_values(lac_scores(Q)[None], ours, weight, fold) > alpha
            sizes = {
                score: mapie_size(SplitConformalClassifier, P, own, Q, alpha, score)
                for score in ("lac", "aps", "raps", "top_k")
            }
            print(
                f"set size {name} alpha={alpha}: ours {sets.sum(axis=1).mean():.3f} covered "
                f"{sets[np.arange(len(y_test)), y_test].mean():.3f}; MAPIE "
                + ", ".join(f"{key} {value:.3f}" for key, value in sizes.items()),
                flush=True,
            )


class Probabilities:
    """A fitted classifier whose input are the probabilities themselves."""

    def __init__(self, classes):
        self.classes_ = classes
        self.fitted_ = True

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.asarray(X) / np.asarray(X).sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[np.asarray(X).argmax(axis=1)]

    def __sklearn_is_fitted__(self):
        return True


def mapie_size(kind, P, own, Q, alpha, score):
    """Mean set size of one of MAPIE's methods; NaN if it cannot be run."""
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin

        cls = type("Given", (Probabilities, ClassifierMixin, BaseEstimator), {})
        model = kind(
            cls(np.arange(P.shape[1])),
            confidence_level=1 - alpha,
            conformity_score=score,
            prefit=True,
            random_state=0,
        )
        model.conformalize(P, own)
        return float(model.predict_set(Q)[1][:, :, 0].sum(axis=1).mean())
    except Exception as error:
        print(f"  MAPIE {score}: {type(error).__name__}: {str(error)[:100]}")
        return np.nan


def risk(quick, n_draws, max_error=0.2):
    """Share of draws in which the error on the answered rows exceeds the limit."""
    misses, rates = [], []
    for seed in range(n_draws):
        data, y, test, y_test = draw("synthetic", 500, 2000, seed)
        model = SelectiveClassifier(
            LOGISTIC, max_error, method="split", calibration_size=0.6, random_state=0
        ).fit(data, y)
        answered = model.is_answered(test)
        rates.append(answered.mean())
        is_wrong = model.predict(test) != y_test
        misses.append(answered.any() and is_wrong[answered].mean() > max_error)
    print(
        f"risk control synthetic: limit {max_error} exceeded in {np.mean(misses):.3f} of {n_draws} "
        f"draws (allowed 0.1), answered {np.mean(rates):.3f}",
        flush=True,
    )


# -- conflict ------------------------------------------------------------------------------------


KINDS = ("clean", "class", "noise 1", "noise 3", "noise 10")
OFF_RATES = (0.1, "batch")
CONFLICT_SETS = [
    *("uwave", "prokaryotic", "landuse21", "digits-features", "mfeat"),
    *("reuters-1200", "mnist-1"),
]
EXCHANGE_SETS = ["mfeat", "digits-features", "landuse21", "flower17-descriptors"]


def conflict(quick, n_draws):
    """Robust pooling on test rows of which half have a view that is off; areas of errors."""
    real = not quick and _data.available(quick)
    for name in CONFLICT_SETS if real else ["synthetic"]:
        print_conflict(name, range(n_draws), KINDS, 500, 20 if quick else None)


def exchanges(quick, n_draws):
    """Views of another class once more: 1500 test rows, splits on which nothing was chosen."""
    real = not quick and _data.available(quick)
    for name in EXCHANGE_SETS if real else ["synthetic"]:
        print_conflict(name, range(3, 3 + n_draws), KINDS[:2], 1500, 20 if quick else None)


def print_conflict(name, seeds, kinds, n_test, n_estimators):
    """Means over splits, for each kind of fault and each rate."""
    splits = [conflict_of_split(name, seed, kinds, n_test, n_estimators) for seed in seeds]
    for kind in kinds:
        for k, off_rate in enumerate(OFF_RATES):
            results = np.array([split[kind][k] for split in splits])
            plain, robust, oracle, *areas = results.mean(axis=0)
            gap = (robust - plain) / (oracle - plain) if oracle > plain else np.nan
            print(
                f"conflict {name} {kind} off_rate={off_rate}: plain {plain:.4f} robust "
                f"{robust:.4f} oracle {oracle:.4f} closes {100 * gap:.0f} %; area of errors: "
                f"largest probability {areas[0]:.3f}, robust {areas[1]:.3f} "
                f"({len(seeds)} splits)",
                flush=True,
            )


def conflict_of_split(name, seed, kinds, n_test, n_estimators):
    """Accuracy of plain and robust pooling and of the oracle, and areas, by kind and off_rate."""
    data, y, test, y_test = draw(name, 300 if name == "prokaryotic" else 500, n_test, seed)
    data, test = as_dense(data), as_dense(test)
    default = ConsilienceClassifier(n_estimators, random_state=0)
    robust = RobustPoolingClassifier(default, random_state=0).fit(data, y)
    plain, rng = robust.estimator_, np.random.RandomState(seed)
    which, is_hit = rng.randint(test.n_views, size=len(y_test)), rng.rand(len(y_test)) < 0.5
    out = {}
    for kind in kinds:
        rows = corrupt(test, y_test, which, is_hit & (kind != "clean"), kind, data, rng)
        p = plain.predict_proba(rows)
        present = np.array(rows.present)
        present[np.flatnonzero(is_hit), which[is_hit]] = False
        oracle = p
        if kind != "clean":
            oracle = plain.predict_proba(rows._replace(rows._views, present=present))
        predicted = p.argmax(axis=1)
        is_wrong = predicted != y_test
        out[kind] = []
        for off_rate in OFF_RATES:
            r = robust.set_params(off_rate=off_rate).predict_proba(rows)
            scores = [float((q.argmax(axis=1) == y_test).mean()) for q in (p, r, oracle)]
            # confidence in the plain prediction
            sure = p.max(axis=1), r[np.arange(len(r)), predicted]
            areas = [roc_auc_score(is_wrong, -c) if is_wrong.any() else np.nan for c in sure]
            out[kind].append([*scores, *areas])
    return out


def as_dense(data):
    return MultiViewData(
        {
            name: (view.toarray() if sp.issparse(view) else np.asarray(view)).astype(float)
            for name, view in data.items()
        },
        present=np.array(data.present),
    )


def corrupt(test, y, which, is_hit, kind, data, rng):
    """One view of the hit rows from a row of another class, or with noise in units of columns."""
    views = {name: np.array(view) for name, view in test.items()}
    for v, name in enumerate(test.view_names):
        rows = np.flatnonzero(is_hit & (which == v))
        if kind == "class":
            donors = [rng.choice(np.flatnonzero(y != y[i])) for i in rows]
            views[name][rows] = test[name][donors]
        elif kind.startswith("noise"):
            spread = np.nanstd(data[name], axis=0)
            noise = rng.randn(len(rows), test[name].shape[1])
            views[name][rows] += float(kind.split()[1]) * spread * noise
    return MultiViewData(views, present=np.array(test.present))


# -- mix-ups and wrong labels --------------------------------------------------------------------

PAIRS = [
    ("mfeat", "fac", "kar"),
    ("reuters-1200", "view1", "view2"),
    ("landuse21", "v0", "v1"),
    ("digits-features", "pixels", "fourier"),
    ("digits-features", "profiles", "gradients"),
    ("mfeat", "pix", "fou"),
    ("landuse21", "v1", "v2"),
    ("breast-tcga", "mrna", "mirna"),
    ("rosmap", "v0", "v1"),
]


def mixups(quick, n_draws, n_rows=400):
    """Share of swapped samples that are found, and of false suspects, at 5 % and 0 % swapped."""
    pairs = PAIRS if not quick and _data.available(quick) else [("latent", "a", "b")]
    for name, a, b in [*pairs, ("independent", "a", "b")]:
        for rate in (0.05, 0.0):
            results = [mixup_draw(name, a, b, rate, seed, n_rows) for seed in range(n_draws)]
            n_swapped, n_claimed, n_right, area = np.array(results).T
            false = np.mean((n_claimed - n_right) / np.maximum(n_claimed, 1))
            share = n_right.sum() / max(n_swapped.sum(), 1)
            print(
                f"mix-ups {name} {a}–{b} {rate:.0%} swapped: area {area.mean():.3f} "
                f"{share:.2f} found, rate of false suspects {false:.2f}, "
                f"{n_claimed.mean():.1f} suspects ({n_draws} draws)",
                flush=True,
            )


def mixup_draw(name, a, b, rate, seed, n_rows):
    rng = np.random.RandomState(seed)
    if name in ("latent", "independent"):
        latent = rng.randn(n_rows, 10)
        A, B = latent + 0.3 * rng.randn(2, n_rows, 10)
        B = rng.randn(n_rows, 10) if name == "independent" else B
    else:
        data, _ = load(name)
        rows = rng.permutation(len(data))[:n_rows]
        A, B = data[rows][a], data[rows][b]
    n = A.shape[0]
    swapped = rng.permutation(n)[: int(rate * n)]
    order = np.arange(n)
    order[swapped] = np.roll(swapped, 1)
    result = find_mismatched_samples({"a": A, "b": B[order]})
    right = np.intersect1d(result.suspects, swapped)
    return len(swapped), len(result.suspects), len(right), result.areas["a"]


def labels(quick, n_draws):
    """Average precision for wrong labels against cleanlab, on the same left-out probabilities."""
    try:
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        get_label_quality_scores = None
    real = not quick and _data.available(quick)
    for name in ["mfeat", "landuse21", "prokaryotic"] if real else ["synthetic"]:
        data, y, _, _ = draw(name, 500, 1, 0)
        rng = np.random.RandomState(0)
        wrong = rng.permutation(len(y))[: len(y) // 10]
        given, n_classes = y.copy(), y.max() + 1
        given[wrong] = (y[wrong] + rng.randint(1, n_classes, size=len(wrong))) % n_classes
        model = ConsilienceClassifier(20 if quick else None, random_state=0)
        result = find_label_errors(model, data, given)
        is_wrong = given != y
        ours = average_precision_score(is_wrong, result.probability)
        n_right = is_wrong[result.suspects].sum()
        line = (
            f"labels {name}: average precision {ours:.3f}, {len(result.suspects)} suspects, "
            f"{n_right} of {len(wrong)} found"
        )
        if get_label_quality_scores is not None:
            q = model.fit(data, given).out_of_fold_probabilities_
            known = np.isfinite(q).all(axis=1)
            for method in ("self_confidence", "normalized_margin"):
                score = get_label_quality_scores(given[known], q[known], method=method)
                line += (
                    f", cleanlab {method} {average_precision_score(is_wrong[known], -score):.3f}"
                )
        print(line, flush=True)


# -- next view -----------------------------------------------------------------------------------


def next_views(quick, n_draws):
    """Area under accuracy against cost: policy for each sample, best fixed order."""
    real = not quick and _data.available(quick)
    sets = ["landuse21", "uwave", "prokaryotic", "digits-features", "mfeat"]
    for name in sets if real else ["synthetic"]:
        results = {}
        for seed in range(n_draws):
            model, test, y_test = cost_model(name, seed, 20 if quick else None)
            prices = 2.0 ** np.arange(test.n_views)
            costs = {"equal": np.ones(test.n_views), "doubling": prices, "halving": prices[::-1]}
            for kind, values in costs.items():
                result = view_cost_curve(model, test, y_test, values)
                areas = result.area, result.fixed_area, result.needs_all_views
                results.setdefault(kind, []).append(areas)
        for kind, areas in results.items():
            policy, fixed, needs_all = np.mean(areas, axis=0)
            print(
                f"next view {name} {kind} costs: policy {policy:.4f} best fixed order {fixed:.4f} "
                f"difference {policy - fixed:+.4f}, needs all views in {needs_all:.0%} "
                f"({n_draws} splits)",
                flush=True,
            )


def cost_model(name, seed, n_estimators):
    """A calibrated default, and test rows that have all views."""
    data, y, test, y_test = draw(name, 300 if name == "prokaryotic" else 500, 500, seed)
    data, test = as_dense(data), as_dense(test)
    if name == "synthetic":
        keep = np.asarray(test.present.all(axis=1))
        test, y_test = test[keep], y_test[keep]
    model = ConformalClassifier(
        ConsilienceClassifier(n_estimators, random_state=0),
        method="split",
        calibration_size=0.3,
        random_state=0,
    )
    return model.fit(data, y), test, y_test


# -- time ----------------------------------------------------------------------------------------


def timing(quick, n_draws):
    """Time of everything but cv+, in fits of the default on as many rows.

    The unit is a fit right before each run, as the speed of a busy machine varies; the median of
    three counts. Whatever a model keeps of earlier predictions is dropped before.
    """
    n = 200 if quick else 1000
    data, y = make_multiview_classification(n + 200, n_classes=3, random_state=0)
    train, y_train, test = data[:n], y[:n], data[n:]
    default = ConsilienceClassifier(20 if quick else None, random_state=0)
    ratios = {}

    def seconds(function, *arguments):
        start = time.process_time()
        result = function(*arguments)
        return result, time.process_time() - start

    def run(name, function, model=None):
        ratios[name] = []
        for _ in range(3):
            arguments = () if model is None else (copy.deepcopy(model),)
            _, unit = seconds(default.fit, train, y_train)
            result, used = seconds(function, *arguments)
            ratios[name].append(used / unit)
        print(f"time: {name} {np.median(ratios[name]):.2f} fits", flush=True)
        return result

    default.fit(train, y_train)  # warms up
    for method in ("left-out", "split"):
        model = ConformalClassifier(default, method=method, random_state=0)
        conformal = run(method, lambda model=model: model.fit(train, y_train))
    robust = RobustPoolingClassifier(default, random_state=0)
    robust = run("robust", lambda: robust.fit(train, y_train))
    run("sets", lambda model: model.predict_set(test), conformal)
    run("opinions", lambda model: view_opinions(model, test), conformal)
    run("robust predict", lambda model: model.predict(test), robust)
    run("mix-ups", lambda: find_mismatched_samples(train))
    run("labels", lambda: find_label_errors(default, train, y_train))
    run("next view", lambda model: next_view(model, test.select(["view0"])), conformal)
    # one fit each in "left-out", "robust" and "labels"
    extra = sum(np.median(values) for values in ratios.values()) - 3
    print(f"time: together, beyond the fits of the models themselves, {extra:.2f} fits", flush=True)


PARTS = {
    "coverage": coverage,
    "real": real_coverage,
    "sizes": set_sizes,
    "risk": risk,
    "conflict": conflict,
    "exchanges": exchanges,
    "mixups": mixups,
    "labels": labels,
    "next": next_views,
    "time": timing,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--draws", type=int)
    arguments = parser.parse_args()
    draws = {"coverage": 200, "real": 200, "risk": 200, "conflict": 5, "exchanges": 5}
    draws |= {"mixups": 12, "next": 3}
    for part in arguments.only.split(","):
        n_draws = arguments.draws or (2 if arguments.quick else draws.get(part, 0))
        PARTS[part](arguments.quick, n_draws)


if __name__ == "__main__":
    main()
