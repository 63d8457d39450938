"""
Multi-omics tables with missing patients
========================================

Tables have a key, and not every patient is in every table. ``MultiViewData.from_tables`` joins
them; whoever is not in a table lacks that view. Dropping the incomplete patients would cost most
of the data.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from consilience import ConsilienceClassifier, MultiViewData
from consilience.datasets import make_multiview_classification

# %%
# Three tables, as they come out of three laboratories: each in its own order, each without some
# of the patients.
omics, y = make_multiview_classification(
    400, n_views=3, n_features=[60, 30, 20], strength=[2.0, 1.5, 1.5], random_state=0
)
patients = np.array([f"P{number:03d}" for number in range(len(y))])
subtype = pd.Series(np.array(["luminal", "basal"])[y], index=patients)
rng = np.random.default_rng(0)
tables = {}
for (_, matrix), name, share in zip(
    omics.items(), ["rna", "mirna", "protein"], [0.9, 0.7, 0.5], strict=True
):
    rows = rng.permutation(len(y))[: int(share * len(y))]
    columns = [f"{name}_{j}" for j in range(matrix.shape[1])]
    tables[name] = pd.DataFrame(matrix[rows], columns=columns, index=patients[rows])

data = MultiViewData.from_tables(tables)
print(data)

# %%
# ``align`` puts the labels into the order of the samples. Both models are tested on the same
# patients.
labels = data.align(subtype).to_numpy()
train, test = data[::2], data[1::2]
y_train, y_test = labels[::2], labels[1::2]
complete = train.present.all(axis=1)
print(f"{complete.sum()} of {len(train)} training patients are in all tables")

model = ConsilienceClassifier(n_estimators=100, random_state=0)
score = model.fit(train[complete], y_train[complete]).score(test, y_test)
print(f"trained on complete patients only: {score:.3f}")
score = model.fit(train, y_train).score(test, y_test)
print(f"trained on all patients: {score:.3f}")

# %%
# Who is in which table, and what each number of tables is worth.
is_correct = model.predict(test) == y_test
n_present = test.present.sum(axis=1)

fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
axes[0].imshow(data.present.T, aspect="auto", interpolation="nearest", cmap="Blues")
axes[0].set(yticks=range(3), yticklabels=data.view_names, xlabel="patient", title="present")
numbers = np.unique(n_present)
axes[1].bar(numbers, [is_correct[n_present == number].mean() for number in numbers])
axes[1].set(xticks=numbers, xlabel="tables that a patient is in", ylabel="accuracy", ylim=(0, 1))
plt.show()
