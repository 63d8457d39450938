"""
More rows than memory holds
===========================

``BlockSequence`` reads the data in blocks, in every pass of the solver. The model is the one that
a fit in memory would give; only the time depends on where the rows are.
"""

import matplotlib.pyplot as plt
import numpy as np

from consilience.distributed import BlockSequence
from consilience.margin import SMVMEDClassifier

# %%
# A block is made from its number, as if it were read from a file.
CENTRES = {"left": np.linspace(0, 0.6, 12), "right": np.linspace(0.4, 0, 8)}


def make_block(number, rows=2000):
    rng = np.random.default_rng(number)
    y = rng.integers(0, 2, rows)
    views = {
        name: rng.normal(size=(rows, len(centre))) + y[:, None] * centre
        for name, centre in CENTRES.items()
    }
    return views, y


def read(n_blocks):
    return lambda: (make_block(number) for number in range(n_blocks))


test, y_test = make_block(10_000)
numbers = [1, 2, 4, 8]
scores = []
for number in numbers:
    model = SMVMEDClassifier(c=0.1).fit(BlockSequence(read(number)))
    scores.append(model.score(test, y_test))

# %%
# The same rows in memory.
blocks = [make_block(number) for number in range(numbers[-1])]
together = {name: np.vstack([views[name] for views, _ in blocks]) for name in CENTRES}
in_memory = SMVMEDClassifier(c=0.1).fit(together, np.concatenate([y for _, y in blocks]))
difference = max(np.abs(in_memory.coef_[name] - model.coef_[name]).max() for name in CENTRES)
print(f"largest difference of the coefficients: {difference:.1e}")

fig, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
ax.plot([2000 * number for number in numbers], scores, marker="o")
ax.set(xlabel="rows", ylabel="accuracy", xscale="log")
plt.show()
