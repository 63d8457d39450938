"""
Norms of kernel weights
=======================

Multiple kernel learning with p = 1 chooses few kernels, larger p spreads the weights, and "mean"
does not learn them. Here two kernels are good, one is a near copy of the first, and three are
noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from consilience import MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.kernel import MKLClassifier

base, y = make_multiview_classification(
    500, n_views=5, n_features=8, strength=[2.0, 1.5, 0, 0, 0], redundancy=0.2, random_state=0
)
rng = np.random.default_rng(0)
names = ["good", "fair", "noise1", "noise2", "noise3"]
views = {name: base[view] for name, view in zip(names, base.view_names, strict=True)}
views["copy of good"] = views["good"] + 0.1 * rng.normal(size=views["good"].shape)
data = MultiViewData(views)

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
width = 0.27
for i, norm in enumerate([1, 2, "mean"]):
    model = MKLClassifier(norm, C=1.0).fit(data[:200], y[:200])
    score = model.score(data[200:], y[200:])
    positions = np.arange(data.n_views) + (i - 1) * width
    ax.bar(positions, model.view_weights_, width, label=f"p = {norm}: accuracy {score:.2f}")
ax.set(xticks=range(data.n_views), xticklabels=data.view_names, ylabel="weight")
ax.legend()

# %%
# With p = 1 the copy and the original share a weight in a way that says nothing about either.
plt.show()
