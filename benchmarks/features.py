"""Importance and selection of features: ground truth, false discoveries, panels, and time.

python benchmarks/features.py [recovery] [fdr] [speed] [panels] [--draws N] [--first SEED]
    [--widths 50,2000,20000] [--fdr-draws N] [--quick]

Without a name, all parts are run. The method was chosen by draws 0 to 2, so --first is 3. Results
are printed as they come, one line for each draw, so that a run that is stopped is not lost;
docs/results/features.md holds them.
"""

import sys
import time
import warnings

import numpy as np
from _feature_rankings import f_test, forest_rankings
from _timing import report
from sklearn.metrics import roc_auc_score

from consilience import ConsilienceClassifier
from consilience.boosting import MuMBoClassifier
from consilience.datasets import make_multiview_biomarkers
from consilience.fusion import LateFusionClassifier
from consilience.inspection import feature_importance, select_features

SCENARIOS = {
    "shifts": {"n_informative": 10, "effect": 0.8},
    "weak shifts": {"n_informative": 30, "effect": 0.5},
    "blocks": {"n_informative": 5, "effect": 0.8, "block_size": 4},
    "copies": {"n_informative": 10, "effect": 0.8, "n_copies": 10},
    "interactions": {"n_informative": 10, "effect": 0.8, "n_interactions": 3},
    "label noise": {"n_informative": 10, "effect": 1.0, "label_noise": 0.15},
}
WIDTHS = {50: [50, 50], 2000: [50, 2000], 20_000: [50, 2000, 20_000]}


def argument(name, default):
    return type(default)(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def truth(problem):
    return np.concatenate(list(problem.informative.values()))


def recover(scenario, n, width, seed, model=None):
    """Area under the ROC curve of each ranking of the features."""
    problem = make_multiview_biomarkers(
        n, n_features=WIDTHS[width], random_state=seed, **SCENARIOS[scenario]
    )
    y_true, X = truth(problem), problem.data.to_array()
    model = ConsilienceClassifier(random_state=seed) if model is None else model
    ours = feature_importance(model, problem.data, problem.target).importance
    rankings = {"ours": ours, "F test": f_test(X, problem.target)}
    rankings |= forest_rankings(X, problem.target, seed)
    return {name: roc_auc_score(y_true, values) for name, values in rankings.items()}


def recovery(settings, seeds):
    """Areas by setting and draw; the cheap settings first, and all of them before a second draw."""
    table = {}
    for seed in seeds:
        for scenario, n, width in settings:
            areas = recover(scenario, n, width, seed)
            table.setdefault((scenario, n, width), []).append(areas)
            values = " | ".join(f"{name} {value:.3f}" for name, value in areas.items())
            print(f"recovery | {scenario} | {n} | {width} | {seed} | {values}", flush=True)
    summarise(table)


def summarise(table):
    """Share of settings in which ours is ahead of each other, by the mean over the draws."""
    mean = {
        key: {name: np.mean([draw[name] for draw in draws]) for name in draws[0]}
        for key, draws in table.items()
    }
    for other in next(iter(mean.values())):
        if other != "ours":
            ahead = [row["ours"] >= row[other] for row in mean.values()]
            print(f"at least as good as {other} in {np.mean(ahead):.0%} of {len(ahead)} settings")
    shifts = [row for key, row in mean.items() if "shifts" in key[0]]
    holds = [row["ours"] >= min(0.95, row["F test"] - 0.02) for row in shifts]
    print(f"independent shifts: {sum(holds)} of {len(holds)} reach min(.95, F test - .02)")


FDR_SETTINGS = [
    ("shifts", 100, [50, 300], 2),
    ("blocks", 100, [50, 300], 2),
    ("copies", 200, [50, 300], 3),
    ("label noise", 200, [50, 300], 2),
]


def false_discoveries(name, model, n_draws, method="agreement", fdr=0.1):
    """False discovery rate and power with signal; share of draws with selections without any."""
    rates, powers, empty = [], [], []
    for seed in range(n_draws):
        scenario, n, widths, n_classes = FDR_SETTINGS[seed % len(FDR_SETTINGS)]
        problem = make_multiview_biomarkers(
            n, n_features=widths, n_classes=n_classes, random_state=1000 + seed,
            **SCENARIOS[scenario],
        )  # fmt: skip
        y_true = truth(problem)
        options = {"fdr": fdr, "method": method, "n_pairs": 0}
        mask = select_features(model, problem.data, problem.target, **options).mask_
        rates.append((mask & ~y_true).sum() / max(mask.sum(), 1))
        powers.append((mask & y_true).sum() / y_true.sum())
        shuffled = np.random.RandomState(seed).permutation(problem.target)
        empty.append(not select_features(model, problem.data, shuffled, **options).mask_.any())
        if seed % 10 == 9 or seed == n_draws - 1:
            print(
                f"fdr | {name} | {method} | draws {seed + 1} | rate {np.mean(rates):.4f} "
                f"(se {np.std(rates) / np.sqrt(len(rates)):.4f}) | power {np.mean(powers):.3f} | "
                f"nothing selected with shuffled labels {np.mean(empty):.3f}",
                flush=True,
            )


def speed(n, widths, repeat):
    """Processor time of the importance in units of one fit."""
    problem = make_multiview_biomarkers(n, n_features=widths, n_informative=20, random_state=0)
    model = ConsilienceClassifier(random_state=0)
    fits, importances = [], []
    for _ in range(repeat):
        start = time.process_time()
        model.fit(problem.data, problem.target)
        fits.append(time.process_time() - start)
        start = time.process_time()
        feature_importance(model, problem.data, problem.target)
        importances.append(time.process_time() - start)
    work = f"importance, {n} rows, {' + '.join(map(str, widths))} columns"
    report(work, min(importances), min(fits), "at least 0.2x (5 fits)")


def main():
    quick = "--quick" in sys.argv
    warnings.simplefilter("ignore")
    parts = {"recovery", "fdr", "speed", "panels"} & set(sys.argv)
    parts = parts or {"recovery", "fdr", "speed", "panels"}
    n_draws = argument("--draws", 1 if quick else 3)
    if "speed" in parts:
        speed(*((60, [200, 50], 1) if quick else (300, [20_000, 2000, 200], 2)))
    if "recovery" in parts:
        settings = [
            (scenario, n, width)
            for width in map(int, argument("--widths", "50,2000,20000").split(","))
            for n in (100, 300)
            for scenario in SCENARIOS
        ]
        first = argument("--first", 3)
        recovery(settings[:1] if quick else settings, range(first, first + n_draws))
    if "fdr" in parts:
        n_fdr = 2 if quick else argument("--fdr-draws", 120)
        models = {"late fusion": (LateFusionClassifier(), "agreement")}
        if not quick:
            models |= {
                "default": (ConsilienceClassifier(50, random_state=0), "agreement"),
                "late fusion, copies": (LateFusionClassifier(), "copies"),
                "boosting": (MuMBoClassifier(n_estimators=20, random_state=0), "agreement"),
            }
        for name, (model, method) in models.items():
            false_discoveries(name, model, n_fdr, method)
    if "panels" in parts and not quick:
        from _feature_panels import panels

        panels()


if __name__ == "__main__":
    main()
