"""
Are probabilities meant?
========================

The default fits its probabilities on rows left out. Margin methods have none of their own;
scikit-learn's ``CalibratedClassifierCV`` adds them, and takes several views like any other X.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.metrics import brier_score_loss
from sklearn.naive_bayes import GaussianNB

from consilience import ConsilienceClassifier
from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier
from consilience.margin import SMVMEDClassifier

data, y = make_multiview_classification(
    2000, n_views=3, n_features=12, strength=1.5, redundancy=0.6, label_noise=0.05, random_state=0
)
train, test, y_train, y_test = data[:400], data[400:], y[:400], y[400:]
models = {
    "Consilience": ConsilienceClassifier(n_estimators=50, random_state=0),
    "SMVMED, calibrated": CalibratedClassifierCV(SMVMEDClassifier(), cv=3),
    "vote of naive Bayes": LateFusionClassifier(GaussianNB()),
}
fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
for name, model in models.items():
    probabilities = model.fit(train, y_train).predict_proba(test)[:, 1]
    brier = brier_score_loss(y_test, probabilities)
    label = f"{name}: Brier {brier:.3f}"
    CalibrationDisplay.from_predictions(
        y_test, probabilities, n_bins=10, strategy="quantile", ax=ax, name=label
    )

# %%
# A mean of overconfident views can be underconfident or overconfident; it is right by luck only.
plt.show()
