"""Comparison of methods: named recipes, suites, and the engine that runs them.

Recipes need only the core dependencies. The engine is imported on first use and needs the extra
``cli``.
"""

from importlib import import_module

from consilience.benchmark.recipes import RECIPES, Recipe, get_recipes

_ENGINE = {
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

__all__ = ["RECIPES", "Recipe", "get_recipes", *sorted(_ENGINE)]


def __getattr__(name: str) -> object:
    if name in _ENGINE:
        return getattr(import_module(f"consilience.benchmark.{_ENGINE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
