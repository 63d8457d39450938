"""A fitted classifier as an MLflow model (pyfunc), without pickle.

The MLflow model has this file as its code and two artifacts: the model file of
``consilience.io.save``, which contains no code, and the names of the columns of each view. It
takes one dataframe with the columns of all views; a view whose columns are left out, or that is
empty in a row, is missing.

    from consilience_mlflow import log_model, save_model

    save_model(model, "my_model", columns={"rna": rna.columns, "protein": protein.columns})
    mlflow.pyfunc.load_model("my_model").predict(frame)

With ``log_model`` in place of ``save_model`` it becomes part of the current run. Extra arguments
of both, such as ``registered_model_name``, are those of ``mlflow.pyfunc``.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd

import consilience
from consilience.io import load, save

__all__ = ["ConsilienceModel", "log_model", "save_model"]


class ConsilienceModel(mlflow.pyfunc.PythonModel):
    """Labels, and probabilities where the classifier has them, of the rows of a dataframe."""

    def load_context(self, context: Any) -> None:
        """Load the classifier and the columns of its views."""
        self.model = load(context.artifacts["model"])
        self.columns = json.loads(Path(context.artifacts["columns"]).read_text(encoding="utf-8"))

    def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def] # MLflow reads hints
        """Return a dataframe with a column ``label`` and, if possible, one for each class."""
        data = split_columns(model_input, self.columns)
        out = {"label": self.model.predict(data)}
        if hasattr(self.model, "predict_proba"):
            probabilities = self.model.predict_proba(data).T
            out |= {
                f"probability_{name}": column
                for name, column in zip(self.model.classes_, probabilities, strict=True)
            }
        return pd.DataFrame(out, index=model_input.index)


def split_columns(
    frame: pd.DataFrame, columns: Mapping[str, list[str]]
) -> consilience.MultiViewData:
    """Views of the dataframe; those of which it has no column are left out."""
    views = {name: own for name, own in columns.items() if set(own) & set(frame.columns)}
    lost = [column for own in views.values() for column in own if column not in frame.columns]
    if lost:
        raise ValueError(f"the input lacks the column {lost[0]!r} of a view that it has in part")
    if not views:
        raise ValueError(f"the input has no column of any view: {', '.join(columns)}")
    parts = {name: frame[own] for name, own in views.items()}
    present = {name: ~part.isna().all(axis=1).to_numpy() for name, part in parts.items()}
    return consilience.MultiViewData(parts, present=pd.DataFrame(present).to_numpy())


def save_model(
    model: Any, path: str | Path, *, columns: Mapping[str, Iterable[str]], **options: Any
) -> None:
    """Write an MLflow model to a folder that does not exist yet."""
    _with_artifacts(mlflow.pyfunc.save_model, model, columns, {"path": str(path), **options})


def log_model(
    model: Any, name: str = "model", *, columns: Mapping[str, Iterable[str]], **options: Any
) -> Any:
    """Log an MLflow model in the current run, and return MLflow's description of it."""
    return _with_artifacts(mlflow.pyfunc.log_model, model, columns, {"name": name, **options})


def _with_artifacts(
    function: Callable[..., Any],
    model: Any,
    columns: Mapping[str, Iterable[str]],
    options: dict[str, Any],
) -> Any:
    requirements = [f"consilience[io]=={consilience.__version__}", "pandas"]
    with tempfile.TemporaryDirectory() as folder:
        files = {"model": Path(folder, "model.skops"), "columns": Path(folder, "columns.json")}
        save(model, files["model"])
        names = {view: [str(column) for column in own] for view, own in columns.items()}
        files["columns"].write_text(json.dumps(names), encoding="utf-8")
        return function(
            python_model=__file__,  # the code itself, so that nothing is pickled
            artifacts={name: str(file) for name, file in files.items()},
            pip_requirements=requirements,
            **options,
        )


mlflow.models.set_model(ConsilienceModel())
