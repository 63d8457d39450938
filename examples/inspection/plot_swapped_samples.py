"""
Swapped samples
===============

Tubes get swapped. ``find_mismatched_samples`` predicts each view from the others, for samples left
out, and names the samples whose views do not belong together, at an estimated false discovery rate.
"""

import matplotlib.pyplot as plt
import numpy as np

from consilience.trust import find_mismatched_samples

rng = np.random.default_rng(0)
n = 200
latent = rng.normal(size=(n, 10))  # what both laboratories see of a patient
source = np.arange(n)  # the patient whose tube the second laboratory measured
swapped = rng.permutation(n)[:12]
source[swapped] = np.roll(swapped, 1)
rna = latent @ rng.normal(size=(10, 40)) + rng.normal(size=(n, 40))
protein = latent[source] @ rng.normal(size=(10, 20)) + rng.normal(size=(n, 20))

result = find_mismatched_samples({"rna": rna, "protein": protein}, fdr=0.1)
is_swapped = source != np.arange(n)
print(
    f"{len(result.suspects)} suspects, {is_swapped[result.suspects].sum()} of 12 swaps among them"
)

# %%
# Suspects are candidates for a check of the laboratory book, not for deletion.
order = np.argsort(-result.probability)[:40]
fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
colours = np.where(is_swapped[order], "tab:red", "lightgrey")
ax.bar(np.arange(len(order)), result.probability[order], color=colours)
ax.scatter([], [], color="tab:red", marker="s", label="swapped")
ax.set(xlabel="sample, the most suspicious first", ylabel="probability of a mismatch")
ax.legend()
plt.show()
