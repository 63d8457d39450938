"""Studies without worker processes, for tests of what comes out of them."""

import numpy as np

from consilience.benchmark.problems import Problem
from consilience.benchmark.store import Store
from consilience.benchmark.work import execute
from consilience.comparison.inputs import _from_problem
from consilience.comparison.record import Options, Run
from consilience.comparison.study import CHANCE, run_study
from consilience.methods import with_own_methods
from consilience.views import MultiViewData


def problem_of(views, classes, n_each=4, seed=0):
    """Separable views and classes of these names."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.array(classes, dtype=str), n_each)
    codes = np.repeat(np.arange(len(classes)), n_each)
    data = {name: rng.normal(size=(len(y), 2)) + codes[:, None] * [1.0, -1.0] for name in views}
    present = rng.random((len(y), len(data))) < 0.9
    present[:, 0] = True
    return Problem(MultiViewData(data, present=present), y)


def study(problem, store, *, name="name", methods=("Late fusion",), cv=2, settings=None, **options):
    """Run a comparison in this process; the run, its stages and its store."""
    summary = _from_problem(name, problem).summary
    settings = settings or Options(list(methods), cv, 1, "accuracy", 0, False)
    run = Run(version="0", command=["consilience"], options=settings, data=summary, **options)

    def run_batch(tasks, **_):
        store.register_runner()
        for task in tasks:
            methods = with_own_methods({CHANCE.name: CHANCE})
            store.add(task, execute(task, problem, methods), 0.0, 0.1)

    result = run_study(run, store, run_batch)
    run.best = result.best
    return run, result


__all__ = ["Store", "problem_of", "study"]
