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

data, y = make_multiview_classification(
    1000, n_views=3, n_classes=4, strength=3.0, redundancy=0.2, random_state=0
)
train, test, y_train, y_test = data[:400], data[400:], y[:400], y[400:]
model = ConformalClassifier(LateFusionClassifier(), random_state=0).fit(train, y_train)

# %%
# Coverage and size of the sets at several levels, with all views and with one of them.
alphas = np.array([0.02, 0.05, 0.1, 0.2, 0.3])
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for label, rows in {"all views": test, "only view0": test.select(["view0"])}.items():
    sets = [model.predict_set(rows, alpha=alpha) for alpha in alphas]
    coverage = [s[np.arange(len(y_test)), y_test].mean() for s in sets]
    axes[0].plot(1 - alphas, coverage, marker="o", label=label)
    axes[1].plot(1 - alphas, [s.sum(axis=1).mean() for s in sets], marker="o", label=label)
axes[0].plot([0.7, 1], [0.7, 1], color="grey", linestyle=":")
axes[0].set(xlabel="1 − α", ylabel="share of sets with the right class")
axes[1].set(xlabel="1 − α", ylabel="mean number of classes in a set")
axes[1].legend()
plt.show()
