"""
A cross-validation report by skore
==================================

skore evaluates scikit-learn estimators and asks whether the evaluation is sound. Several views pass
through it like one matrix.
"""

import matplotlib.pyplot as plt
from skore import CrossValidationReport

from consilience.datasets import load_digits_views
from consilience.fusion import LateFusionClassifier

data, y = load_digits_views(kind="features", return_X_y=True)
report = CrossValidationReport(LateFusionClassifier(), data[:300], y[:300], splitter=3)
print(report.metrics.log_loss())

# %%
# Views that are left out count as missing, so the same report shows what each of them is worth.
losses = {"all views": report.metrics.log_loss(aggregate="mean").to_numpy().item()}
for name in data.view_names:
    alone = CrossValidationReport(
        LateFusionClassifier(), data[:300].select([name]), y[:300], splitter=3
    )
    losses[name] = alone.metrics.log_loss(aggregate="mean").to_numpy().item()

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.barh(list(losses), list(losses.values()))
ax.invert_yaxis()
ax.set(xlabel="log loss on left-out rows")
plt.show()
