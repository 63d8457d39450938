"""Panels of features on real data: stability, accuracy with the panel alone, known markers."""

import os
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from consilience import ConsilienceClassifier, MultiViewData
from consilience.datasets import fetch_breast_tcga, fetch_nutrimouse
from consilience.inspection import ViewFeatureSelector, feature_importance

# the features of a published DIABLO analysis of these data (mixOmics) with a stability of 1
DIABLO_MARKERS = {
    "hsa-mir-130b", "hsa-mir-17", "hsa-mir-505", "hsa-mir-590", "KDM4B", "ZNF552", "ER-alpha",
    "GATA3", "c-Kit", "EGFR_pY1068",
}  # fmt: skip
PANEL = 10  # features of each view
N_SUBSAMPLES = 5


def rosmap():
    """Three views of 351 samples, if the file is there; its columns have no names."""
    home = os.environ.get("CONSILIENCE_DATA", "")
    path = Path(home) / "more" / "rosmap.npz"
    if not path.exists():
        return None
    stored = np.load(path)
    names = ("mRNA", "methylation", "miRNA")
    return MultiViewData({name: stored[f"v{v}"] for v, name in enumerate(names)}), stored["y"], {}


def bunch(fetched):
    return fetched.data, np.asarray(fetched.target), fetched.get("feature_names", {})


def nogueira(masks):
    """Stability of selections (M x d), 1 if they agree and 0 if they agree by chance.

    S. Nogueira, K. Sechidis, G. Brown, "On the stability of feature selection algorithms", JMLR 18,
    2018, equation 4.
    """
    masks = np.asarray(masks, dtype=float)
    n, d = masks.shape
    share, size = masks.mean(axis=0), masks.sum(axis=1).mean()
    variance = n / (n - 1) * share * (1 - share)
    return 1 - variance.mean() / (size / d * (1 - size / d))


def subsample_masks(model, data, y):
    """Panels from random 80 % of the rows of each class."""
    for seed in range(N_SUBSAMPLES):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        rows, _ = next(folds.split(np.zeros(len(y)), y))
        selector = ViewFeatureSelector(clone(model), k=PANEL).fit(data[rows], y[rows])
        yield np.concatenate(list(selector.support_.values()))


def panels(names=("nutrimouse", "breast-tcga", "rosmap"), n_trees=50):
    """One block of lines for each data set."""
    loaders = {
        "nutrimouse": lambda: bunch(fetch_nutrimouse()),
        "breast-tcga": lambda: bunch(fetch_breast_tcga()),
        "rosmap": rosmap,
    }
    for name in names:
        loaded = loaders[name]()
        if loaded is None:
            print(f"panels | {name} | not available")
            continue
        data, y, feature_names = loaded
        model = ConsilienceClassifier(n_trees, random_state=0)
        result = feature_importance(model, data, y)
        print(f"panels | {name} | {dict(data.widths)} | {(result.q_value <= 0.05).sum()} at 5 %")
        best = result.top(PANEL, per_view=True)

        def title(view, feature, names=feature_names):
            return str(names[view][feature]) if view in names else str(feature)

        for view in dict.fromkeys(best.view.tolist()):
            own = best.take(best.view == view)
            titles = ", ".join(title(view, feature) for feature in own.feature)
            print(f"panels | {name} | {view} | {titles}", flush=True)
        known = DIABLO_MARKERS & {str(f) for own in feature_names.values() for f in own}
        if known:
            ours = known & set(map(title, best.view, best.feature))
            print(f"panels | {name} | markers {len(ours)} of {len(known)}: {sorted(ours)}")
        masks = list(subsample_masks(model, data, y))
        print(f"panels | {name} | Nogueira's stability {nogueira(masks):.3f}", flush=True)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        pipeline = make_pipeline(ViewFeatureSelector(clone(model), k=PANEL), clone(model))
        for text, estimator in (("all features", model), ("panel alone", pipeline)):
            scores = cross_val_score(estimator, data, y, cv=folds)
            print(f"panels | {name} | accuracy with {text} {scores.mean():.4f}", flush=True)
