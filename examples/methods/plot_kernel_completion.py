"""
Completing a kernel
===================

Half of the samples lack one of two kernel views. ``LaplacianCompletion`` fills their rows from
samples that are similar in the other view.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from consilience import MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.kernel import LaplacianCompletion

features, y = make_multiview_classification(
    120, n_views=2, n_features=6, strength=4.0, redundancy=0.9, random_state=0
)
order = np.argsort(y, kind="stable")
kernels = {name: rbf_kernel(view[order], gamma=0.3) for name, view in features.items()}
present = np.ones((len(y), 2), dtype=bool)
present[np.random.default_rng(0).permutation(len(y))[:60], 1] = False
data = MultiViewData(kernels, present=present, kinds=dict.fromkeys(kernels, "kernel"))

filled = LaplacianCompletion().fit_transform(data)
lacks = ~present[:, 1]
true, estimate = kernels["view1"][lacks], filled["view1"][lacks]
correlation = np.corrcoef(true.ravel(), estimate.ravel())[0, 1]
print(f"correlation with the hidden values: {correlation:.2f}")

# %%
hidden = np.where(np.outer(present[:, 1], present[:, 1]), kernels["view1"], np.nan)
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
matrices = {"as measured": hidden, "completed": filled["view1"], "complete data": kernels["view1"]}
for ax, (title, matrix) in zip(axes, matrices.items(), strict=True):
    ax.imshow(matrix, vmin=0, vmax=1)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
