"""
Parts of images as views
========================

Views need not come from different sources. Quarters of an image are weak views; votes and boosting
combine them, and the weights say where the digits differ.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from consilience.boosting import MuMBoClassifier
from consilience.datasets import load_digits_views
from consilience.fusion import BestViewClassifier
from consilience.vote import MwMvC2Classifier

data, y = load_digits_views(return_X_y=True)
train, test, y_train, y_test = train_test_split(data, y, train_size=400, random_state=0, stratify=y)

models = {
    "best quarter": BestViewClassifier(random_state=0),
    "vote": MwMvC2Classifier(random_state=0),
    "boosting": MuMBoClassifier(n_estimators=60, random_state=0),
}
scores = {name: model.fit(train, y_train).score(test, y_test) for name, model in models.items()}
print(scores)

# %%
# What each quarter contributes to the boosted vote, over the mean image.
weights = models["boosting"].view_weights_.reshape(2, 2)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
axes[0].imshow(load_digits().images.mean(axis=0), cmap="Greys")
for (row, column), weight in np.ndenumerate(weights):
    axes[0].text(
        4 * column + 1.5, 4 * row + 1.5, f"{weight:.2f}", ha="center", color="tab:red", fontsize=14
    )
axes[0].axhline(3.5, color="tab:red")
axes[0].axvline(3.5, color="tab:red")
axes[0].set(xticks=[], yticks=[], title="shares of the decision")
axes[1].barh(list(scores), list(scores.values()))
axes[1].set(xlabel="accuracy", xlim=(0, 1))
plt.show()
