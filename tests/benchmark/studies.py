"""Small studies for the tests of the engine."""

import os
import subprocess
import sys

from consilience.benchmark.protocol import Folds
from consilience.benchmark.tasks import cross_validation
from consilience.benchmark.work import COSTS

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


def start(*arguments, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command(*arguments), **{**pipes, **options})


def tasks_on(data, methods, n=3, **options):
    return cross_validation(data, methods, Folds(n), **options)


def table(records):
    """What must not depend on how a study was run."""
    rows = {}
    for record in records:
        outcome = record.outcome
        metrics = {k: v for k, v in outcome.metrics.items() if k not in COSTS}
        assert record.task_hash not in rows
        rows[record.task_hash] = (record.task, outcome.status, metrics, outcome.chosen)
    return rows
