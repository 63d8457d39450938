"""
Biomarkers in two tables
========================

``feature_importance`` asks how far a column agrees with the labels: by its contributions to the
model's scores of rows that were left out, by itself, and in a pair with another column.
``select_features`` selects at a false discovery rate. Here it is known which columns carry the
signal: four by themselves, and six in pairs of which neither column says anything alone.
"""

import matplotlib.pyplot as plt

from consilience.datasets import make_multiview_biomarkers
from consilience.fusion import LateFusionClassifier
from consilience.inspection import feature_importance, select_features

problem = make_multiview_biomarkers(
    200, n_features=[20, 40], n_informative=10, n_interactions=3, random_state=1
)
importance = feature_importance(LateFusionClassifier(), problem.data, problem.target)
print(importance)

# %%
# Columns that matter in a pair, and their partners.
for view, column, partner in zip(
    importance.view, importance.feature, importance.partner, strict=True
):
    if partner:
        print(f"{view}: {column} with {partner}")

# %%
# A panel with a bounded share of false discoveries.
selection = select_features(LateFusionClassifier(), problem.data, problem.target)
for view, columns in selection.selected_.items():
    print(view, list(columns))

# %%
display = importance.plot(8)
display.figure_.set_size_inches(9, 3.5)
plt.show()
