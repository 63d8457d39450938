"""
Swapped samples
===============

Tubes get swapped. If the views of a sample come from two patients of different classes, each view
on its own predicts another class. Predictions for rows left out, one view at a time, give a score
of disagreement that puts swapped samples first.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from consilience import ConsilienceClassifier, MultiViewData
from consilience.datasets import make_multiview_classification

clean, y = make_multiview_classification(
    300, n_views=2, n_features=15, n_classes=3, strength=4.0, redundancy=0.3, random_state=0
)
rng = np.random.default_rng(0)
swapped = rng.permutation(len(y))[:20]
protein = clean["view1"].copy()
protein[swapped] = protein[np.roll(swapped, 1)]
data = MultiViewData({"rna": clean["view0"], "protein": protein})
is_swapped = np.zeros(len(y), dtype=bool)
is_swapped[swapped] = True

# %%
# What each view alone says about rows that its classifier has not seen.
model = ConsilienceClassifier(n_estimators=30, random_state=0)
opinions = {
    name: cross_val_predict(model, data.select([name]), y, cv=4, method="predict_proba")
    for name in data.view_names
}
agreement = (opinions["rna"] * opinions["protein"]).sum(axis=1)
changes_class = is_swapped & (
    y != y[np.argmax(protein[:, None, 0] == clean["view1"][None, :, 0], axis=1)]
)
print(f"area under the curve, all swaps: {roc_auc_score(is_swapped, -agreement):.2f}")
print(f"swaps between classes: {roc_auc_score(changes_class, -agreement):.2f}")

# %%
# Swaps within a class cannot be seen in this way: both views still agree on the class.
order = np.argsort(agreement)
fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
colours = np.where(changes_class, "tab:red", np.where(is_swapped, "tab:orange", "lightgrey"))[order]
ax.scatter(np.arange(len(y)), agreement[order], c=colours, s=18)
for colour, label in [
    ("tab:red", "swapped between classes"),
    ("tab:orange", "swapped within a class"),
]:
    ax.scatter([], [], c=colour, label=label)
ax.set(xlabel="sample, by agreement of its views", ylabel="probability of the same class")
ax.legend()
plt.show()
