"""
Prediction sets
===============

A conformal classifier answers with a set of classes that contains the right one with a probability
of at least 1 − α. Where the views say little, or are missing, the sets are larger.
"""

import matplotlib.pyplot as plt
import numpy as np

from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier
from consilience.trust import ConformalClassifier

alphas = np.array([0.02, 0.05, 0.1, 0.2, 0.3])


def coverage_and_size(sets, y_test):
    """Share of the sets that contain the right class, and mean number of classes in them."""
    return sets[np.arange(len(y_test)), y_test].mean(), sets.sum(axis=1).mean()


# %%
# Coverage and size of the sets at several levels, with all views and with one of them. With few
# calibration rows the coverage of a single model varies by some points, so this is the mean of ten.
results = {"all views": [], "only view0": []}
for seed in range(10):
    data, y = make_multiview_classification(
        1000, n_views=3, n_classes=4, strength=3.0, redundancy=0.2, random_state=seed
    )
    train, test, y_train, y_test = data[:400], data[400:], y[:400], y[400:]
    model = ConformalClassifier(LateFusionClassifier(), random_state=seed).fit(train, y_train)
    for label, rows in {"all views": test, "only view0": test.select(["view0"])}.items():
        sets = [model.predict_set(rows, alpha=alpha) for alpha in alphas]
        results[label].append([coverage_and_size(s, y_test) for s in sets])

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for label, result in results.items():
    coverage, size = np.mean(result, axis=0).T
    axes[0].plot(1 - alphas, coverage, marker="o", label=label)
    axes[1].plot(1 - alphas, size, marker="o", label=label)
axes[0].plot([0.7, 1], [0.7, 1], color="grey", linestyle=":")
axes[0].set(xlabel="1 − α", ylabel="share of sets with the right class")
axes[1].set(xlabel="1 − α", ylabel="mean number of classes in a set")
axes[1].legend()
plt.show()
