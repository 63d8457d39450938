"""Differences between scikit-learn versions. The only module that may touch its private parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    RealNotInt,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)
from sklearn.utils.parallel import Parallel, delayed

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn < 1.9 has no callbacks: fit without reporting progress
    _with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in without callbacks."""


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Options",
    "Progress",
    "RealNotInt",
    "StrOptions",
    "make_constraint",
    "validate_parameter_constraints",
    "with_callbacks",
]


F = TypeVar("F", bound=Callable)


def with_callbacks(method: F) -> F:
    """Let a ``fit`` method report its progress to scikit-learn's callbacks."""
    return method if _with_callbacks is None else _with_callbacks(method)


class Progress:
    """Run the tasks of a fit on threads and report each to the estimator's callbacks.

    Use it inside a method decorated by ``with_callbacks``; results come in the order of the
    items, whatever ``n_jobs`` is.
    """

    def __init__(self, estimator: Any, n_tasks: int) -> None:
        self.estimator = estimator
        self.context = None
        if getattr(estimator, "_skl_callbacks", None):
            self.context = estimator._init_callback_context(max_subtasks=n_tasks)

    def __enter__(self) -> Any:
        if self.context is not None:
            self.context.call_on_fit_task_begin(estimator=self.estimator)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.context is not None and kind is None:
            self.context.call_on_fit_task_end(estimator=self.estimator)

    def map(self, function: Callable, items: Any, name: str) -> Any:
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

    def tick(self, name: str) -> Any:
        """Report one task of a sequential loop as done; True if a callback asks to stop."""
        if self.context is None:
            return False
        task = self.context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=self.estimator)
        return bool(task.call_on_fit_task_end(estimator=self.estimator))
