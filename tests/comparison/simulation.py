"""Simulated studies without worker processes, of methods that are fast enough for hundreds."""

import json
from unittest.mock import patch

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from consilience.benchmark.estimator_specs import estimator_spec
from consilience.benchmark.metrics import find_metric
from consilience.benchmark.problems import Problem
from consilience.benchmark.store import Store
from consilience.benchmark.work import execute
from consilience.comparison.inputs import _from_problem
from consilience.comparison.record import Options, OwnMethod, Run
from consilience.comparison.study import CHANCE, chance_tasks, collect_study, main_tasks
from consilience.methods import method_from_estimator
from consilience.views import MultiViewData


class Flat(ClassifierMixin, BaseEstimator):
    """A classifier on the concatenated views, without their preparation."""

    takes_multiview = True

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        self.estimator_ = self.estimator.fit(X.to_array(), y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X):
        return self.estimator_.predict(X.to_array())


FAST = {
    "Bayes": Flat(GaussianNB()),
    "Discriminant": Flat(LinearDiscriminantAnalysis()),
    "Neighbours": Flat(KNeighborsClassifier(5)),
}
METHODS = {name: method_from_estimator(name, model) for name, model in FAST.items()}


def problem_with(separation, n, rng, n_columns=3, share=0.5):
    """Two classes whose means differ by ``separation`` in one column of two views."""
    y = np.r_[np.zeros(n - round(share * n), dtype=int), np.ones(round(share * n), dtype=int)]
    views = {name: rng.normal(size=(n, n_columns)) for name in ("a", "b")}
    views["a"][:, 0] += separation * y
    return Problem(MultiViewData(views), y)


def simulate(problem, store, *, cv=5, repeats=1, metric="accuracy", n_done=None, **settings):
    """The comparison itself, without follow-ups; the run, the results and their store.

    ``n_done`` is the number of splits that are run.
    """
    options = Options(list(METHODS), cv, repeats, metric, 0, False, **settings)
    own = {
        name: OwnMethod("", json.dumps(estimator_spec(method.make_estimator(None))))
        for name, method in METHODS.items()
    }
    data = _from_problem("data", problem).summary
    run = Run(version="0", command=[], options=options, data=data, own_methods=own)
    store.register_runner()
    chance_metric = [name for name in [find_metric(metric).chance_metric] if name]
    # most of the time goes into metrics that nobody asks for
    with patch("consilience.benchmark.work.QUALITY_METRICS", (metric, *chance_metric)):
        for task in chance_tasks(run) + main_tasks(run):
            if n_done is None or task.index < n_done:
                outcome = execute(task, problem, {CHANCE.name: CHANCE, **METHODS})
                store.add(task, outcome, 0.0, 0.1)
    return run, collect_study(run, store.records())


__all__ = ["FAST", "Store", "problem_with", "simulate"]
