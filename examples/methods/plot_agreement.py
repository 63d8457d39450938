"""
How much should views agree?
============================

SMVMED trades margins against their agreement: α = 0 gives independent machines, α close to 1 forces
both views to the same slacks. Two good views agree anyway, and α hardly matters; beside a view of
noise, forced agreement costs a lot.
"""

import matplotlib.pyplot as plt
import numpy as np

from consilience.datasets import make_multiview_classification
from consilience.margin import SMVMEDClassifier, SMVMEDClassifierCV

alphas = [0.0, 0.3, 0.6, 0.8, 0.9, 0.95]
problems = {"two good views": [2.0, 2.0], "one of them is noise": [2.0, 0.0]}
n_draws = 5
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, strength in problems.items():
    curve = np.zeros(len(alphas))
    for seed in range(n_draws):
        data, y = make_multiview_classification(
            660, n_views=2, n_features=20, strength=strength, redundancy=0.2, random_state=seed
        )
        for i, alpha in enumerate(alphas):
            model = SMVMEDClassifier(c=1.0, alpha=alpha).fit(data[:60], y[:60])
            curve[i] += model.score(data[60:], y[60:]) / n_draws
    ax.plot(alphas, curve, marker="o", label=name)
ax.set(xlabel="α", ylabel="accuracy of the mean of both views")
ax.legend()

# %%
# Cross-validation along a warm path chooses c and α.
chosen = SMVMEDClassifierCV(alphas=(0, 0.5, 0.9), cs=(0.5, 1, 2, 4), cv=3).fit(data[:200], y[:200])
print(f"c = {chosen.c_}, alpha = {chosen.alpha_}")
plt.show()
