"""
Which views matter?
===================

Three answers to three questions: how the decision is made up (weights), what is lost if a view is
scrambled (permutation), and what each view contributes if any of the others may be missing
(Shapley values). Two views are equal but for noise, and one is noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from consilience import ConsilienceClassifier, MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.inspection import (
    ViewImportanceDisplay,
    ViewWeightsDisplay,
    view_permutation_importance,
    view_shapley,
)

base, y = make_multiview_classification(
    600, n_views=3, n_features=8, strength=[2.5, 1.5, 0.0], redundancy=0.2, random_state=0
)
rng = np.random.default_rng(0)
strong = base["view0"]
data = MultiViewData(
    {
        "strong": strong,
        "its twin": strong + 0.3 * rng.normal(size=strong.shape),
        "weak": base["view1"],
        "noise": base["view2"],
    }
)
train, test, y_train, y_test = data[:200], data[200:], y[:200], y[200:]
model = ConsilienceClassifier(n_estimators=50, random_state=0).fit(train, y_train)

# %%
# Scrambling one twin costs little, because the other one is still there. Shapley values divide
# the credit between them.
permutation = view_permutation_importance(model, test, y_test, random_state=0)
shapley = view_shapley(model, test, y_test)
fig, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
ViewWeightsDisplay.from_estimator(model, ax=axes[0])
ViewImportanceDisplay.from_result(permutation, ax=axes[1])
ViewImportanceDisplay.from_result(shapley, ax=axes[2])
print(f"sum of the Shapley values: {shapley.shapley_values.sum():.3f}")
plt.show()
