"""
A figure in the manner of a paper
=================================

Goyal et al. (2018) draw accuracy against the number of labelled rows for their two-level vote and
its competitors, on quarters of MNIST images. The same figure on the bundled digits, one class
against the rest, balanced training rows. The suites ``mwmvc2-curves`` and ``mwmvc2-table1`` run it
on the paper's data.
"""

import matplotlib.pyplot as plt
import numpy as np

from consilience.datasets import load_digits_views
from consilience.methods import METHODS

data, labels = load_digits_views(return_X_y=True)
names = ["MwMvC2", "MV-MV", "Concat", "Mono"]
sizes, n_draws = [20, 40, 80, 160], 3
curves = {name: np.zeros((n_draws, len(sizes))) for name in names}
for draw in range(n_draws):
    rng = np.random.default_rng(draw)
    y = (labels == draw).astype(int)
    ones, zeros = rng.permutation(np.flatnonzero(y)), rng.permutation(np.flatnonzero(y == 0))
    test = np.concatenate([ones[80:], zeros[80:880]])
    for i, size in enumerate(sizes):
        train = np.concatenate([ones[: size // 2], zeros[: size // 2]])
        for name in names:
            model = METHODS[name].build(0).fit(data[train], y[train])
            curves[name][draw, i] = model.score(data[test], y[test])

# %%
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, scores in curves.items():
    error = scores.std(axis=0, ddof=1) / np.sqrt(n_draws)
    ax.errorbar(sizes, scores.mean(axis=0), error, marker="o", capsize=3, label=name)
ax.set(xlabel="labelled rows, balanced", ylabel="accuracy", xscale="log")
ax.set_xticks(sizes, labels=map(str, sizes))
ax.minorticks_off()
ax.legend()
plt.show()
