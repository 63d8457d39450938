"""Small studies for the tests of the engine."""

import os
import sqlite3
import subprocess
import sys
from unittest.mock import patch

import pytest

from consilience.benchmark.metrics import COST_METRICS
from consilience.benchmark.problems import ProblemCache
from consilience.benchmark.protocol import Folds
from consilience.benchmark.tasks import Task, cross_validation, task_hash
from consilience.benchmark.work import execute
from consilience.methods import with_own_methods

FULL = bool(int(os.environ.get("CONSILIENCE_TEST_ALL", "0")))
SUITE = """
title = "A small study"
metrics = ["accuracy", "fit_seconds"]

[protocol]
train_size = 60
split = { kind = "holdout", repeats = 8, test = 0.2 }

[[datasets]]
name = "synthetic"
seeded = true
parameters = { n_samples = 200, n_views = 2, missing_rate = 0.1 }

[[methods]]
recipe = "Early fusion"

[[methods]]
recipe = "Late fusion"

[[methods]]
recipe = "MwMvC2"
"""
N_TASKS = 24


def command(*arguments):
    return [sys.executable, "-c", "from consilience.cli import main; main()", *map(str, arguments)]


def run_in_process(*arguments):
    """A command line without worker processes; it must succeed."""
    from consilience.cli import main, suites
    from consilience.comparison import execution as comparison

    arguments = list(map(str, arguments))
    with (
        patch.object(sys, "argv", ["consilience", *arguments]),
        patch.object(comparison, "run_tasks", run_serially),
        patch.object(suites, "run_tasks", run_serially),
        pytest.raises(SystemExit) as end,
    ):
        main(arguments)
    assert end.value.code == 0


def start(*arguments, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command(*arguments), **{**pipes, **options})


def count_results(out):
    """Results in the store of a folder so far, seen from outside; 0 before it is there."""
    try:
        with sqlite3.connect(f"file:{out / 'results.sqlite'}?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM results").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        if "db" in locals():
            db.close()


def run_serially(tasks, store, *, problems=None, methods=None, **_):
    """In the place of ``run_tasks``: no worker processes, no limits."""
    problems = ProblemCache(problems)
    store.register_runner()
    for task in tasks:
        problem = problems.get(task.data, task.data_parameters, task.data_source)
        store.add(task, execute(task, problem, with_own_methods(methods or {})), 0.0, 0.1)
        yield store.record(task_hash(task))


def tasks_on(data, methods, n=3, **options):
    return cross_validation(data, methods, Folds(n), **options)


def table(records):
    """What must not depend on how a study was run."""
    rows = {}
    for record in records:
        outcome = record.outcome
        metrics = {k: v for k, v in outcome.metrics.items() if k not in COST_METRICS}
        assert record.task_hash not in rows
        rows[record.task_hash] = (record.task, outcome.status, metrics, outcome.best_params)
    return rows


def task(index, method="Late fusion"):
    """A task that is only talked about."""
    return Task(data="mine", method=method, split=Folds(2, 1), index=index)
