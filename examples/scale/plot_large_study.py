"""
A study on a cluster
====================

Which method is best on many rows, and does it pay to learn from all of them? Here a study of
three steps is scaled down to run in seconds: methods are compared on a part of the rows, on the
workers of a Dask cluster; the best one is fitted on all rows, which never are in one place; its
predictions are made where the rows are.

At full size only three things change: the address of the scheduler, the number of rows, and where
the blocks come from. ``consilience compare a=a.parquet b=b.parquet --target y --on id
--scheduler tcp://scheduler:8786`` runs the first step from a terminal, and the workers read the
files themselves if they can reach them.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from consilience import ConsilienceClassifier, MultiViewData, compare
from consilience.fusion import LateFusionClassifier
from distributed import Client, LocalCluster

N_BLOCKS, BLOCK_ROWS = 6, 400  # 1000 blocks of 100 000 rows at full size
WIDTHS = {"sensors": 8, "log": 5}


# %%
# A block is made from its number, as if a worker read it from a file.
def make_block(number, name):
    rng = np.random.default_rng(number)
    y = rng.integers(0, 3, BLOCK_ROWS)
    views = {
        "sensors": rng.normal(size=(BLOCK_ROWS, 8)) + (y == 1)[:, None],
        "log": rng.normal(size=(BLOCK_ROWS, 5)) * (1.0 + (y == 2)[:, None]),
    }
    return y if name == "y" else views[name]


def lazy_view(name):
    chunks = ((BLOCK_ROWS,) * N_BLOCKS, (WIDTHS[name],))
    return da.map_blocks(
        lambda block_id: make_block(block_id[0], name), chunks=chunks, dtype=np.float64
    )


data = MultiViewData({name: lazy_view(name) for name in WIDTHS})
y = da.map_blocks(
    lambda block_id: make_block(block_id[0], "y"),
    chunks=((BLOCK_ROWS,) * N_BLOCKS,),
    dtype=np.int64,
)

# %%
# The cluster of the example is in this process.
cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
)
client = Client(cluster)

# %%
# First the methods are compared on a few rows; each fit runs on a worker.
part, labels = data[:200].compute(), y[:200].compute()
methods = {
    "default": ConsilienceClassifier(10),
    "late fusion": LateFusionClassifier(),
}
result = compare(part, labels, methods=methods, cv=2, repeats=1, client=client)
print(result.ranking[["method", "accuracy"]])

# %%
# Then the same classifiers learn from more and more blocks. Blocks stay on the workers; the last
# one is left out for the scores.
test, y_test = data[-BLOCK_ROWS:].compute(), y[-BLOCK_ROWS:].compute()
sizes = [1, 2, N_BLOCKS - 1]
scores = {name: [] for name in methods}
for name, model in methods.items():
    for n_blocks in sizes:
        rows = slice(0, n_blocks * BLOCK_ROWS)
        model.set_params(random_state=0).fit(data[rows], y[rows])
        scores[name].append(model.score(test, y_test))

# %%
# Predictions are dask arrays: nothing is computed before it is asked for.
predicted = methods["default"].predict(data)
print(predicted)
first = slice(0, BLOCK_ROWS)
agreement = np.mean(predicted[first].compute() == y[first].compute())
print(f"agreement on the first block: {agreement:.2f}")
client.close()
cluster.close()

fig, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
for name, values in scores.items():
    ax.plot([BLOCK_ROWS * n for n in sizes], values, marker="o", label=name)
ax.set(xlabel="rows", ylabel="accuracy on rows left out", xscale="log")
ax.legend()
plt.show()
