"""Suites, and the engine that runs comparisons of methods.

The engine is imported on first use and needs the extra ``compare``. ``RECIPES`` are the records of
``consilience.methods``.
"""

from importlib import import_module

from consilience.methods import METHODS as RECIPES

_ENGINE = {
    "CurveDisplay": "curves",
    "Problem": "problems",
    "Store": "store",
    "StoreError": "store",
    "Suite": "suite",
    "Task": "tasks",
    "load_suite": "suite",
    "plan": "planning",
    "run_tasks": "run",
    "suite_names": "suite",
}

__all__ = ["RECIPES", *sorted(_ENGINE)]


def __getattr__(name: str) -> object:
    if name in _ENGINE:
        return getattr(import_module(f"consilience.benchmark.{_ENGINE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
