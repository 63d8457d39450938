"""
Compare methods
===============

``compare`` fits methods on the same splits, with chance among them, and says which differences are
more than luck. The same comparison runs on files in the terminal: ``consilience compare``.
"""

import matplotlib.pyplot as plt

from consilience import compare
from consilience.datasets import make_multiview_classification

data, y = make_multiview_classification(
    200, n_views=3, n_features=[30, 10, 5], strength=[1.5, 1.2, 0.5], random_state=0
)
result = compare(
    data, y, methods=["Consilience", "Late fusion", "MKL", "Best view"], cv=3, repeats=1
)
print("\n".join(result.verdict_))

# %%
# The table is a dataframe.
print(result.ranking[["rank", "method", "accuracy", "low", "high", "p_value", "p_chance"]])

# %%
# Importance of the views for the best method, on test folds.
print(result.importance_)

# %%
# Intervals overlap more often than one would like: 200 samples are few.
result.plot()
plt.show()
