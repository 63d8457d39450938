"""
What a view is worth
====================

Views cost money. The accuracy of every subset of views against its cost shows which combinations
are worth their price: those on the frontier. One fitted model answers for all subsets, because
views may be missing in prediction.
"""

from itertools import chain, combinations

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from consilience import ConsilienceClassifier
from consilience.datasets import load_digits_views

COSTS = {"pixels": 10, "fourier": 4, "profiles": 3, "gradients": 5, "moments": 1}

data, y = load_digits_views(kind="features", return_X_y=True)
train, test, y_train, y_test = train_test_split(
    data, y, train_size=200, test_size=400, random_state=0, stratify=y
)
model = ConsilienceClassifier(n_estimators=30, random_state=0).fit(train, y_train)

subsets = list(chain.from_iterable(combinations(COSTS, size) for size in range(1, 6)))
points = sorted(
    (sum(COSTS[name] for name in subset), model.score(test.select(subset), y_test), subset)
    for subset in subsets
)
frontier, best = [], 0.0
for cost, score, subset in points:
    if score > best:
        if frontier and frontier[-1][0] == cost:
            frontier.pop()
        frontier.append((cost, score, subset))
        best = score

# %%
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
ax.scatter([cost for cost, _, _ in points], [score for _, score, _ in points], color="lightgrey")
ax.step(
    [cost for cost, _, _ in frontier], [score for _, score, _ in frontier], where="post", marker="o"
)
for cost, score, subset in frontier:
    ax.annotate(" + ".join(subset), (cost, score), rotation=-12, va="top", fontsize=8)
    print(f"{cost:3d}  {score:.3f}  {', '.join(subset)}")
ax.set(xlabel="cost of the views", ylabel="accuracy")
plt.show()
