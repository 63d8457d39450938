"""Problems, models and comparisons for fits from blocks that are the same, to the last bit."""

from contextlib import contextmanager

import dask.array as da
import numpy as np
import scipy.sparse as sp

from consilience import BinnedTreeClassifier, MultiViewData
from consilience._core.binned import Tree
from consilience.boosting import (
    IBoostClassifier,
    MuMBoClassifier,
    MVWABClassifier,
    RShareBoostClassifier,
    ShareBoostClassifier,
)
from consilience.vote import MwMvC2Classifier

LOOPBACK = "127.0.0.1:0"
MODELS = [
    MuMBoClassifier(n_estimators=4, random_state=0),
    MuMBoClassifier(n_estimators=3, cost="exact", cooperation=False, random_state=0),
    MuMBoClassifier(
        BinnedTreeClassifier(2, max_bins=7, min_samples_leaf=3, min_weight_fraction_leaf=0.05),
        n_estimators=3,
        random_state=0,
    ),
    ShareBoostClassifier(n_estimators=4, random_state=0),
    RShareBoostClassifier(n_estimators=4, random_state=0),
    IBoostClassifier(n_estimators=4, random_state=0),
    MVWABClassifier(n_estimators=4, random_state=0),
    MwMvC2Classifier(random_state=0),
    MwMvC2Classifier("trees", view_weights="loss", class_weight="balanced", random_state=0),
    MwMvC2Classifier(view_weights="paper", min_weight_fraction_leaf=0.02, random_state=0),
]
NAMES = [f"{type(model).__name__}-{k}" for k, model in enumerate(MODELS)]


def assert_same_tree(first, second):
    for name in Tree.__dataclass_fields__:
        one, other = getattr(first, name), getattr(second, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, err_msg=name)


def assert_same(first, second):
    """All that was fitted is the same, to the last bit."""
    np.testing.assert_array_equal(first.classes_, second.classes_)
    np.testing.assert_array_equal(first.class_prior_, second.class_prior_)
    np.testing.assert_array_equal(first.view_weights_, second.view_weights_)
    if isinstance(first, MwMvC2Classifier):
        np.testing.assert_array_equal(first.rho_, second.rho_)
        assert list(first.voters_) == list(second.voters_)
        for name, own in first.voters_.items():
            np.testing.assert_array_equal(first.pi_[name], second.pi_[name])
            pairs = zip(trees_of(own), trees_of(second.voters_[name]), strict=True)
            for pair in pairs:
                assert_same_tree(*pair)
        for pair in zip(first.training_bound_, second.training_bound_, strict=True):
            np.testing.assert_array_equal(*pair)
        return
    for one, other in zip(first._rounds, second._rounds, strict=True):
        assert (one.weight, one.last) == (other.weight, other.last)
        for member, twin in zip(one.members, other.members, strict=True):
            assert (member.view, member.weight) == (twin.view, twin.weight)
            assert_same_tree(member.hypothesis, twin.hypothesis)


def trees_of(voters):
    return voters.trees if hasattr(voters, "trees") else [voters.tree]


def make_problem(seed, n=90, n_classes=3):
    """A dense, a sparse and a float32 view; missing views, weights, some of them 0."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    views = {
        "dense": rng.normal(size=(n, 4)) + 0.5 * y[:, None],
        "sparse": sp.csr_array(rng.poisson(0.5 + y[:, None], (n, 9)).astype(float)),
        "single": rng.normal(size=(n, 3)).astype(np.float32),
    }
    present = rng.random((n, 3)) < 0.8
    present[:, 0] |= ~present.any(axis=1)
    weight = rng.random(n) * rng.integers(0, 4, n)
    return MultiViewData(views, present=present), np.array(["a", "b", "c"])[y], weight


@contextmanager
def two_threads():
    """A client of two workers on threads of this process: loopback without sockets."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=LOOPBACK
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def lazy(data, rows=25):
    """The same views as dask arrays, the second with sparse blocks."""
    views = {}
    for name, X in data.items():
        whole = X.toarray() if sp.issparse(X) else X
        views[name] = da.from_array(whole, chunks=(rows, -1))
        if sp.issparse(X):
            views[name] = views[name].map_blocks(sp.csr_array)
    return MultiViewData(views, present=data.present)
