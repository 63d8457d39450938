"""
Grid search over views and parameters
=====================================

``GridSearchCV`` reaches the parameters of each view's transformer and of the classifier, and can
choose among sets of views.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from consilience import ViewTransformer
from consilience.datasets import load_digits_views
from consilience.margin import SMVMEDClassifier

data, y = load_digits_views(kind="features", return_X_y=True)
data, y = data[:300], (y[:300] >= 5).astype(int)
model = Pipeline(
    [
        ("scale", ViewTransformer(StandardScaler())),
        ("reduce", ViewTransformer({"pixels": PCA()}, remainder="passthrough")),
        ("classify", SMVMEDClassifier()),
    ]
)
numbers, alphas = [5, 10, 20, 40], [0.0, 0.3, 0.6, 0.9]
search = GridSearchCV(
    model,
    {"reduce__pixels__n_components": numbers, "classify__alpha": alphas},
    cv=3,
)
search.fit(data, y)
print(search.best_params_, f"{search.best_score_:.3f}")

# %%
scores = np.array(search.cv_results_["mean_test_score"]).reshape(len(alphas), len(numbers))
fig, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
image = ax.imshow(scores, cmap="viridis")
ax.set(
    xticks=range(len(numbers)),
    xticklabels=numbers,
    yticks=range(len(alphas)),
    yticklabels=alphas,
    xlabel="components of the pixels",
    ylabel="agreement α",
)
fig.colorbar(image, label="accuracy")
plt.show()
