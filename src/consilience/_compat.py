"""Compatibility with scikit-learn versions; the only module that uses its private API."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self, TypeVar

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)
from sklearn.utils.parallel import Parallel, delayed

from consilience._core.threads import stopping_threads

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn < 1.9 has no callbacks: fit without reporting progress
    _with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Placeholder without callbacks."""


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Options",
    "Progress",
    "StrOptions",
    "compiled_loss_types",
    "compiled_tree_type",
    "histogram_node_dtype",
    "is_probabilistic_svm",
    "make_constraint",
    "validate_parameter_constraints",
    "with_callbacks",
]


F = TypeVar("F", bound=Callable)


def compiled_tree_type() -> type:
    """The type of ``tree_`` of a decision tree."""
    from sklearn.tree._tree import Tree

    return Tree


def compiled_loss_types() -> frozenset[type]:
    """The types of the compiled losses; in scikit-learn 1.7 their module is called ``_loss``."""
    from sklearn._loss import _loss

    return frozenset(
        item for name, item in vars(_loss).items() if name.startswith("Cy") and type(item) is type
    )


def histogram_node_dtype() -> Any:
    """The dtype of the nodes of histogram gradient boosting."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    return PREDICTOR_RECORD_DTYPE


def is_probabilistic_svm(model: Any) -> bool:
    """Whether ``SVC`` or ``NuSVC`` has probabilities, which scikit-learn 1.9 notes in ``fit``."""
    noted = getattr(model, "_effective_probability", False)
    return any(value not in (False, "deprecated") for value in (model.probability, noted))


def with_callbacks(method: F) -> F:
    """Let a ``fit`` method report its progress to scikit-learn's callbacks."""
    return method if _with_callbacks is None else _with_callbacks(method)


class Progress:
    """Run the tasks of a fit on threads and report each to the estimator's callbacks.

    To be used in a method decorated with ``with_callbacks``. Results are in the order of the items,
    independently of ``n_jobs``.
    """

    def __init__(self, estimator: Any, n_tasks: int) -> None:
        self.estimator = estimator
        self.context = None
        if getattr(estimator, "_skl_callbacks", None):
            self.context = estimator._init_callback_context(max_subtasks=n_tasks)

    def __enter__(self) -> Self:
        if self.context is not None:
            self.context.call_on_fit_task_begin(estimator=self.estimator)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.context is not None and kind is None:
            self.context.call_on_fit_task_end(estimator=self.estimator)

    def map(self, function: Callable, items: Iterable[Any], name: str) -> list[Any]:
        """Return ``[function(item) for item in items]``; each call is a task called ``name``."""
        items = list(items)
        if len(items) == 1:  # may use threads of its own, which Ctrl-C must reach
            only = function(items[0])
            self.tick(name)
            return [only]
        run = Parallel(n_jobs=self.estimator.n_jobs, require="sharedmem", return_as="generator")
        done = []
        with stopping_threads() as call:
            for result in run(delayed(call)(function, item) for item in items):
                done.append(result)
                self.tick(name)
        return done

    def tick(self, name: str) -> bool:
        """Report a finished task of a sequential loop; return True if a callback stops it."""
        if self.context is None:
            return False
        task = self.context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=self.estimator)
        return bool(task.call_on_fit_task_end(estimator=self.estimator))
