"""
Save, sign, load
================

Model files contain no code, and nothing but known types is loaded. A signature shows who wrote a
file; a checksum only shows damage.
"""

import secrets
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from consilience import ConsilienceClassifier
from consilience.datasets import load_digits_views
from consilience.io import ModelFileError, load, save
from consilience.vote import MwMvC2Classifier

data, y = load_digits_views(return_X_y=True)
folder = Path(tempfile.mkdtemp())
models = {
    "Consilience": ConsilienceClassifier(n_estimators=30, random_state=0),
    "MwMvC2": MwMvC2Classifier(random_state=0),
}
sizes = {}
for name, model in models.items():
    path = folder / f"{name}.skops"
    save(model.fit(data[:200], y[:200]), path)
    loaded = load(path)
    assert np.array_equal(loaded.predict(data[200:300]), model.predict(data[200:300]))
    sizes[name] = path.stat().st_size / 1e6

# %%
# With a secret key, only files that were signed with the same key are accepted.
key = secrets.token_bytes(32)
save(model, folder / "signed.skops", key=key)
print(type(load(folder / "signed.skops", key=key)).__name__)
try:
    load(folder / "signed.skops", key=secrets.token_bytes(32))
except ModelFileError as error:
    print(str(error).replace(str(folder), "…"))

# %%
fig, ax = plt.subplots(figsize=(6, 2), layout="constrained")
ax.barh(list(sizes), list(sizes.values()))
ax.set(xlabel="megabytes")
plt.show()
