"""
Labels are few, samples are not
===============================

Unlabelled rows take part in a second fit with predicted labels of bounded weight. The fewer labels
there are, the more they can add.
"""

import matplotlib.pyplot as plt
import numpy as np

from consilience import ConsilienceClassifier
from consilience.datasets import load_digits_views

data, y = load_digits_views(kind="features", return_X_y=True)
n_pool, numbers, n_draws = 400, [20, 40, 80], 2
curves = np.zeros((2, len(numbers)))
for seed in range(n_draws):
    rows = np.random.default_rng(seed).permutation(len(y))
    pool, test = rows[:n_pool], rows[n_pool:900]
    for i, number in enumerate(numbers):
        partial = y[pool].copy()
        partial[number:] = -1  # the label of these rows is not known
        few = ConsilienceClassifier(n_estimators=30, random_state=0)
        few.fit(data[pool[:number]], partial[:number])
        all_rows = ConsilienceClassifier(n_estimators=30, unlabelled=-1, random_state=0)
        all_rows.fit(data[pool], partial)
        curves[0, i] += few.score(data[test], y[test]) / n_draws
        curves[1, i] += all_rows.score(data[test], y[test]) / n_draws

# %%
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(numbers, curves[0], marker="o", label="labelled rows only")
ax.plot(numbers, curves[1], marker="o", label=f"and the rest of {n_pool} rows without label")
ax.set(xlabel="labelled rows", ylabel="accuracy", xscale="log", xticks=numbers, xticklabels=numbers)
ax.minorticks_off()
ax.legend()
plt.show()
