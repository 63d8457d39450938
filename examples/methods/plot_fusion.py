"""
When fusion helps
=================

Late fusion averages the errors of the views. That helps as far as the views err on different
samples: the more they have in common, the less there is to gain over the best single view.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from consilience.datasets import make_multiview_classification
from consilience.fusion import (
    BestViewClassifier,
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
)

classifier = LogisticRegression()
models = {
    "best view": BestViewClassifier(classifier, cv=3),
    "early": EarlyFusionClassifier(classifier),
    "late": LateFusionClassifier(classifier),
    "stacking": StackingFusionClassifier(classifier, cv=3),
}
redundancies = [0.0, 0.3, 0.6, 1.0]
curves = {name: np.zeros(len(redundancies)) for name in models}
n_draws = 2
for i, redundancy in enumerate(redundancies):
    for seed in range(n_draws):
        data, y = make_multiview_classification(
            800, n_views=4, n_features=8, strength=1.5, redundancy=redundancy, random_state=seed
        )
        for name, model in models.items():
            score = model.fit(data[:200], y[:200]).score(data[200:], y[200:])
            curves[name][i] += score / n_draws

# %%
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, curve in curves.items():
    ax.plot(redundancies, curve, marker="o", label=name)
ax.set(xlabel="share of the variance that all views have in common", ylabel="accuracy")
ax.legend()
plt.show()
