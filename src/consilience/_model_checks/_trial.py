"""Trial predictions: rows that fit the layout of a model must be predicted with finite numbers.

``save`` notes in the file which of the trials a model passes, and ``load`` repeats these. So a file
whose arrays do not fit together is refused when it is loaded, not when it is used.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._model_checks._walk import public_name_of
from consilience.views import MultiViewData
from consilience.views._layout import MATCHED, ViewLayout
from consilience.views._pairwise import Reference

__all__ = ["TRIALS", "failed_trials", "passed_trials"]

TRIALS = ("labels", "dense", "sparse", "missing")
METHODS = ("predict", "decision_function", "predict_proba")
ROW_SCALES = (0.0, 1.0, 1.0, 10.0)  # of the values in the rows
MAX_TRIAL_SECONDS = 0.1  # longer ones would make loading slow
MAX_TRIAL_CELLS = 2**22  # wider models are not tried: their rows alone could fill the memory


def passed_trials(model: Any) -> list[str]:
    """Trials whose predictions are finite and do not take long."""
    passed: list[str] = []
    for name in TRIALS:
        if name == "sparse" and "dense" in passed:  # the same arrays once more
            continue
        # the first call may import modules
        if any(_passes_quickly(model, name) for _ in range(2)):
            passed.append(name)
    return passed


def _passes_quickly(model: Any, trial: str) -> bool:
    start = time.process_time()
    return _failure(model, trial) == "" and time.process_time() - start < MAX_TRIAL_SECONDS


def failed_trials(model: Any, trials: Iterable[Any]) -> str:
    """What is wrong with the first of these trials that fails; empty if all of them pass."""
    failures = (_failure(model, name) for name in TRIALS if name in trials)
    return next(filter(None, failures), "")


def _failure(model: Any, trial: str) -> str:
    """Why a trial fails; empty if it does not."""
    try:
        methods = [method for method in METHODS if hasattr(model, method)]
        method = methods[0] if trial == "labels" else methods[-1]
        output = np.asarray(getattr(model, method)(_trial_rows(model, trial)))
    except Exception as error:  # whatever the arrays of a forged file lead to
        return f"its predictions fail ({type(error).__name__}: {error})".splitlines()[0]
    if len(output) != len(ROW_SCALES):
        return f"{method} does not return a result for each row"
    if output.dtype.kind in "fc" and not np.isfinite(output).all():
        return f"{method} returns numbers that are not finite"
    return ""


def _trial_rows(model: Any, trial: str) -> Any:
    views = getattr(model, "views", None)
    if hasattr(model, "estimator") and isinstance(views, dict) and hasattr(model, "to_multiview"):
        return _tables(views, trial)
    layout = _find_layout(model)
    if layout is None:
        return _matrix(model.n_features_in_, trial)
    return _multiview(model, layout, trial)


def _find_layout(model: Any) -> ViewLayout | None:
    """Layout of the views that a model, or the first step of a pipeline, was fitted on."""
    while isinstance(getattr(model, "steps", None), list):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        model = next(step for step in steps if not _takes_any_columns(step))
    return getattr(model, "_layout", None)


def _takes_any_columns(step: Any) -> bool:
    """Whether a step only leaves columns of dataframes out, and so has no layout of its own."""
    return public_name_of(type(step)) == "consilience.tables.FeatureSelector"


def _values(n_columns: int) -> np.ndarray:
    if not 0 < n_columns * len(ROW_SCALES) <= MAX_TRIAL_CELLS:
        raise ValueError(f"too wide: {n_columns} columns")
    values = np.random.default_rng(0).normal(size=(len(ROW_SCALES), n_columns))
    return values * np.array(ROW_SCALES)[:, None]


def _matrix(n_columns: int, trial: str) -> Any:
    if trial == "missing":
        raise ValueError("a matrix has no views")
    return sp.csr_array(_values(n_columns)) if trial == "sparse" else _values(n_columns)


def _multiview(model: Any, layout: ViewLayout, trial: str) -> MultiViewData:
    views, column_ids, origin = {}, {}, None
    for name, width in zip(layout.names, layout.widths, strict=True):
        if width is None:
            reference = _find_reference(model)
            column_ids[name], origin = reference.ids, reference.origin
            views[name] = abs(_values(len(reference.ids)))
        else:
            views[name] = _matrix(width, "sparse" if trial == "sparse" else "dense")
    data = MultiViewData(
        views,
        present=_present(len(views), trial),
        sample_ids=[f"trial {i}" for i in range(len(ROW_SCALES))] if column_ids else None,
        kinds=dict(zip(layout.names, layout.kinds, strict=True)),
        column_ids=column_ids,
    )
    if column_ids:
        data._origin = origin
    return data._with_column_names(dict.fromkeys(views, MATCHED))


def _present(n_views: int, trial: str) -> np.ndarray | None:
    """Complete rows, or rows that lack one view each."""
    if trial != "missing":
        return None
    if n_views == 1:
        raise ValueError("a single view cannot be missing")
    rows = np.arange(len(ROW_SCALES))
    present = np.ones((len(rows), n_views), dtype=bool)
    present[rows, rows % n_views] = False
    return present


def _find_reference(model: Any) -> Reference:
    """Samples that a model compares new ones with."""
    visited, stack = set(), [model]
    while stack:
        value = stack.pop()
        if isinstance(value, Reference):
            return value
        if id(value) in visited:
            continue
        visited.add(id(value))
        if isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list | tuple):
            stack.extend(value)
        else:
            stack.extend(getattr(value, "__dict__", {}).values())
    raise ValueError("a pairwise view has no reference")


def _tables(views: dict[str, Any], trial: str) -> dict[str, Any]:
    if trial not in ("labels", "dense"):
        raise ValueError("tables are dense and complete")
    import pyarrow as pa

    tables: dict[str, Any] = {}
    for name, view in views.items():
        values = _values(view.width)
        if view.columns is None:
            tables[name] = values
            continue
        columns: dict[str, Any] = dict(zip(view.columns, values.T, strict=not view.words))
        columns.update(dict.fromkeys(view.text_columns, ["a"] * len(ROW_SCALES)))
        columns.update(dict.fromkeys(view.date_columns, ["2020-01-01"] * len(ROW_SCALES)))
        tables[name] = pa.table(columns)
    return tables
