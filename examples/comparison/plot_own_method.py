"""
A method of your own in a comparison
====================================

Any scikit-learn classifier can take part; it gets the concatenation of the views, prepared inside
the folds. A class with ``takes_multiview = True`` gets the views themselves.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import NearestCentroid

from consilience import compare
from consilience.datasets import load_digits_views


class CentroidVote(ClassifierMixin, BaseEstimator):
    """One nearest centroid for each view, majority vote."""

    takes_multiview = True

    def fit(self, X, y):
        self.members_ = {name: NearestCentroid().fit(X[name], y) for name in X.view_names}
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        votes = sum(
            (member.predict(X[name])[:, None] == self.classes_).astype(int)
            for name, member in self.members_.items()
        )
        return self.classes_[votes.argmax(axis=1)]


data, y = load_digits_views(kind="features", return_X_y=True)
result = compare(
    data[:240],
    y[:240],
    methods={
        "centroid vote": CentroidVote(),
        "boosted trees": HistGradientBoostingClassifier(max_iter=10),
        "Late fusion": "Late fusion",
    },
    cv=3,
    repeats=1,
)
print(result.ranking[["rank", "method", "accuracy", "p_value"]])

# %%
result.plot()
plt.show()
