"""
Two levels of weights
=====================

MωMvC² weighs voters within views, and views within the vote. The loss falls with every iteration;
whether the weights of the views should be learned as well depends on how different the views are.
"""

import matplotlib.pyplot as plt
import numpy as np

from consilience.datasets import make_multiview_classification
from consilience.vote import MwMvC2Classifier

data, y = make_multiview_classification(
    900, n_views=4, n_features=10, strength=[2.0, 1.5, 1.0, 0.0], random_state=0
)
train, test, y_train, y_test = data[:300], data[300:], y[:300], y[300:]

# %%
# The third view is weak and the fourth is noise. The linear programme of the paper puts all
# weight on a single view, which is not the best one.
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
width = 0.25
for i, kind in enumerate(["uniform", "loss", "paper"]):
    model = MwMvC2Classifier(view_weights=kind, n_iter=10, random_state=0).fit(train, y_train)
    score = model.score(test, y_test)
    print(f"{kind}: accuracy {score:.3f}")
    axes[0].plot(np.ravel(model.loss_curve_), marker=".", label=f"{kind}: accuracy {score:.2f}")
    axes[1].bar(np.arange(4) + (i - 1) * width, model.view_weights_, width, label=kind)
axes[0].set(xlabel="iteration", ylabel="logistic loss of the training rows")
axes[0].legend()
axes[1].set(xticks=range(4), xticklabels=data.view_names, ylabel="weight of the view")
axes[1].legend()
plt.show()
