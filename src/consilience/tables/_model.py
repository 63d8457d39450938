"""TableModel: a fitted model that knows the tables it was fitted on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from consilience._model_types import model_type
from consilience.tables._categories import Categories, category_column, count_unseen
from consilience.tables._dates import date_column
from consilience.tables._table import (
    Table,
    TableError,
    check_finite_columns,
    float_columns,
    has_floats_only,
    import_pyarrow,
    number_column,
    text_column,
)
from consilience.tables._words import count_words
from consilience.views import MultiViewData
from consilience.views import _storage as storage
from consilience.views._index import find_labels
from consilience.views._layout import MATCHED

__all__ = ["TableModel", "TableView", "align_rows", "align_view", "view_values"]


POINTS_MEAN = {"thousands": "thousands", "points": "thousands", "decimals": "decimals"}


@model_type("tables.TableView")
@dataclass(frozen=True)
class TableView:
    """Columns of a view: names (None for a matrix), which are text or dates, width and storage.

    A column of free text is a view of its own, of the counts of its words.

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
    date_formats: tuple[tuple[str, str], ...] = ()  # of columns of dates; empty if not text
    words: tuple[str, ...] = ()  # of the only column, if it is free text
    source: str = ""  # view whose table has the column, if it is another one
    first_index: int | None = None  # of the features of svmlight files: 0 or 1
    categories: Categories = ()  # of text columns in training
    spells_alike: bool = False  # whether other categories were spelled in one way in training
    decimal: str = ""  # mark of the text files; empty if nothing told it
    points: tuple[tuple[str, str], ...] = ()  # columns, and their meaning, as in Points
    percents: tuple[str, ...] = ()  # columns of numbers with per cent signs

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features: columns, or words."""
        return list(self.words) if self.words else self.columns

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
        if self.words:
            return count_words(text_column(table, self.columns[0]), self.words)
        self._check_points(table)
        self._check_percents(table)
        dates = dict.fromkeys(self.date_columns, "") | dict(self.date_formats)
        others = dict.fromkeys(self.text_columns, () if self.spells_alike else None)
        categories = others | dict(self.categories)
        return view_values(table, self.columns, set(self.text_columns), dates, categories)[0]

    def _check_points(self, table: Table) -> None:
        """Check that points mean what they meant in training."""
        for name, meaning in self.points:
            expected = POINTS_MEAN.get(meaning)
            given = POINTS_MEAN.get(table.points[name].meaning) if name in table.points else None
            if expected and given and expected != given:
                raise TableError(
                    f"{table.path}: the points of column {name!r} are {expected} in the training "
                    f"files, but {given} here; write them as there"
                )

    def _check_percents(self, table: Table) -> None:
        """Check that numbers have per cent signs if and only if they had some in training."""
        if table.percents is None:
            return
        for name in self.columns or ():
            is_empty = table.frame[name].null_count == table.n_rows
            if (name in table.percents) != (name in self.percents) and not is_empty:
                given, expected = ("", "no ") if name in table.percents else ("no ", "")
                raise TableError(
                    f"{table.path}: column {name!r} has {given}per cent signs, but {expected}per "
                    "cent signs in the training files; write it as there"
                )

    def align(self, table: Table, rows: np.ndarray) -> tuple[Any, np.ndarray]:
        """Extract the view, with row ``rows[i]`` of the table as row i, and which rows have it."""
        return align_view(self.values(table), rows, self.empty_texts(table))

    def empty_texts(self, table: Table) -> np.ndarray | None:
        """Mask of the rows without a text; None if the view is not the words of one."""
        if not self.words or self.columns is None:
            return None
        return np.array([not cell for cell in text_column(table, self.columns[0])], dtype=bool)

    def unseen_categories(self, table: Table) -> dict[str, tuple[int, int]]:
        """Columns with categories that were not in training: number of such cells, and of all."""
        counts = {name: count_unseen(table, name, known) for name, known in self.categories}
        return {name: count for name, count in counts.items() if count[0]}


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
    dates: Mapping[str, str] | None = None,
    categories: Mapping[str, Sequence[str] | None] | None = None,
) -> tuple[Any, list[str]]:
    """Columns of a frame as a matrix of floats, or as a frame if some are text, and which are.

    ``text_columns`` are the columns to read as text; None detects them. ``dates`` are columns of
    dates, which become days, and their formats. ``categories`` are those of text columns that a
    model knows; None leaves the cells as they are spelled.
    """
    pa = import_pyarrow()
    if not dates and not text_columns and has_floats_only(frame := table.frame.select(columns)):
        matrix = float_columns(frame)
        check_finite_columns(table, columns, matrix)
        return matrix, []
    numbers: dict[str, np.ndarray | None] = {}
    dates = dates or {}
    for name in columns:
        if name in dates:
            numbers[name] = date_column(table, name, dates[name])
        elif text_columns is not None:
            text = name in text_columns
            numbers[name] = None if text else number_column(table, name, required=True)
        else:
            numbers[name] = number_column(table, name)
    text_names = [name for name, values in numbers.items() if values is None]
    if not text_names:
        return np.column_stack([v for v in numbers.values() if v is not None]), []
    known = categories or {}
    cells = {
        name: pa.array(category_column(table, name, known.get(name, ())), pa.string())
        if values is None
        else pa.array(values, pa.float64(), from_pandas=True)
        for name, values in numbers.items()
    }
    return pa.table(cells), text_names


def align_view(
    values: Any, rows: np.ndarray, is_empty: np.ndarray | None = None
) -> tuple[Any, np.ndarray]:
    """Align rows as ``align_rows`` does; also return which rows are present.

    ``is_empty`` are rows of ``values`` that are missing although no value of theirs is.
    """
    aligned = align_rows(values, rows)
    is_present = (rows >= 0) & ~storage.missing_rows(aligned)
    return aligned, is_present if is_empty is None else is_present & ~is_empty[rows]


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
    single_file : bool, default=False
        Whether all views came from one file.
    key : str, default=""
        Column on which the files were joined; empty if they were joined by row order.
    fingerprint : str, default=""
        Fingerprint of the comparison that chose the method, as in its ``run.toml``.
    note : str, default=""
        What the user of the model should know about its choice.
    transposed : collection of str
        Views whose files had a column for each sample.
    normalised_keys : bool, default=False
        Whether case, blanks and leading zeros of the keys were ignored.
    reference : ReferenceTable, optional
        What the method predicts for left-out samples from subsets of their views; see
        ``consilience.trust``.
    metric : str, default=""
        Metric by which the method was chosen.
    positive : str, default=""
        Name of the positive one of two classes; the second if empty.
    na : collection of str
        Cells that mean missing besides the usual ones.
    costs : dict of view -> float, optional
        What measuring each view costs, for advice on which one to measure next.

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

    # of models that were saved before these existed
    metric = ""
    positive = ""
    na: tuple[str, ...] = ()
    costs: Mapping[str, float] | None = None

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
        transposed: Collection[str] = (),
        normalised_keys: bool = False,
        reference: Any = None,
        metric: str = "",
        positive: str = "",
        na: Collection[str] = (),
        costs: Mapping[str, float] | None = None,
    ) -> None:
        self.estimator = estimator
        self.views = dict(views)
        self.method = method
        self.target = target
        self.single_file = single_file
        self.key = key
        self.fingerprint = fingerprint
        self.note = note
        self.transposed = tuple(transposed)
        self.normalised_keys = normalised_keys
        self.reference = reference
        self.metric = metric
        self.positive = positive
        self.na = tuple(na)
        self.costs = None if costs is None else {view: float(c) for view, c in costs.items()}

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
        tables = {name: _to_table(name, X[name]) for name in X}
        views = {name: self.views[name].values(table) for name, table in tables.items()}
        absent = [
            np.zeros(table.n_rows, dtype=bool) if empty is None else empty
            for table, empty in ((t, self.views[name].empty_texts(t)) for name, t in tables.items())
        ]
        data = MultiViewData(
            views,
            present=~np.column_stack(absent) if any(mask.any() for mask in absent) else None,
            sample_ids=find_labels(X),
        )
        return data._with_column_names(dict.fromkeys(views, MATCHED))


def _to_table(name: str, value: Any) -> Table:
    pa = import_pyarrow()
    if storage.is_dataframe(value):
        frame = nw.from_native(value, eager_only=True)
        # the index of pandas is no column
        cells = frame.to_arrow().select(list(map(str, frame.columns)))
        return Table(f"view {name!r}", cells, percents=None)
    matrix = sp.csr_array(value) if sp.issparse(value) else np.asarray(value, dtype=np.float64)
    return Table(f"view {name!r}", pa.table({}), matrix)
