"""TableModel: a fitted model that knows the tables it was fitted on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from consilience._model_types import model_type
from consilience.tables._dates import date_column
from consilience.tables._table import (
    Table,
    TableError,
    import_pyarrow,
    number_column,
    text_column,
)
from consilience.views import MultiViewData
from consilience.views import _storage as storage
from consilience.views._index import find_labels

__all__ = ["TableModel", "TableView", "align_rows", "view_values"]


@model_type("tables.TableView")
@dataclass(frozen=True)
class TableView:
    """Columns of a view: names (None for a matrix), which are text or dates, width and storage.

    Examples
    --------
    >>> from consilience.tables import TableView
    >>> TableView(["hb", "sex"], ["sex"], 2).width
    2
    """

    columns: list[str] | None
    text_columns: list[str]
    width: int
    sparse: bool = False
    kind: str = "features"
    date_columns: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # columns of the table that are no features

    def values(self, table: Table) -> Any:
        """Extract the view from a table; columns are selected by name, others are ignored."""
        if self.kind != "features":
            raise TableError(
                f"{table.path} cannot be a {self.kind} matrix, whose columns are the training "
                "samples; predict with a MultiViewData from Python"
            )
        if self.columns is None:
            if table.matrix is None:
                # the model was fitted to unnamed columns: any table of that width will do
                numbers = [number_column(table, n, required=True) for n in table.columns]
                if len(numbers) != self.width:
                    raise TableError(
                        f"{table.path} has {len(numbers)} columns, but the view has {self.width} "
                        "unnamed ones"
                    )
                return np.column_stack([n for n in numbers if n is not None])
            if table.matrix.shape[1] != self.width:
                raise TableError(
                    f"{table.path} has {table.matrix.shape[1]} columns, but the view has "
                    f"{self.width}"
                )
            return table.matrix
        known = set(table.columns if table.matrix_columns is None else table.matrix_columns)
        lacking = [name for name in self.columns if name not in known]
        if lacking:
            raise TableError(f"{table.path} lacks the columns {storage.format_list(lacking)}")
        if table.matrix_columns is not None:
            return _select_columns(table, self.columns)
        return view_values(table, self.columns, set(self.text_columns), self.date_columns)[0]


def _select_columns(table: Table, columns: list[str]) -> Any:
    """Columns of a matrix by name."""
    if table.matrix_columns == columns:
        return table.matrix
    position = {name: j for j, name in enumerate(table.matrix_columns or [])}
    return table.matrix[:, [position[name] for name in columns]]


def view_values(
    table: Table,
    columns: list[str],
    text_columns: set[str] | None,
    date_columns: Collection[str] = (),
) -> tuple[Any, list[str]]:
    """Columns of a frame as a matrix of floats, or as a frame if some are text, and which are.

    ``text_columns`` are the columns to read as text; None detects them. Dates become days.
    """
    pa = import_pyarrow()
    numbers: dict[str, np.ndarray | None] = {}
    for name in columns:
        if name in date_columns:
            numbers[name] = date_column(table, name)
        elif text_columns is not None:
            text = name in text_columns
            numbers[name] = None if text else number_column(table, name, required=True)
        else:
            numbers[name] = number_column(table, name)
    text_names = [name for name, values in numbers.items() if values is None]
    if not text_names:
        return np.column_stack([v for v in numbers.values() if v is not None]), []
    cells = {
        name: pa.array(text_column(table, name), pa.string())
        if values is None
        else pa.array(values, pa.float64(), from_pandas=True)
        for name, values in numbers.items()
    }
    return pa.table(cells), text_names


def align_rows(values: Any, rows: np.ndarray) -> Any:
    """Return a view whose row i is row ``rows[i]`` of ``values``, or missing where that is −1."""
    is_present = rows >= 0
    if is_present.all():
        is_same = len(rows) == storage.n_rows(values) and np.array_equal(rows, np.arange(len(rows)))
        return values if is_same else storage.take_rows(values, rows)
    if storage.is_dataframe(values):
        pa = import_pyarrow()
        return values.take(pa.array(rows, mask=~is_present))
    if sp.issparse(values):
        kept = np.flatnonzero(is_present)
        shape = (len(rows), values.shape[0])
        selection = sp.csr_array((np.ones(len(kept)), (kept, rows[kept])), shape)
        return (selection @ values).tocsr()
    out = np.full((len(rows), values.shape[1]), np.nan)
    out[is_present] = values[rows[is_present]]
    return out


@model_type("tables.TableModel")
class TableModel:
    """A fitted pipeline that predicts from tables, with the columns of its views.

    Parameters
    ----------
    estimator : fitted estimator
        Accepts a ``MultiViewData``.
    views : dict of name -> TableView
        The columns of each view.
    method : str
        Name of the method.
    target : str
        Name of what is predicted.
    one_file : bool, default=False
        Whether all views came from one file.
    key : str, default=""
        Column on which the files were joined; empty if they were joined by row order.
    fingerprint : str, default=""
        Fingerprint of the comparison that chose the method, as in its ``run.toml``.
    note : str, default=""
        What the user of the model should know about its choice.
    reference : ReferenceTable, optional
        What the method predicts for left-out samples from subsets of their views; see
        ``consilience.trust``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.tables import Table, TableModel, join_tables
    >>> from consilience.views import ViewPreparer
    >>> from sklearn.pipeline import make_pipeline
    >>> columns = {"a": [0.0, 1, 0, 1], "b": ["x", "y", "x", "y"], "ill": ["n", "j", "n", "j"]}
    >>> table = pa.table(columns)
    >>> views = {"v": ["a"], "w": ["b"]}
    >>> joined = join_tables({"t": Table("t.csv", table)}, target="ill", views=views)
    >>> pipeline = make_pipeline(ViewPreparer(scale="standard"), LateFusionClassifier())
    >>> pipeline = pipeline.fit(joined.data, joined.target)
    >>> model = TableModel(pipeline, joined.views, "Late fusion", "ill")
    >>> model.predict({"v": pa.table({"a": [0.1, 0.9]})}).tolist()
    ['n', 'j']
    """

    def __init__(
        self,
        estimator: Any,
        views: Mapping[str, TableView],
        method: str,
        target: str,
        single_file: bool = False,
        key: str = "",
        fingerprint: str = "",
        note: str = "",
        reference: Any = None,
    ) -> None:
        self.estimator = estimator
        self.views = dict(views)
        self.method = method
        self.target = target
        self.single_file = single_file
        self.key = key
        self.fingerprint = fingerprint
        self.note = note
        self.reference = reference

    @property
    def classes_(self) -> np.ndarray:
        """Class labels."""
        return self.estimator.classes_

    @property
    def view_names_(self) -> list[str]:
        """Names of the views."""
        return list(self.views)

    @property
    def has_probabilities(self) -> bool:
        """Whether ``predict_proba`` works."""
        return hasattr(self.estimator, "predict_proba")

    def predict(self, X: Any) -> np.ndarray:
        """Predict class labels.

        Parameters
        ----------
        X : dict of view -> dataframe or matrix, or MultiViewData
            Samples; views that are not given are missing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.estimator.predict(self.to_multiview(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        X : dict of view -> dataframe or matrix, or MultiViewData
            Samples; views that are not given are missing.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self.estimator.predict_proba(self.to_multiview(X))

    def to_multiview(self, X: Any) -> MultiViewData:
        """Convert dataframes and matrices to the views of the model.

        Parameters
        ----------
        X : dict of view -> dataframe or matrix, or MultiViewData
            Samples in the same order in every view.

        Returns
        -------
        MultiViewData
        """
        if isinstance(X, MultiViewData):
            return X
        if not isinstance(X, Mapping):
            raise TypeError(f"X must be a dict of view -> table, got {type(X).__name__}")
        unknown = [name for name in X if name not in self.views]
        if unknown:
            raise ValueError(
                f"unknown views {storage.format_list(unknown)}; "
                f"the model has {storage.format_list(self.views)}"
            )
        return MultiViewData(
            {name: self.views[name].values(_to_table(name, X[name])) for name in X},
            sample_ids=find_labels(X),
        )


def _to_table(name: str, value: Any) -> Table:
    pa = import_pyarrow()
    if storage.is_dataframe(value):
        frame = nw.from_native(value, eager_only=True).to_arrow()
        return Table(f"view {name!r}", frame)
    matrix = sp.csr_array(value) if sp.issparse(value) else np.asarray(value, dtype=np.float64)
    return Table(f"view {name!r}", pa.table({}), matrix)
