"""
Precomputed kernels and distances
=================================

Kernels of strings, graphs or alignments come as matrices. ``kinds=`` says so, ``sample_ids=``
names the samples, and cross-validation picks the columns of the training samples by itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import cross_val_score

from consilience import ConsilienceClassifier, MultiViewData
from consilience.kernel import MKLClassifier

# %%
# Sequences of two families, which differ in the frequency of pairs of letters and in length.
rng = np.random.default_rng(0)
LETTERS = np.array(list("ACGT"))
n = 120
family = rng.integers(0, 2, n)


def draw_sequence(k):
    rich = [[0.35, 0.15, 0.15, 0.35], [0.22, 0.28, 0.28, 0.22]][k]
    return "".join(rng.choice(LETTERS, size=rng.poisson(40 + 6 * k), p=rich))


sequences = [draw_sequence(k) for k in family]


def spectrum(sequence, length=2):
    """Counts of all substrings of a length."""
    counts = {}
    for start in range(len(sequence) - length + 1):
        word = sequence[start : start + length]
        counts[word] = counts.get(word, 0) + 1
    return counts


counts = [spectrum(sequence) for sequence in sequences]
kernel = np.array([[sum(a[w] * b.get(w, 0) for w in a) for b in counts] for a in counts], float)
kernel /= np.sqrt(np.outer(np.diag(kernel), np.diag(kernel)))
lengths = np.array([[len(sequence)] for sequence in sequences], dtype=float)
distance = euclidean_distances(lengths, squared=True)
noise = rng.normal(size=(n, 5))

# %%
# Kernel, distance and plain columns side by side.
data = MultiViewData(
    {"spectrum": kernel, "length": distance, "noise": noise},
    kinds={"spectrum": "kernel", "length": "distance"},
    sample_ids=[f"seq{i}" for i in range(n)],
)
print(data)
for model in (MKLClassifier(C=1.0), ConsilienceClassifier(n_estimators=50, random_state=0)):
    scores = cross_val_score(model, data, family, cv=4)
    print(f"{type(model).__name__}: {scores.mean():.2f}")

# %%
weights = MKLClassifier(C=1.0).fit(data, family).view_weights_
order = np.argsort(family, kind="stable")
fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
axes[0].imshow(kernel[np.ix_(order, order)])
axes[0].set(title="spectrum (kernel)", xticks=[], yticks=[])
axes[1].imshow(distance[np.ix_(order, order)])
axes[1].set(title="length (distance)", xticks=[], yticks=[])
axes[2].barh(data.view_names, weights)
axes[2].set(title="weights of the kernels", xlim=(0, 1))
plt.show()
