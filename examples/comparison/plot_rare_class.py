"""
A rare class
============

With 8 % of positive samples, always saying "no" is 92 % accurate. Precision and recall, and a
threshold of one's own, say more; so does ``class_weight``.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import PrecisionRecallDisplay, balanced_accuracy_score
from sklearn.model_selection import train_test_split

from consilience import ConsilienceClassifier
from consilience.datasets import make_multiview_classification

data, y = make_multiview_classification(
    1200, n_views=2, n_features=10, strength=2.5, class_weights=[0.92, 0.08], random_state=0
)
train, test, y_train, y_test = train_test_split(data, y, train_size=400, random_state=0, stratify=y)

# %%
# The curves hardly differ: weights move the threshold, not the ranking of the samples.
fig, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
for class_weight in (None, "balanced"):
    model = ConsilienceClassifier(n_estimators=50, class_weight=class_weight, random_state=0)
    model.fit(train, y_train)
    balanced = balanced_accuracy_score(y_test, model.predict(test))
    accuracy = model.score(test, y_test)
    print(f"class_weight={class_weight}: accuracy {accuracy:.3f}, balanced {balanced:.3f}")
    PrecisionRecallDisplay.from_estimator(model, test, y_test, ax=ax, name=f"{class_weight}")
ax.legend(title="class_weight")
plt.show()
