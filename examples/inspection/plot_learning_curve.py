"""
Would more samples help?
========================

scikit-learn's learning curves take several views. Where the curves are still rising, more labels
pay; where they are flat, another view might.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import ShuffleSplit, learning_curve

from consilience import ConsilienceClassifier
from consilience.datasets import make_multiview_classification
from consilience.fusion import EarlyFusionClassifier

data, y = make_multiview_classification(
    700, n_views=3, n_features=20, n_classes=3, strength=2.0, random_state=0
)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, model in {
    "Consilience": ConsilienceClassifier(n_estimators=30, random_state=0),
    "forest on all columns": EarlyFusionClassifier(RandomForestClassifier(50, random_state=0)),
}.items():
    sizes, _, scores = learning_curve(
        model,
        data,
        y,
        train_sizes=np.array([30, 60, 120, 240]),
        cv=ShuffleSplit(3, test_size=400, random_state=0),
    )
    ax.errorbar(sizes, scores.mean(axis=1), scores.std(axis=1), marker="o", capsize=3, label=name)
ax.set(xlabel="training rows", ylabel="accuracy (mean and deviation over splits)")
ax.set_xscale("log")
ax.legend()
plt.show()
