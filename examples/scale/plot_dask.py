"""
Dask arrays
===========

Views may be dask arrays. Without a cluster their blocks are read one after the other; with a
``distributed.Client`` they stay on the workers, and only sums travel. Predictions are lazy:
nothing is computed before ``compute()``.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from consilience import MultiViewData
from consilience.datasets import make_multiview_classification
from consilience.landmark import MVLSVMClassifier

in_memory, y = make_multiview_classification(
    6000, n_views=3, n_features=10, strength=1.5, random_state=0
)
lazy_views = {name: da.from_array(view, chunks=(1000, -1)) for name, view in in_memory.items()}
data = MultiViewData(lazy_views)
print(data)

# %%
train, test = data[:4000], data[4000:]
model = MVLSVMClassifier(20, random_state=0).fit(train, da.from_array(y[:4000], chunks=1000))
lazy = model.decision_function(test)
print(lazy)

# %%
scores = lazy.compute()
accuracy = np.mean((scores > 0) == y[4000:])
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for k in (0, 1):
    ax.hist(scores[y[4000:] == k], bins=40, alpha=0.6, label=f"class {k}")
ax.set(xlabel="decision function", ylabel="samples", title=f"accuracy {accuracy:.2f}")
ax.legend()
plt.show()
