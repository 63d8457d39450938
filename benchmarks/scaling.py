"""Fits from blocks: dask workers and streams against the serial fit in memory, same result.

Part "sums" is for the methods that learn from sums over all rows, part "trees" for boosting and
MωMvC², part "default" for the default, which learns from a sample of many rows: there accuracies on
new rows are compared. Part "streams" is the memory of streams of many rows, part "xgboost" a round
of MuMBo against one of xgboost.dask.

Wall-clock ratios need idle cores. For shared machines the processor time of the busiest process is
printed beside it: what the ratio would be if every process had a core of its own.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import dask
import dask.array as da
import numpy as np
from _xgboost_peer import compare_with_xgboost

from consilience import ConsilienceClassifier, MultiViewData
from consilience._default import _boosted, _forest, _from_blocks, _kernel
from consilience._solvers.water_filling import coupling, water_fill
from consilience._targets import one_vs_rest_signs
from consilience.boosting import MuMBoClassifier, RShareBoostClassifier
from consilience.distributed import BlockSequence, _dask, _kept, _states
from consilience.landmark import MVLSVMClassifier
from consilience.margin import SMVMEDClassifier
from consilience.vote import MwMvC2Classifier
from distributed import Client, LocalCluster, wait

PARTS = ["sums", "trees", "default", "streams", "xgboost"]
VIEWS, WIDTH = 3, 50
TREE_METHODS = (MuMBoClassifier, RShareBoostClassifier, MwMvC2Classifier)
WANTED = {"RShareBoostClassifier": 0.8, "MwMvC2Classifier": 0.8}


def make_block(number, rows):
    """Three views of 50 columns; each tells a part of two classes."""
    rng = np.random.default_rng(number)
    y = rng.integers(2, size=rows)
    views = rng.standard_normal((VIEWS, rows, WIDTH), dtype=np.float32)
    for v in range(VIEWS):
        views[v, :, : 5 * (v + 1)] += 0.25 * (2 * y[:, None] - 1)
        views[v, :, 0] *= 1 + y
    return {f"v{v}": views[v] for v in range(VIEWS)}, y


def in_memory(n_blocks, rows):
    blocks = [make_block(k, rows) for k in range(n_blocks)]
    views = {name: np.concatenate([X[name] for X, _ in blocks]) for name in blocks[0][0]}
    return MultiViewData(views), np.concatenate([y for _, y in blocks])


def on_workers(n_blocks, rows):
    """The same rows, made where they stay, all views of a block by one worker."""
    blocks = [dask.delayed(make_block)(number, rows)[0] for number in range(n_blocks)]
    views = [
        da.concatenate(
            [da.from_delayed(X[f"v{v}"], (rows, WIDTH), dtype=np.float32) for X in blocks]
        )
        for v in range(VIEWS)
    ]
    views = dask.persist(*views)
    wait(views)
    return MultiViewData({f"v{v}": view for v, view in enumerate(views)})


def objective(model, data, y):
    """What the fit minimised, for two classes; for trees the scores of some rows."""
    if isinstance(model, TREE_METHODS):
        return model.decision_function(data[:10_000])
    signs = one_vs_rest_signs(np.searchsorted(model.classes_, y), 2)[0]
    if isinstance(model, MVLSVMClassifier):
        f = model.decision_function(data)
        loss = model.C * np.mean(np.maximum(0, 1 - signs * f) ** 2)
        return np.sum(model.coef_**2) / 2 + loss
    u = 1 - signs[:, None] * model.view_decision_function(data)
    lam = water_fill(u, *coupling(model.c, model.alpha, VIEWS))
    return np.sum(lam * u) / 2 + sum(np.sum(w**2) for w in model.coef_.values()) / 2


def timed(function, *args, client=None):
    """The result, wall-clock time, our processor time, and that of every worker."""
    before = client.run(time.process_time) if client else {}
    wall, cpu = time.perf_counter(), time.process_time()
    out = function(*args)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    after = client.run(time.process_time) if client else {}
    return out, wall, cpu, [after[w] - before[w] for w in after]


class Rounds:
    """Seconds of every kind of pass, as the client sees them."""

    def __enter__(self):
        self.seconds, self.kept = {}, {}
        for kind, names in (
            (_dask.DaskBlocks, ("sum", "collect")),
            (_kept.WorkerBlocks, ("sum", "collect", "gather")),
            (_states.WorkerStates, ("collect",)),
        ):
            for name in names:
                self.kept[kind, name] = method = getattr(kind, name)
                setattr(kind, name, self._watched(method))
        return self

    def _watched(self, method):
        def watched(blocks, function, *state, **settings):
            start = time.perf_counter()
            out = method(blocks, function, *state, **settings)
            times = self.seconds.setdefault(function.__name__, [])
            times.append(time.perf_counter() - start)
            return out

        return watched

    def __exit__(self, *error):
        for (kind, name), method in self.kept.items():
            setattr(kind, name, method)

    def __str__(self):
        parts = [f"{name} {len(t)}x {sum(t):.2f} s" for name, t in self.seconds.items()]
        return ", ".join(parts)


def against_serial(models, n_blocks, rows):
    data, y = in_memory(n_blocks, rows)
    with two_workers() as cluster, Client(cluster) as client:
        lazy = on_workers(n_blocks, rows)
        labels = da.from_array(y, chunks=rows).persist()
        # modules are loaded before the clock starts
        models[0].fit(lazy[: 2 * rows], labels[: 2 * rows])
        for model in models:
            name = type(model).__name__
            serial, wall, cpu, _ = timed(model.fit, data, y)
            value = objective(serial, data, y)
            with Rounds() as rounds:
                far, wall_far, own, workers = timed(model.fit, lazy, labels, client=client)
            other, busiest = objective(far, data, y), own + max(workers)
            if isinstance(model, TREE_METHODS):
                same = np.array_equal(value, other)
                result = f"scores of two workers {'equal' if same else 'DIFFER'} bit for bit"
            else:
                result = f"objective {value:.6g}, two workers differ by {other / value - 1:.1e}"
            print(
                f"{name}: {len(data):.0e} rows, {n_blocks} blocks, load {os.getloadavg()[0]:.1f}\n"
                f"  {result}\n"
                f"  wall-clock {wall_far:.2f} s, serial {wall:.2f} s: ratio {wall_far / wall:.2f} "
                f"(<= {WANTED.get(name, 0.75)} wanted on two idle cores)\n"
                f"  processor {own:.2f} s here + {max(workers):.2f} s on the busiest worker, "
                f"serial {cpu:.2f} s: ratio {busiest / cpu:.2f}\n"
                f"  passes: {rounds}",
                flush=True,
            )


def streams(models, n_blocks, rows):
    """Peak memory and time of streams of one and of four times as many blocks."""
    for model in models:
        for times in (1, 4):

            def read(count=times * n_blocks):
                return (make_block(k, rows) for k in range(count))

            start = time.process_time()
            model.fit(BlockSequence(read))
            seconds = time.process_time() - start
            tracemalloc.start()
            model.fit(BlockSequence(read))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            print(
                f"stream, {type(model).__name__}: {times * n_blocks * rows:.0e} rows, "
                f"peak {peak / 1e6:.0f} MB, {seconds:.1f} s"
            )


def peak_of_stream(n_blocks, rows):
    """Peak of the resident memory of a process that boosts a stream, in MB."""
    script = (
        "import resource, sys; sys.path.insert(0, sys.argv[1]); import scaling; "
        f"read = lambda: (scaling.make_block(k, {rows}) for k in range({n_blocks})); "
        "scaling.MuMBoClassifier(n_estimators=2).fit(scaling.BlockSequence(read)); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)"
    )
    folder = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run(
        [sys.executable, "-c", script, folder], check=True, capture_output=True, text=True
    )
    return float(run.stdout)


def memory_of_streams(n_rows, block_rows):
    """A stream of four times the rows needs no more memory."""
    peaks = [peak_of_stream(times * n_rows // block_rows, block_rows) for times in (1, 4)]
    print(
        f"stream, MuMBo, blocks of {block_rows} rows: peak {peaks[0]:.0f} MB for {n_rows:.0e} "
        f"rows, {peaks[1]:.0f} MB for {4 * n_rows:.0e}: ratio {peaks[1] / peaks[0]:.2f} "
        "(<= 1.2 wanted)",
        flush=True,
    )


def against_xgboost(n_blocks, rows):
    with two_workers() as cluster, Client(cluster) as client:
        views = on_workers(n_blocks, rows)
        labels = da.concatenate(
            [da.from_array(make_block(k, rows)[1], chunks=rows) for k in range(n_blocks)]
        ).persist()
        compare_with_xgboost(dict(views.items()), labels, timed, client)


def two_workers():
    return LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    )


def log_loss(model, data, y):
    shares = model.predict_proba(data)[np.arange(len(y)), y]
    return -np.log(np.maximum(shares, 1e-12)).mean()


def default_against_serial(model, n_blocks, rows, serial=True):
    """Times and accuracies of the default, in memory and on two workers."""
    test, y_test = in_memory_part(10_000, 20_000)
    results = {}
    if serial:
        data, y = in_memory(n_blocks, rows)
        fitted, wall, cpu, _ = timed(model.fit, data, y)
        results["serial"] = wall, cpu
        print(
            f"default, {len(y):.0e} rows in memory: {wall:.1f} s, processor {cpu:.1f} s, accuracy "
            f"{fitted.score(test, y_test):.4f}, log loss {log_loss(fitted, test, y_test):.4f}",
            flush=True,
        )
        del data
    with two_workers() as cluster, Client(cluster) as client:
        lazy = on_workers(n_blocks, rows)
        labels = da.concatenate(
            [da.from_array(make_block(k, rows)[1], chunks=rows) for k in range(n_blocks)]
        ).persist()
        with Rounds() as rounds:
            far, wall, own, workers = timed(model.fit, lazy, labels, client=client)
    cpu = own + max(workers)
    print(
        f"default, {n_blocks * rows:.0e} rows on two workers: {wall:.1f} s, processor {own:.1f} s "
        f"here + {max(workers):.1f} s on the busiest worker, accuracy "
        f"{far.score(test, y_test):.4f}, log loss {log_loss(far, test, y_test):.4f}\n"
        f"  passes: {rounds}",
        flush=True,
    )
    if serial:
        print(
            f"  ratio of wall-clock {wall / results['serial'][0]:.2f}, of processor time "
            f"{cpu / results['serial'][1]:.2f} (<= 0.75 wanted on two idle cores)"
        )


def in_memory_part(number, rows):
    X, y = make_block(number, rows)
    return MultiViewData(X), y


def kills(model, n_blocks, rows, n_kills):
    """Fits during which a worker is killed at a random moment of the passes: the same model."""
    test, _ = in_memory_part(10_000, 2000)
    expected, worst, random_moment = None, 0.0, random.Random(0)
    for number in range(n_kills + 1):
        with two_workers() as cluster, Client(cluster) as client:
            lazy = on_workers(n_blocks, rows)
            labels = np.concatenate([make_block(k, rows)[1] for k in range(n_blocks)])
            pids = list(client.run(os.getpid).values())
            if number:
                delay = random_moment.uniform(0.0, 1.0)
                timer = threading.Timer(delay, os.kill, (pids[number % 2], signal.SIGKILL))
                timer.start()
            shares = model.fit(lazy, labels).predict_proba(test)
            if number:
                timer.join()
        expected = shares if expected is None else expected
        worst = max(worst, float(np.abs(shares - expected).max()))
    print(f"default, {n_kills} workers killed: probabilities differ by {worst:.1e}", flush=True)


def shrink(factor):
    """A model of the default on many rows in which all sizes are smaller by a factor."""
    for module, names in (
        (_from_blocks, ["MAX_ROWS", "MIN_ROWS"]),
        (_forest, ["TREE_MAX_ROWS"]),
        (_boosted, ["MAX_DRAWN_ROWS"]),
        (_kernel, ["MAX_FIT_ROWS", "N_LANDMARKS", "EXACT_MAX_ROWS"]),
    ):
        for name in names:
            setattr(module, name, getattr(module, name) // factor)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--quick", action="store_true", help="10 000 rows in 4 blocks")
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--only", nargs="*", help="names of classes of the parts sums and trees")
    parser.add_argument("--kills", type=int, default=3, help="workers killed in part default")
    parser.add_argument(
        "--tenth", action="store_true", help="a tenth of all rows, also of those that members see"
    )
    parser.add_argument("--no-serial", action="store_true", help="no fit of the default in memory")
    settings = parser.parse_args()
    if settings.quick:
        settings.rows, settings.blocks, settings.kills = 10_000, 4, 1
        _from_blocks.MAX_ROWS, _from_blocks.MIN_ROWS = 4000, 1000
    if settings.tenth:
        settings.rows //= 10
        shrink(10)
    parts = settings.part or PARTS
    block_rows = settings.rows // settings.blocks
    if "streams" in parts:
        memory_of_streams(settings.rows, 2500 if settings.quick else 25_000)
    if "xgboost" in parts:
        against_xgboost(settings.blocks, block_rows)
    if "default" in parts:
        model = ConsilienceClassifier(10 if settings.quick else None, random_state=0)
        default_against_serial(model, settings.blocks, block_rows, not settings.no_serial)
        streams([model], settings.blocks, block_rows)
        kills(ConsilienceClassifier(10, random_state=0), 8, 500, settings.kills)
    rounds = 3 if settings.quick else 50
    every = {
        "sums": [SMVMEDClassifier(c=0.1), MVLSVMClassifier(50, landmarks=make_block(99, 50)[0])],
        "trees": [
            MuMBoClassifier(n_estimators=rounds),
            RShareBoostClassifier(n_estimators=rounds),
            MwMvC2Classifier(),
        ],
    }
    models = [model for part in parts for model in every.get(part, [])]
    models = [m for m in models if not settings.only or type(m).__name__ in settings.only]
    if not models:
        return
    for model in models:
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
    against_serial(models, settings.blocks, settings.rows // settings.blocks)
    streams(models, 4, settings.rows // 40)


if __name__ == "__main__":
    main()
