"""TableModel: a fitted model that knows the tables it was fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from consilience.tables._files import Table, TableError, arrow, number_column, text_column
from consilience.views import MultiViewData
from consilience.views import _storage as storage

__all__ = ["TableModel", "TableView", "align_rows", "view_values"]


@dataclass(frozen=True)
class TableView:
    """Columns of a view: names (None for a matrix), which are text, storage, and kind."""

    columns: list[str] | None
    text_columns: list[str]
    width: int
    sparse: bool = False
    kind: str = "features"

    def values(self, table: Table) -> Any:
        """The view in a table; columns are found by name, and further ones are left alone."""
        if self.kind != "features":
            raise TableError(
                f"{table.path} cannot be a {self.kind} matrix, whose columns are the samples of "
                "fit; predict with a MultiViewData from Python"
            )
        if self.columns is None:
            if table.matrix is None:
                # a matrix without names was fitted: any table of that many numbers will do
                numbers = [number_column(table, n, required=True) for n in table.columns]
                if len(numbers) != self.width:
                    raise TableError(
                        f"{table.path} has {len(numbers)} columns, but the view has {self.width} "
                        "without names"
                    )
                return np.column_stack([n for n in numbers if n is not None])
            if table.matrix.shape[1] != self.width:
                raise TableError(
                    f"{table.path} has {table.matrix.shape[1]} columns, but the view has "
                    f"{self.width}"
                )
            return table.matrix
        lacking = [name for name in self.columns if name not in set(table.columns)]
        if lacking:
            raise TableError(f"{table.path} lacks the columns {storage.format_list(lacking)}")
        return view_values(table, self.columns, set(self.text_columns))[0]


def view_values(
    table: Table, columns: list[str], text_columns: set[str] | None
) -> tuple[Any, list[str]]:
    """Columns of a frame as a matrix of floats, or as a frame if some are text; and which are.

    With ``text_columns`` the kinds of the columns are given, otherwise they are found.
    """
    pa = arrow()
    numbers: dict[str, np.ndarray | None] = {}
    for name in columns:
        if text_columns is not None:
            text = name in text_columns
            numbers[name] = None if text else number_column(table, name, required=True)
        else:
            numbers[name] = number_column(table, name)
    result = [name for name, values in numbers.items() if values is None]
    if not result:
        return np.column_stack([v for v in numbers.values() if v is not None]), []
    cells = {
        name: pa.array(text_column(table, name), pa.string())
        if values is None
        else pa.array(values, pa.float64(), from_pandas=True)
        for name, values in numbers.items()
    }
    return pa.table(cells), result


def align_rows(values: Any, rows: np.ndarray) -> Any:
    """Row ``rows[i]`` of the view in place i, an empty one where that is −1."""
    is_present = rows >= 0
    if is_present.all():
        return storage.take_rows(values, rows)
    if storage.is_dataframe(values):
        pa = arrow()
        return values.take(pa.array(rows, mask=~is_present))
    if sp.issparse(values):
        kept = np.flatnonzero(is_present)
        shape = (len(rows), values.shape[0])
        place = sp.csr_array((np.ones(len(kept)), (kept, rows[kept])), shape)
        return (place @ values).tocsr()
    out = np.full((len(rows), values.shape[1]), np.nan)
    out[is_present] = values[rows[is_present]]
    return out


class TableModel:
    """A fitted pipeline, with the views and columns it takes and what it predicts.

    Parameters
    ----------
    estimator : fitted estimator
        Takes a ``MultiViewData``.
    views : dict of name -> TableView
        The columns of each view.
    method : str
        Name of the method.
    target : str
        What is predicted.
    one_file : bool, default=False
        Whether all views came from one file.
    key : str, default=""
        Column by which the files were joined; empty for the order of their rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from consilience.tables import assemble, Table, TableModel, preparation
    >>> from consilience.fusion import LateFusionClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> columns = {"a": [0.0, 1, 0, 1], "b": ["x", "y", "x", "y"], "ill": ["n", "j", "n", "j"]}
    >>> table = pa.table(columns)
    >>> read = assemble({"t": Table("t.csv", table)}, target="ill", views={"v": ["a"], "w": ["b"]})
    >>> pipeline = make_pipeline(preparation(read.data), LateFusionClassifier())
    >>> pipeline = pipeline.fit(read.data, read.target)
    >>> model = TableModel(pipeline, read.views, "Late fusion", "ill")
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
    ) -> None:
        self.estimator = estimator
        self.views = dict(views)
        self.method = method
        self.target = target
        self.single_file = single_file
        self.key = key

    @property
    def classes_(self) -> np.ndarray:
        """The labels."""
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
        """Labels of samples.

        Parameters
        ----------
        X : dict of view -> dataframe or matrix, or MultiViewData
            Samples; views that are absent are missing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.estimator.predict(self.read(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : dict of view -> dataframe or matrix, or MultiViewData
            Samples; views that are absent are missing.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self.estimator.predict_proba(self.read(X))

    def read(self, X: Any) -> MultiViewData:
        """Dataframes and matrices as the views that were fitted.

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
        return MultiViewData({name: self.views[name].values(_table(name, X[name])) for name in X})


def _table(name: str, value: Any) -> Table:
    pa = arrow()
    if storage.is_dataframe(value):
        frame = nw.from_native(value, eager_only=True).to_arrow()
        return Table(f"view {name!r}", frame)
    matrix = sp.csr_array(value) if sp.issparse(value) else np.asarray(value, dtype=np.float64)
    return Table(f"view {name!r}", pa.table({}), matrix)
