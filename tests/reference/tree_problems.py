"""Random problems for the tree kernels: ties, constants, duplicates, zero weights, NaN, zeros."""

import os

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

FULL = int(os.environ.get("CONSILIENCE_TEST_ALL", 0))

# Tree arrays that a twin must reproduce to the last bit.
ARRAYS = ("feature", "threshold", "left", "right", "missing_left", "depth", "decision", "gain",
          "value")  # fmt: skip


def examples(full):
    """Settings with ``full`` examples, or a tenth of them."""
    return settings(max_examples=full if FULL else max(1, full // 10))


def draw_matrix(rng, n, d, n_values, share_zero, share_missing):
    """Few distinct values per feature, so that ties abound; some columns constant or repeated."""
    values = np.round(rng.normal(size=(d, n_values)), rng.integers(0, 4))
    X = np.take_along_axis(values, rng.integers(n_values, size=(d, n)), axis=1).T
    X[rng.random((n, d)) < share_zero] = 0.0
    X[:, rng.random(d) < 0.15] = 1.5
    if d > 1 and rng.random() < 0.3:
        X[:, rng.integers(d)] = -X[:, rng.integers(d)]
    X[rng.random((n, d)) < share_missing] = np.nan
    return X + 0.0


def draw_weights(rng, n, kind):
    if kind == "ones":
        return np.ones(n)
    if kind == "integers":
        return rng.integers(0, 4, size=n).astype(float)
    if kind == "wide":
        return np.exp(rng.normal(scale=8, size=n))
    return np.where(rng.random(n) < 0.2, 0.0, rng.random(n))


@st.composite
def problems(draw, costs=True):
    """X, codes, weight or costs, rows and the parameters of a tree."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 19))
    n_classes = draw(st.integers(1, 20))
    X = draw_matrix(
        rng,
        n,
        d,
        draw(st.integers(1, 12)),
        draw(st.sampled_from([0.0, 0.5, 0.9])),
        draw(st.sampled_from([0.0, 0.2])),
    )
    if draw(st.booleans()):
        X = X[rng.integers(n, size=n)]
    params = {
        "max_depth": draw(st.integers(0, 6)),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 2, 5])),
        "splitter": draw(st.sampled_from(["best", "best", "random"])),
        "max_features": draw(st.sampled_from([None, 1, max(1, d // 2)])),
        "seed": draw(st.integers(0, 2**64 - 1)),
    }
    target = {"rows": rng.random(n) < 0.8 if draw(st.booleans()) else None}
    if costs and draw(st.booleans()):
        target["costs"] = rng.integers(-3, 4, size=(n, n_classes)).astype(float)
        if draw(st.booleans()):
            target["costs"] = rng.normal(size=(n, n_classes))
    else:
        kind = draw(st.sampled_from(["ones", "integers", "random", "wide"]))
        target["codes"] = rng.integers(n_classes, size=n).astype(np.int32)
        target["weight"] = draw_weights(rng, n, kind)
        target["n_classes"] = n_classes
        params["min_weight_leaf"] = draw(st.sampled_from([0.0, 0.0, 1.5]))
    return X, target, params


def empty(target):
    """Whether no row takes part."""
    weight = target.get("weight", np.ones(1))
    rows = True if target["rows"] is None else target["rows"]
    return not np.any(rows & (weight > 0))


def grow(view, target, params):
    """The compiled tree for a problem of ``problems``."""
    if "costs" in target:
        return view.grow_cost(target["costs"], rows=target["rows"], **params)
    return view.grow(
        target["codes"],
        target["weight"],
        n_classes=target["n_classes"],
        rows=target["rows"],
        **params,
    )


def assert_same_tree(tree, twin):
    """Both are a Tree or a dict of arrays; every number must be the same."""
    for name in ARRAYS:
        a = tree[name] if isinstance(tree, dict) else getattr(tree, name)
        b = twin[name] if isinstance(twin, dict) else getattr(twin, name)
        np.testing.assert_array_equal(np.ravel(a), np.ravel(b), err_msg=name)
