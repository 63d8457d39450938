"""Importance of the features for the best method: ``features.csv`` and a summary for the report."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from consilience._atomic_write import write_atomically
from consilience.comparison.folder import FEATURES_FILE_NAME
from consilience.comparison.inputs import ComparisonInput
from consilience.comparison.record import FeatureRow, FeatureSummary
from consilience.inspection import FeatureImportance, feature_importance
from consilience.tables._var_columns import VarColumns, VarCopy, write_var_copy

__all__ = [
    "rank_features",
    "summarise_features",
    "write_features",
    "write_var_copies",
]

FDR = 0.1
N_SHOWN = 10  # features of each view
VAR_COLUMNS = ("importance", "std", "frequency", "p_value", "q_value")


def rank_features(
    data: ComparisonInput, fitted: Any, seed: int
) -> tuple[FeatureImportance | None, str]:
    """Importance of the features for clones of a classifier; None and the reason if not known."""
    problem = data.problem
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of the folds were recorded
            importance = feature_importance(
                fitted,
                problem.data,
                problem.target,
                groups=problem.groups,
                sample_weight=problem.sample_weight,
                feature_names=_column_names(data),
                random_state=seed,
            )
    except (TypeError, ValueError) as error:
        return None, str(error).splitlines()[0]
    return importance, ""


def _column_names(data: ComparisonInput) -> dict[str, list[str]]:
    """Names of the columns, which views of numbers and of words do not keep themselves."""
    names = {name: view.feature_names for name, view in data.views.items()}
    return {name: own for name, own in names.items() if own is not None}


def summarise_features(importance: FeatureImportance) -> FeatureSummary:
    """The most important features of each view."""
    best = importance.top(N_SHOWN, per_view=True)
    rows = [
        FeatureRow(
            view=str(best.view[j]),
            feature=str(best.feature[j]),
            importance=float(best.importance[j]),
            std=float(best.std[j]),
            frequency=float(best.frequency[j]),
            q_value=float(best.q_value[j]),
            higher_in=str(best.higher_in[j]),
            partner=str(best.partner[j]),
        )
        for j in range(len(best))
    ]
    n_selected = int((importance.q_value <= FDR).sum())
    return FeatureSummary(len(importance), n_selected, FDR, rows)


def write_features(folder: Path, importance: FeatureImportance | None) -> None:
    """Write the table of all features; that of an earlier run is removed if there is none."""
    path = folder / FEATURES_FILE_NAME
    if importance is None:
        path.unlink(missing_ok=True)
    else:
        write_atomically(path, feature_csv(importance))


def write_var_copies(copies: Sequence[VarCopy], importance: FeatureImportance) -> None:
    """Write copies of h5ad and h5mu files with the importance of the features in ``.var``."""
    values = {}
    for view in dict.fromkeys(importance.view.tolist()):
        own = importance.take(importance.view == view)
        columns = {name: getattr(own, name) for name in VAR_COLUMNS}
        columns["higher_in"] = own.higher_in.astype(str)
        values[view] = VarColumns([str(name) for name in own.feature], columns)
    for copy in copies:
        write_var_copy(copy, values)


def feature_csv(importance: FeatureImportance) -> str:
    """All features, the most important first."""
    columns = importance.top(len(importance)).to_columns()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_cells(values) for values in columns.values()), strict=True))
    return text.getvalue()


def _cells(values: Any) -> list[str]:
    return [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values.tolist()]
