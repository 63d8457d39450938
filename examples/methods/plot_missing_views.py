"""
As views go missing
===================

The same views are hidden in training and test rows, more and more of them. Methods that predict
from the views that a row has lose less than the concatenation, in which a missing view is a block
of empty cells.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from consilience import ConsilienceClassifier, MultiViewData
from consilience.datasets import load_digits_views
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier
from consilience.landmark import MVLSVMClassifier

complete, y = load_digits_views(kind="features", return_X_y=True)
rng = np.random.default_rng(0)
rows = rng.permutation(len(y))[:700]
complete, y = complete[rows], y[rows]

trees = ExtraTreesClassifier(50, random_state=0)
models = {
    "Consilience": ConsilienceClassifier(n_estimators=30, random_state=0),
    "MVL-SVM": MVLSVMClassifier(20, random_state=0),
    "late fusion of forests": LateFusionClassifier(trees),
    "early fusion of forests": EarlyFusionClassifier(trees),
}

rates = [0.0, 0.3, 0.6]
curves = {name: [] for name in models}
for rate in rates:
    present = rng.random((len(y), complete.n_views)) >= rate
    present[np.arange(len(y)), rng.integers(0, complete.n_views, len(y))] = True
    data = MultiViewData(dict(complete.items()), present=present)
    for name, model in models.items():
        curves[name].append(model.fit(data[:200], y[:200]).score(data[200:], y[200:]))

# %%
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, curve in curves.items():
    ax.plot(rates, curve, marker="o", label=name)
ax.set(xlabel="share of missing views", ylabel="accuracy with 200 training rows")
ax.legend()
plt.show()
