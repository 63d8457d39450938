"""Studies without worker processes, for tests of what comes out of them."""

import numpy as np
from sklearn.base import clone

from consilience.benchmark.problems import Problem
from consilience.benchmark.store import Store
from consilience.benchmark.work import execute
from consilience.compare.inputs import _summary
from consilience.compare.record import Options, Run
from consilience.compare.study import run_study
from consilience.tables import TableView
from consilience.views import MultiViewData, ViewPreparer


def problem_of(views, classes, n_each=4, seed=0):
    """Separable views and classes of these names."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.array(classes, dtype=str), n_each)
    codes = np.repeat(np.arange(len(classes)), n_each)
    data = {name: rng.normal(size=(len(y), 2)) + codes[:, None] * [1.0, -1.0] for name in views}
    present = rng.random((len(y), len(data))) < 0.9
    present[:, 0] = True
    data = MultiViewData(data, present=present)
    return Problem(data, y, preprocessor=ViewPreparer(scale=True))


def study(problem, store, *, name="name", methods=("Late fusion",), cv=2, **options):
    """Run a comparison in this process; the run, its stages and its store."""
    views = {view: TableView(None, [], 2) for view in problem.data.view_names}
    summary = _summary(name, problem.data, problem.target, views=views)
    settings = Options(list(methods), cv, 1, "accuracy", 0, False)
    run = Run(version="0", command=["consilience"], options=settings, data=summary, **options)

    def run_batch(tasks):
        store.register_runner()
        for task in tasks:
            store.add(task, execute(task, problem), 0.0, 0.1)

    result = run_study(run, store, run_batch)
    run.best = result.best
    return run, result


def fitted(problem, estimator):
    """The estimator behind the preparation, on all samples."""
    from sklearn.pipeline import make_pipeline

    return make_pipeline(clone(problem.preprocessor), estimator).fit(problem.data, problem.target)


__all__ = ["Store", "fitted", "problem_of", "study"]
