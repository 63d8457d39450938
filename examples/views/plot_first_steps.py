"""
First steps
===========

Five representations of handwritten digits are the views. The default classifier takes them as they
are, says what its decisions rest on, and still predicts when views are missing.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split

from consilience import ConsilienceClassifier
from consilience.datasets import load_digits_views

digits = load_digits_views(kind="features")
print(digits.data)

# %%
# ``MultiViewData`` is split like an array.
train, test, y_train, y_test = train_test_split(
    digits.data, digits.target, train_size=200, random_state=0, stratify=digits.target
)
model = ConsilienceClassifier(random_state=0).fit(train, y_train)
print(f"accuracy with {len(train)} labelled images: {model.score(test, y_test):.3f}")
print(model.explain())

# %%
# Views that are left out count as missing. Nothing is trained again.
accuracy = {"all views": model.score(test, y_test)}
for name in test.view_names:
    accuracy[f"only {name}"] = model.score(test.select([name]), y_test)

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
axes[0].barh(list(accuracy), list(accuracy.values()))
axes[0].invert_yaxis()
axes[0].set(xlabel="accuracy", xlim=(0, 1))
ConfusionMatrixDisplay.from_estimator(model, test, y_test, ax=axes[1], colorbar=False)
plt.show()
