"""
Text beside a table
===================

Tickets of a help desk: a sentence, and a table with numbers, a category and empty cells.
``ViewTransformer`` turns the sentences into word counts inside the Pipeline; the table goes to the
classifier as it is.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from consilience import ConsilienceClassifier, ViewTransformer, as_multiview

# %%
# Made-up tickets; neither the words nor the table tell everything.
rng = np.random.default_rng(0)
n = 240
topic = rng.integers(0, 3, n)
NAMES = np.array(["network", "billing", "hardware"])
WORDS = [
    "wifi slow connection drops router signal",
    "invoice charged refund payment card twice",
    "screen broken battery keyboard noise hot",
]
COMMON = ["hello", "please", "help", "since", "yesterday", "my", "not", "work", "thanks"]


def write_ticket(k):
    words = [rng.choice(COMMON) for _ in range(8)]
    words += [rng.choice(WORDS[k if rng.random() < 0.6 else rng.integers(3)].split()) for _ in "ab"]
    return " ".join(rng.permutation(words))


text = np.array([write_ticket(k) for k in topic])
table = pd.DataFrame(
    {
        "minutes online": rng.gamma(2 + (topic == 0), 10, n),
        "open invoices": rng.poisson(0.3 + 1.2 * (topic == 1)),
        "device": np.where(rng.random(n) < 0.5, NAMES[topic], rng.choice(NAMES, n)),
    }
)
table.loc[rng.random(n) < 0.1, "minutes online"] = np.nan
print(text[0])
print(table.head(3))

# %%
# Strings are a view for a vectoriser; ``select`` scores each view alone.
data = as_multiview({"text": text, "table": table})
steps = ViewTransformer({"text": TfidfVectorizer()}, remainder="passthrough")
model = make_pipeline(steps, ConsilienceClassifier(n_estimators=50, random_state=0))
only_table = ConsilienceClassifier(n_estimators=50, random_state=0)
scores = {
    "text": cross_val_score(model, data.select(["text"]), NAMES[topic], cv=3).mean(),
    "table": cross_val_score(only_table, data.select(["table"]), NAMES[topic], cv=3).mean(),
    "both": cross_val_score(model, data, NAMES[topic], cv=3).mean(),
}

# %%
fig, ax = plt.subplots(figsize=(6, 2.5), layout="constrained")
ax.barh(list(scores), list(scores.values()))
ax.axvline(1 / 3, color="grey", linestyle=":")
ax.set(xlabel="accuracy (dotted: chance)", xlim=(0, 1))
plt.show()
