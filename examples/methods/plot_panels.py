"""
A panel of columns for each view
================================

Views with more columns than samples, and few columns that matter: sparse methods choose a panel for
each view. The path of the penalty shows what a smaller panel costs.
"""

import matplotlib.pyplot as plt

from consilience.datasets import make_multiview_biomarkers
from consilience.sparse import BlockSPLSDAClassifier, SparseGroupLogisticClassifier

problem = make_multiview_biomarkers(300, n_features=[150, 300], random_state=0)
train, test = problem.data[:150], problem.data[150:]
y_train, y_test = problem.target[:150], problem.target[150:]


def panel_size(model):
    return sum(len(columns) for columns in model.selected_.values())


# %%
# Sparse group lasso along its penalty, and DIABLO along the number of columns that it keeps.
curves = {
    "sparse group lasso": [
        SparseGroupLogisticClassifier(penalty, l1_ratio=0.95).fit(train, y_train)
        for penalty in (0.25, 0.2, 0.15, 0.1, 0.07, 0.05)
    ],
    "block sparse PLS-DA": [
        BlockSPLSDAClassifier(1, keep=keep).fit(train, y_train) for keep in (2, 5, 10, 20, 40)
    ],
}
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, models in curves.items():
    sizes = [panel_size(model) for model in models]
    ax.plot(sizes, [model.score(test, y_test) for model in models], marker="o", label=name)
ax.set(xlabel="columns in the panels of both views", ylabel="accuracy of other samples")
ax.legend()
plt.show()
