"""Trees, boosting and MωMvC² on blocks: bit for bit those in memory, for any blocks."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import distributed
from consilience import BinnedTreeClassifier, MultiViewData
from consilience._core import cuts as cuts_of_rows
from consilience._core.binned import BinnedView, RowTarget, Tree
from consilience._core.cuts import draw_bin_rows, find_cuts, join_ranges
from consilience.boosting import (
    IBoostClassifier,
    MuMBoClassifier,
    MVWABClassifier,
    RShareBoostClassifier,
    ShareBoostClassifier,
)
from consilience.distributed import BlockSequence, _trees
from consilience.distributed._binned_rows import BinnedRows, BinnedTraining
from consilience.distributed._connection import naming_lost_scheduler
from consilience.distributed._dask import DaskBlocks
from consilience.distributed._drivers import add_up
from consilience.distributed._kept import WorkerBlocks
from consilience.distributed._states import BlockState, FileStates, WorkerStates
from consilience.vote import MwMvC2Classifier

LOOPBACK = "127.0.0.1:0"
TEST_ALL = bool(int(os.environ.get("CONSILIENCE_TEST_ALL", "0")))
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


def cut_at(X, y, weight, ends):
    """Blocks with these ends, some of them empty."""
    parts = np.split(np.arange(len(y)), np.sort(ends))
    return BlockSequence([(X[part], y[part], weight[part]) for part in parts])


@pytest.fixture
def small_limits(monkeypatch):
    """Bins from a sample of rows, and nodes of few rows finished by themselves."""
    monkeypatch.setattr(cuts_of_rows, "MAX_BIN_ROWS", 40)
    monkeypatch.setattr(_trees, "LEVELS_BY_HISTOGRAM", 2)
    monkeypatch.setattr(_trees, "FINISH_BYTES", 400)


@st.composite
def tree_problems(draw):
    """Rows of a dense or sparse matrix, cut into blocks, and a tree to grow."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, d, n_classes = draw(st.integers(1, 80)), draw(st.integers(1, 18)), draw(st.integers(2, 4))
    X = rng.integers(-3, 4, (n, d)) * rng.choice([1, 0.37, 0.0], (n, d))
    X[rng.random((n, d)) < draw(st.sampled_from([0, 0.1]))] = np.nan
    present = rng.random(n) < 0.8 if draw(st.booleans()) else None
    target = RowTarget(rng.integers(0, n_classes, n).astype(np.int32), rng.random(n))
    if draw(st.booleans()):
        target = RowTarget(None, None, rng.normal(size=(n, n_classes)))
    params = {
        "max_depth": draw(st.sampled_from([1, 3, 12])),
        "splitter": draw(st.sampled_from(["best", "random"])),
        "min_samples_leaf": draw(st.integers(1, 3)),
        "max_features": draw(st.integers(1, d)),
        "seed": draw(st.integers(0, 99)),
    }
    parts = np.split(np.arange(n), np.sort(rng.integers(0, n + 1, draw(st.integers(0, 4)))))
    form = draw(st.sampled_from([np.asarray, sp.csr_array]))
    return form(X), present, target, n_classes, params, [part for part in parts if len(part)]


def block_target(block, key):
    return block.state


class MemoryStates:
    """Blocks in memory, which may lose what they keep between passes."""

    def __init__(self, blocks, lost):
        self.blocks, self.lost = blocks, lost

    def collect(self, function, *args):
        for block in self.blocks:
            if self.lost.random() < 0.3:
                block.scratch.clear()
        return [function(block, *args) for block in self.blocks]

    def sum(self, function, *args):
        return add_up(self.collect(function, *args))

    gather = FileStates.gather


