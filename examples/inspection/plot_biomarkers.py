"""
Biomarkers in two tables
========================

``feature_importance`` asks how far the contributions of a column agree with the labels of rows that
were left out; ``select_features`` lets each column compete with a shuffled copy, which bounds the
share of false discoveries. Here it is known which columns carry the signal.
"""

import matplotlib.pyplot as plt

from consilience.datasets import make_multiview_biomarkers
from consilience.fusion import LateFusionClassifier
from consilience.inspection import feature_importance, select_features

problem = make_multiview_biomarkers(200, n_features=[20, 40], random_state=1)
importance = feature_importance(LateFusionClassifier(), problem.data, problem.target)
print(importance)

# %%
# A panel with a bounded share of false discoveries.
selection = select_features(LateFusionClassifier(), problem.data, problem.target)
for view, columns in selection.selected_.items():
    print(view, list(columns))

# %%
display = importance.plot(8)
display.figure_.set_size_inches(9, 3.5)
plt.show()
