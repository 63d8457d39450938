"""
Which features?
===============

Two views with few informative features each, some of which occur in both. How well the features'
contributions agree with labels of samples left out says which of them matter, with q-values, and a
selection at a false discovery rate says how stable it is.
"""

import matplotlib.pyplot as plt

from consilience import ConsilienceClassifier
from consilience.datasets import make_multiview_biomarkers
from consilience.inspection import (
    FeatureHeatmapDisplay,
    FeatureNetworkDisplay,
    FeatureVolcanoDisplay,
    explain_sample,
    feature_clusters,
    select_features,
)

problem = make_multiview_biomarkers(
    120, n_features=[40, 150], n_informative=8, n_copies=4, random_state=0
)
data, y = problem.data, problem.target

# %%
# The frequency is that among models fitted on halves of the samples.
model = ConsilienceClassifier(n_estimators=50, random_state=0)
selection = select_features(model, data, y, fdr=0.1, n_pairs=4)
print(selection)
for view, features in selection.selected_.items():
    print(view, "true:", problem.informative[view][features].tolist())

# %%
# The most important features of each view; darker bars are significant in more folds.
result = selection.importance_
result.plot(8)

# %%
# Effects against q-values, values by class, and correlations across the views.
fig, axes = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
FeatureVolcanoDisplay.from_result(result, ax=axes[0])
FeatureHeatmapDisplay.from_result(result, data, y, k=12, ax=axes[1])
FeatureNetworkDisplay.from_result(result, data, k=8, ax=axes[2])
plt.show()

# %%
# Features that say the same form a cluster, represented by the most important one.
print(feature_clusters(result, data, k=12).to_frame())

# %%
# One sample: contributions of its views and features, and what if a view were missing.
model.fit(data[:100], y[:100])
print(explain_sample(model, data[[110]]))