@given(tree_problems(), st.sampled_from([0, 400, 3000, 10**6]), st.sampled_from([10, 10**6]))
def test_tree_on_blocks_is_that_of_all_rows(problem, finish_bytes, bin_rows):
    X, present, target, n_classes, params, parts = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts_of_rows, "MAX_BIN_ROWS", bin_rows)
        patch.setattr(_trees, "LEVELS_BY_HISTOGRAM", 2)
        patch.setattr(_trees, "FINISH_BYTES", finish_bytes)
        weight = np.ones(X.shape[0]) if target.weight is None else target.weight
        view = BinnedView(X, weight=weight, present=present)
        n_present = X.shape[0] if present is None else int(present.sum())
        drawn = draw_bin_rows(0, X.shape[0], n_present)
        drawn = np.flatnonzero(drawn if present is None else drawn & present)
        cuts = find_cuts(X[drawn], weight[drawn], 255)
        blocks, ranges = [], []
        for part in parts:
            mask = None if present is None else present[part]
            own, found = BinnedView.from_cuts(X[part], mask, cuts)
            ranges.append(found)
            values = RowTarget(*(None if x is None else x[part] for x in target))
            blocks.append(BlockState(BinnedRows([own], None, None, []), values))
        limits = join_ranges(ranges, cuts)
        for ours, theirs in zip(limits, view.limits, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        training = BinnedTraining(None, [limits], np.array([n_present]))
        states = MemoryStates(blocks, np.random.default_rng(params["seed"]))
        spec = _trees.TreeSpec(0, None, n_classes, params, cost=target.costs is not None)
        (tree,) = _trees.grow_trees(training, [spec], block_target, states)
        if target.costs is None:
            expected = view.grow(target.codes, target.weight, n_classes=n_classes, **params)
        else:
            expected = view.grow_cost(target.costs, **params)
        assert_same_tree(tree, expected)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_stream_equals_memory(model, small_limits):
    X, y, weight = make_problem(0)
    expected = model.fit(X, y, weight)
    for ends in ([30, 60], [1, 1, 85], []):
        again = type(model)(**model.get_params(deep=False)).fit(cut_at(X, y, weight, ends))
        assert_same(again, expected)


def lazy(data, rows=25):
    """The same views as dask arrays, the second with sparse blocks."""
    views = {}
    for name, X in data.items():
        whole = X.toarray() if sp.issparse(X) else X
        views[name] = da.from_array(whole, chunks=(rows, -1))
        if sp.issparse(X):
            views[name] = views[name].map_blocks(sp.csr_array)
    return MultiViewData(views, present=data.present)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[7]], ids=[NAMES[0], NAMES[7]])
def test_workers_equal_memory(model, small_limits):
    X, y, weight = make_problem(1)
    expected = model.fit(X, y, weight)
    again = type(model)(**model.get_params(deep=False))
    assert_same(again.fit(lazy(X), y, weight), expected)  # without a client
    # on threads of this process, where the limits are small as well
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=LOOPBACK
    )
    with cluster, distributed.Client(cluster):
        assert_same(again.fit(lazy(X), y, weight), expected)


class Passes:
    """Counts the passes over blocks on workers, and kills a worker during one of them."""

    KINDS = ((DaskBlocks, "_submit"), (WorkerBlocks, "_submit"), (WorkerStates, "collect"))

    def __init__(self, client, kill_in=None, delay=0.0):
        self.client, self.kill_in, self.delay, self.number = client, kill_in, delay, 0
        self.killer = None

    def __enter__(self):
        self.patch = pytest.MonkeyPatch()
        for kind, name in self.KINDS:
            self.patch.setattr(kind, name, self._counted(getattr(kind, name)))
        return self

    def _counted(self, method):
        def counted(*args, **kwargs):
            self.number += 1
            if self.number == self.kill_in:
                pids = self.client.run(os.getpid)
                pid = pids[sorted(pids)[self.number % len(pids)]]
                self.killer = threading.Timer(self.delay, os.kill, (pid, signal.SIGKILL))
                self.killer.start()
            return method(*args, **kwargs)

        return counted

    def __exit__(self, *error):
        self.patch.undo()
        if self.killer is not None:
            self.killer.join()


@pytest.fixture(scope="module")
def processes():
    """Two workers in processes of their own."""
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=LOOPBACK
    )
    with cluster, distributed.Client(cluster, timeout=60) as client:
        yield client


def test_lost_workers_change_nothing(processes):
    """Worker processes are killed at random moments of fits: in any pass, at once or later."""
    X, y, weight = make_problem(2)
    model, moments = MODELS[0], random.Random(0)
    expected = model.fit(X, y, weight)
    with Passes(processes) as whole:
        clone(model).fit(lazy(X), y, weight)
    for _ in range(20 if TEST_ALL else 1):
        processes.cluster.scale(2)  # a worker that comes back late is given up by the cluster
        processes.wait_for_workers(2, timeout=120)
        moment = moments.randint(1, whole.number), moments.choice([0.0, 0.01, 0.03])
        with Passes(processes, *moment) as passes:
            again = clone(model).fit(lazy(X), y, weight)
        assert passes.killer is not None
        assert_same(again, expected)


@pytest.mark.parametrize("status", ["running", "closed"])
@pytest.mark.parametrize("error", [CancelledError("task-1"), OSError("reset"), ValueError("row")])
def test_only_a_lost_scheduler_is_named(error, status):
    client = SimpleNamespace(status=status, nthreads=dict)
    expected = (type(error), str(error)) if status == "running" else (RuntimeError, r"fit again$")
    with pytest.raises(expected[0], match=expected[1]), naming_lost_scheduler(client):
        raise error


