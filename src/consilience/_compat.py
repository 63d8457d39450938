"""Differences between scikit-learn versions. The only module that may touch its private parts."""

from __future__ import annotations

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)
from sklearn.utils.parallel import Parallel, delayed

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9 has no callbacks: fit without reporting progress

    class CallbackSupportMixin:
        """Stand-in without callbacks."""

    def with_callbacks(method):
        """Leave the method as it is."""
        return method


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Options",
    "Progress",
    "StrOptions",
    "make_constraint",
    "validate_parameter_constraints",
    "with_callbacks",
]


class Progress:
    """Run the tasks of a fit on threads and report each to the estimator's callbacks.

    Use it inside a method decorated by ``with_callbacks``; results come in the order of the
    items, whatever ``n_jobs`` is.
    """

    def __init__(self, estimator, n_tasks):
        self.estimator = estimator
        self.context = None
        if getattr(estimator, "_skl_callbacks", None):
            self.context = estimator._init_callback_context(max_subtasks=n_tasks)

    def __enter__(self):
        if self.context is not None:
            self.context.call_on_fit_task_begin(estimator=self.estimator)
        return self

    def __exit__(self, kind, error, trace):
        if self.context is not None and kind is None:
            self.context.call_on_fit_task_end(estimator=self.estimator)

    def map(self, function, items, name):
        """``[function(item) for item in items]``, each a task called ``name``."""
        run = Parallel(n_jobs=self.estimator.n_jobs, require="sharedmem", return_as="generator")
        results = run(delayed(function)(item) for item in items)
        if self.context is None:
            return list(results)
        done = []
        for result in results:
            task = self.context.subcontext(task_name=name)
            task.call_on_fit_task_begin(estimator=self.estimator)
            done.append(result)
            task.call_on_fit_task_end(estimator=self.estimator)
        return done

    def tick(self, name):
        """Report one task of a sequential loop as done; True if a callback asks to stop."""
        if self.context is None:
            return False
        task = self.context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=self.estimator)
        return bool(task.call_on_fit_task_end(estimator=self.estimator))
