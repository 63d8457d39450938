"""
Boosting, round by round
========================

Each round adds a learner on one view. The curves show the test accuracy after every round, the
dots which view each learner of MuMBo is from.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from consilience.boosting import MuMBoClassifier, RShareBoostClassifier, ShareBoostClassifier
from consilience.datasets import load_digits_views
from consilience.inspection import StagedScoreDisplay

data, y = load_digits_views(return_X_y=True)
train, test, y_train, y_test = train_test_split(data, y, train_size=500, random_state=0, stratify=y)

models = {
    "MuMBo": MuMBoClassifier(n_estimators=80, max_depth=2, random_state=0),
    "ShareBoost": ShareBoostClassifier(n_estimators=80, max_depth=2, random_state=0),
    "rShareBoost": RShareBoostClassifier(n_estimators=80, max_depth=2, random_state=0),
}
# %%
# rShareBoost fits one view a round, the others all four: a quarter of the work for some accuracy.
fig, axes = plt.subplots(2, 1, figsize=(8, 6), layout="constrained", height_ratios=[2, 1])
for name, model in models.items():
    model.fit(train, y_train)
    StagedScoreDisplay.from_estimator(model, test, y_test, ax=axes[0], name=name)
mumbo = models["MuMBo"]
rounds = np.arange(1, len(mumbo.estimator_views_) + 1)
axes[1].scatter(rounds, mumbo.estimator_views_, s=60 * np.asarray(mumbo.estimator_weights_))
axes[1].set(yticks=range(data.n_views), yticklabels=data.view_names, xlabel="round of MuMBo")
plt.show()
