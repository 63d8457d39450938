"""
Repeated measurements
=====================

Five measurements of each patient are not five patients. Folds that divide a patient between
training and test rows recognise the patient instead of the disease; here the disease cannot be
seen at all, and the score should be chance.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score

from consilience import ConsilienceClassifier, MultiViewData

rng = np.random.default_rng(0)
n_patients, n_repeats = 40, 5
patients = np.repeat(np.arange(n_patients), n_repeats)
disease = rng.integers(0, 2, n_patients)[patients]
views = {
    name: rng.normal(size=(n_patients, 12))[patients] + 0.1 * rng.normal(size=(len(patients), 12))
    for name in ("blood", "image")
}
model = ConsilienceClassifier(n_estimators=30, random_state=0)

# %%
# Without groups, the default itself notices that rows are nearly copies of each other, and warns.
data = MultiViewData(views)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    divided = cross_val_score(model, data, disease, cv=folds)
print(str(caught[0].message))

# %%
# With groups in the container, inner folds keep them together too.
grouped = MultiViewData(views, groups=patients)
together = cross_val_score(model, grouped, disease, groups=patients, cv=GroupKFold(4))

fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.barh(["patients divided", "patients together"], [divided.mean(), together.mean()])
ax.axvline(max(disease.mean(), 1 - disease.mean()), color="grey", linestyle=":")
ax.set(xlabel="accuracy (dotted: the larger class)", xlim=(0, 1))
plt.show()