@pytest.mark.skipif(not TEST_ALL, reason="several processes and timeouts")
@pytest.mark.parametrize("moment", ["validate", "level_sums"])
def test_a_lost_scheduler_is_named_in_one_sentence(moment):
    """In the first pass, which validates, and in later ones."""
    script = f"""
import os, signal, sys
import dask.array as da, numpy as np, distributed
from consilience.boosting import MuMBoClassifier
from consilience.distributed import _dask, _states

scheduler = int(sys.argv[1])
def losing(method, pick):
    def lost(self, *args, **kwargs):
        if args[pick].__name__ == {moment!r}:
            os.kill(scheduler, signal.SIGKILL)
        return method(self, *args, **kwargs)
    return lost
_dask.DaskBlocks._submit = losing(_dask.DaskBlocks._submit, 0)
_states.WorkerStates.collect = losing(_states.WorkerStates.collect, 0)
rng = np.random.default_rng(0)
views = {{name: da.from_array(rng.normal(size=(60, 3)), chunks=(20, -1)) for name in "ab"}}
client = distributed.Client(sys.argv[2], timeout=10)
try:
    MuMBoClassifier(n_estimators=2).fit(views, rng.integers(2, size=60))
except RuntimeError as error:
    print("RuntimeError:", error)
os._exit(0)
"""
    with Scheduler() as (pid, address):
        done = subprocess.run(
            [sys.executable, "-c", script, str(pid), address],
            capture_output=True,
            text=True,
            timeout=240,
        )
    assert re.search(
        r"^RuntimeError: the connection to .* was lost .*fit again$", done.stdout, re.M
    )


class Scheduler:
    """A scheduler and a worker in processes of their own; yields the scheduler's, its address."""

    def __enter__(self):
        run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
        port = free_port()
        self.scheduler = subprocess.Popen(
            [*run, "--port", str(port), "--no-dashboard"], stderr=subprocess.DEVNULL
        )
        address = f"tcp://127.0.0.1:{port}"
        run = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny"]
        self.worker = subprocess.Popen(
            [*run, "--no-dashboard", "--nthreads", "1", "--death-timeout", "60"],
            stderr=subprocess.DEVNULL,
        )
        return self.scheduler.pid, address

    def __exit__(self, *error):
        for process in (self.worker, self.scheduler):
            process.kill()
            process.wait()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_errors_of_blocks_are_not_a_lost_scheduler(processes):
    """A file that cannot be read is named, though it is an OSError as well."""
    X, y, weight = make_problem(3)
    views = {"dense": lazy(X)["dense"].map_blocks(read_missing_file, dtype=float)}
    with pytest.raises(FileNotFoundError, match=r"rows\.npy"):
        clone(MODELS[0]).fit(views, y, weight)


def read_missing_file(block):
    raise FileNotFoundError(2, "No such file or directory", "rows.npy")


@pytest.mark.parametrize(
    "tree",
    [
        BinnedTreeClassifier(3),
        BinnedTreeClassifier(
            splitter="random",
            class_weight="balanced",
            min_weight_fraction_leaf=0.01,
            random_state=0,
        ),
    ],
)
def test_binned_tree(tree, small_limits):
    X, y, weight = make_problem(2)
    X = X["dense"]
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[4] = np.nan
    expected = tree.fit(X, y, weight).tree_
    ways = [
        (cut_at(X, y, weight, [7, 7, 50]), None, None),
        (da.from_array(X, chunks=(40, -1)), y, weight),
        (da.from_array(X, chunks=(90, -1)), da.from_array(y, chunks=30), weight),
    ]
    for way in ways:
        again = BinnedTreeClassifier(**tree.get_params()).fit(*way)
        assert_same_tree(again.tree_, expected)
        np.testing.assert_array_equal(again.classes_, tree.classes_)
        np.testing.assert_array_equal(again.predict(X), tree.predict(X))


def test_blocks_must_have_the_same_columns():
    blocks = BlockSequence([(np.ones((2, 3)), [0, 1]), (np.ones((2, 2)), [0, 1])])
    with pytest.raises(ValueError, match="block 1: X must have 3 columns"):
        BinnedTreeClassifier().fit(blocks)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (MuMBoClassifier(DecisionTreeClassifier()), TypeError, "got DecisionTreeClassifier"),
        (MuMBoClassifier(resample=True), ValueError, "resample=False"),
        (ShareBoostClassifier(n_iter_no_change=3), ValueError, "staged_predict"),
        (IBoostClassifier(warm_start=True), ValueError, "warm_start=False"),
        (MwMvC2Classifier([DecisionTreeClassifier()]), TypeError, "voters='random_trees'"),
        (MwMvC2Classifier(n_iter_no_change=3), ValueError, "n_iter_no_change=None"),
    ],
)
def test_settings_that_need_memory_are_named_before_reading(model, error, message):
    def read():
        raise AssertionError("a block was read")

    with pytest.raises(error, match=message):
        model.fit(BlockSequence(read))
