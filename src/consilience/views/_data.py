"""MultiViewData: the container for several views of the same samples.

It implements just enough of the array interface (``shape``, ``len``, ``data[rows]``) for
scikit-learn's splitters, searches and meta-estimators to index it by rows, and it is never
converted to a single array implicitly. Kernel and distance views record the sample id of each
column, so indexing rows leaves the columns unchanged: an estimator selects the columns of its
training rows by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience.views import _lazy as lazy
from consilience.views import _storage as storage
from consilience.views._checks import (
    as_dict,
    check_groups,
    check_kind,
    check_known_views,
    check_present,
    check_rows,
    common_length,
)
from consilience.views._index import (
    align_rows,
    check_aligned,
    check_given_ids,
    find_labels,
    has_index,
)
from consilience.views._pairwise import (
    PAIRWISE,
    PairwiseView,
    Reference,
    check_ids,
    fingerprint,
    pairwise_view,
)
from consilience.views._show import as_html, as_text

__all__ = ["MultiViewData"]

ARRAY_ERROR = (
    "MultiViewData holds several matrices and cannot be converted to one array; use "
    "data.to_array() to concatenate the views (and pass views=data.view_slices to the "
    "estimator), or data['name'] for one view"
)


class MultiViewData:
    """Several views of the same samples.

    Parameters
    ----------
    views : dict of name -> matrix
        Each is an ndarray, a SciPy sparse matrix, a dataframe (pandas, polars, pyarrow), or a 1-D
        array of strings (raw documents for a vectoriser), with one row per sample. Every view
        keeps its own dtype and storage; nothing is copied. Dask arrays stay lazy, and so do
        ``present`` and ``sample_ids`` then.
    present : bool array of shape (n_samples, n_views), optional
        False where a sample lacks a view; the values there are never read. By default a row of a
        view is missing if all its values are NaN (null).
    sample_ids : array of shape (n_samples,), optional
        Identifiers of the samples, needed to match kernel or distance views across containers. By
        default they are the index of the dataframes, which must agree, or row numbers if there is
        none or it is a default one (0, 1, ...).
    kinds : dict of name -> {"features", "kernel", "distance"}, optional
        Meaning of the columns of each view; "features" by default.
    column_ids : dict of name -> array, optional
        For kernel and distance views that are not square: the sample id of each column.
    groups : array of shape (n_samples,), optional
        Group of each sample, e.g. the patient of repeated measurements. Samples of a group are kept
        together in the folds of cross-validation. By default, sample ids that are given and not
        unique are the groups.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience import MultiViewData
    >>> data = MultiViewData({"image": np.zeros((4, 3)), "text": np.ones((4, 2))})
    >>> data.shape, data.view_names
    ((4, 5), ('image', 'text'))
    >>> data[[0, 2]]["text"].shape
    (2, 2)
    """

    __slots__ = (
        "_groups",
        "_ids_are_labels",
        "_kinds",
        "_n",
        "_origin",
        "_present",
        "_sample_ids",
        "_views",
    )

    _views: dict[str, Any]
    _kinds: dict[str, str]
    _present: np.ndarray
    _sample_ids: np.ndarray
    _n: int
    # default ids (row numbers) are only comparable within the same data, which this identifies
    _origin: str | None
    _groups: np.ndarray | None
    # whether the index of a series can be compared with the ids; not if all views are arrays
    _ids_are_labels: bool

    def __init__(
        self,
        views: Mapping[str, Any],
        present: Any = None,
        sample_ids: Any = None,
        kinds: Mapping[str, str] | None = None,
        column_ids: Mapping[str, Any] | None = None,
        groups: Any = None,
    ) -> None:
        if not isinstance(views, Mapping):
            raise TypeError(
                f"views must be a dict of name -> matrix, got {type(views).__name__}; "
                "as_multiview reads lists and other containers"
            )
        if not views:
            raise ValueError("MultiViewData needs at least one view, got an empty dict")
        for name in views:
            if not isinstance(name, str) or not name:
                raise TypeError(f"view names must be non-empty strings, got {name!r}")
        kinds, column_ids = as_dict("kinds", kinds), as_dict("column_ids", column_ids)
        check_known_views("kinds", kinds, views)
        check_known_views("column_ids", column_ids, views)
        stored = {name: storage.validate_view(value, name) for name, value in views.items()}
        if any(storage.is_lazy(view) for view in stored.values()):
            self._init_lazy(stored, present, sample_ids, kinds)
            self._groups = check_groups(groups, sample_ids, self._n)
            return
        labels = find_labels(views) if sample_ids is None else sample_ids
        self._n = common_length(stored)
        self._kinds = {name: check_kind(name, kinds.get(name, "features")) for name in stored}
        self._sample_ids = check_ids("sample_ids", labels, self._n)
        if sample_ids is not None:
            check_given_ids(views, sample_ids, self._sample_ids)
        self._ids_are_labels = labels is not None or any(map(has_index, views.values()))
        check_aligned(self, groups=groups, present=present)
        self._groups = check_groups(groups, sample_ids, self._n)
        self._present = check_present(present, stored, self._n)
        self._views = {
            name: value
            if self._kinds[name] == "features"
            else pairwise_view(name, value, self._sample_ids, column_ids)
            for name, value in stored.items()
        }
        misplaced = [name for name in column_ids if self._kinds[name] == "features"]
        if misplaced:
            raise ValueError(
                "column_ids may only be given for kernel and distance views, not for features: "
                + storage.format_list(misplaced)
            )
        self._origin = fingerprint(self._views) if labels is None else None

    def _init_lazy(
        self, views: dict[str, Any], present: Any, sample_ids: Any, kinds: dict[str, str]
    ) -> None:
        pairwise = [name for name, kind in kinds.items() if kind != "features"]
        if pairwise:
            raise ValueError(
                f"kernel and distance views cannot be dask arrays: {storage.format_list(pairwise)}"
            )
        self._views = lazy.align_blocks(views)
        self._n, self._origin = common_length(self._views), None
        self._kinds = dict.fromkeys(views, "features")
        self._ids_are_labels = sample_ids is not None
        self._present = lazy.lazy_present(self._views, present)
        self._sample_ids = (
            lazy.row_numbers(self._present)
            if sample_ids is None
            else check_ids("sample_ids", sample_ids, self._n)
        )

    @classmethod
    def _from_parts(
        cls,
        views: dict[str, Any],
        kinds: dict[str, str],
        present: np.ndarray,
        sample_ids: np.ndarray,
        origin: str | None,
        groups: np.ndarray | None = None,
        ids_are_labels: bool = False,
    ) -> MultiViewData:
        """Construct a container from validated parts without validating them again."""
        data = object.__new__(cls)
        data._n, data._views, data._kinds = len(present), views, kinds
        data._present, data._sample_ids, data._origin = present, sample_ids, origin
        data._groups, data._ids_are_labels = groups, ids_are_labels
        for array in (present, sample_ids, groups):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        return data

    def _replace(
        self,
        views: dict[str, Any],
        kinds: dict[str, str] | None = None,
        present: np.ndarray | None = None,
    ) -> MultiViewData:
        """Return a container of other views (validated) of the same samples."""
        return self._from_parts(
            views,
            self._kinds if kinds is None else kinds,
            self._present if present is None else present,
            self._sample_ids,
            self._origin,
            self._groups,
            self._ids_are_labels,
        )

    def with_groups(self, groups: Any) -> MultiViewData:
        """Return a container of the same views and samples with other groups.

        Parameters
        ----------
        groups : array of shape (n_samples,) or None
            Group of each sample; None for no groups.

        Returns
        -------
        MultiViewData
        """
        check_aligned(self, groups=groups)
        data = self._replace(self._views)
        data._groups = check_groups(groups, None, self._n)
        return data

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], on: str | None = None) -> MultiViewData:
        """Join tables by a key; a view is missing for the samples absent from its table.

        Parameters
        ----------
        tables : dict of name -> dataframe
            One table per view, with a unique key in each row.
        on : str, optional
            The key: a column, or the name of the index. By default the tables are joined on their
            index. The keys become ``sample_ids`` and are not features.

        Returns
        -------
        MultiViewData
            Samples in order of first appearance.

        Examples
        --------
        >>> import pandas as pd
        >>> from consilience import MultiViewData
        >>> rna = pd.DataFrame({"patient": ["a", "b"], "g1": [0.5, 1.5]})
        >>> protein = pd.DataFrame({"patient": ["b", "c"], "p1": [7.0, 8.0]})
        >>> data = MultiViewData.from_tables({"rna": rna, "protein": protein}, on="patient")
        >>> data.sample_ids.tolist()
        ['a', 'b', 'c']
        >>> data.present.tolist()
        [[True, False], [True, True], [False, True]]
        """
        from consilience.views._join import join_dataframes

        return join_dataframes(tables, on)

    # -- properties --------------------------------------------------------------------------

    @property
    def view_names(self) -> tuple[str, ...]:
        """Names of the views, in order."""
        return tuple(self._views)

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self._views)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and total number of columns of all views."""
        return self._n, sum(self.widths.values())

    @property
    def widths(self) -> dict[str, int]:
        """Number of columns of each view."""
        return {
            name: v.shape[1] if isinstance(v, PairwiseView) else storage.n_columns(v)
            for name, v in self._views.items()
        }

    @property
    def view_slices(self) -> dict[str, slice]:
        """Columns of each view in ``to_array()``; pass them to an estimator as ``views=``."""
        ends = np.cumsum(list(self.widths.values())).tolist()
        return {
            name: slice(end - width, end)
            for (name, width), end in zip(self.widths.items(), ends, strict=True)
        }

    @property
    def kinds(self) -> dict[str, str]:
        """Kind of each view: "features", "kernel" or "distance"."""
        return dict(self._kinds)

    @property
    def present(self) -> np.ndarray:
        """Read-only mask of shape (n_samples, n_views), True where a sample has a view."""
        return self._present

    @property
    def is_lazy(self) -> bool:
        """True if the views are dask arrays."""
        return storage.is_lazy(self._present)

    def compute(self) -> MultiViewData:
        """Load dask arrays into memory; return the container itself if it has none."""
        return lazy.compute(self) if self.is_lazy else self

    @property
    def sample_ids(self) -> np.ndarray:
        """Identifiers of the samples; row numbers by default."""
        return self._sample_ids

    @property
    def groups(self) -> np.ndarray | None:
        """Group of each sample; None if there are no groups."""
        return self._groups

    @property
    def column_ids(self) -> dict[str, np.ndarray]:
        """Sample id of each column, for every kernel or distance view."""
        return {n: v.column_ids for n, v in self._views.items() if isinstance(v, PairwiseView)}

    def __len__(self) -> int:
        return self._n

    def __contains__(self, name: object) -> bool:
        return name in self._views

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            "MultiViewData is not iterable; use data.items() for its views or data[rows] for rows"
        )

    def items(self) -> Iterator[tuple[str, Any]]:
        """Iterate over the views as pairs (name, matrix)."""
        return ((name, self[name]) for name in self._views)

    # -- indexing ----------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            self._require([key])
            view = self._views[key]
            return view.values() if isinstance(view, PairwiseView) else view
        if isinstance(key, tuple):
            if not (_is_comparable(key[1:]) and key[1:] in ((Ellipsis,), (slice(None),))):
                raise TypeError(
                    "MultiViewData can only be indexed by rows, data[rows]; for columns use one "
                    "view, data['name'][rows, columns], or data.select([names])"
                )
            key = key[0]
        rows = check_rows(key, self._n)
        return self._from_parts(
            {
                name: v.take(rows) if isinstance(v, PairwiseView) else storage.take_rows(v, rows)
                for name, v in self._views.items()
            },
            self._kinds,
            self._present[rows],
            self._sample_ids[rows],
            self._origin,
            None if self._groups is None else self._groups[rows],
            self._ids_are_labels,
        )

    def select(self, names: Iterable[str]) -> MultiViewData:
        """Return a container with the named views only, in the given order."""
        names = [names] if isinstance(names, str) else list(names)
        self._require(names)
        if len(set(names)) != len(names) or not names:
            raise ValueError(f"select requires distinct view names, got {names}")
        index = [self.view_names.index(name) for name in names]
        return self._replace(
            {name: self._views[name] for name in names},
            {name: self._kinds[name] for name in names},
            self._present[:, index],
        )

    def align(self, values: Any) -> Any:
        """Reorder a series or dataframe by the sample ids.

        Parameters
        ----------
        values : pandas Series or DataFrame
            Its index contains all ``sample_ids``; rows of other samples are left out.

        Returns
        -------
        Series or DataFrame
            One row for each sample, in the order of the container.

        Examples
        --------
        >>> import pandas as pd
        >>> from consilience import MultiViewData
        >>> data = MultiViewData({"rna": pd.DataFrame({"g1": [0.5, 1.5]}, index=["p1", "p2"])})
        >>> y = pd.Series({"p2": "sick", "p3": "sick", "p1": "healthy"})
        >>> data.align(y).tolist()
        ['healthy', 'sick']
        """
        return align_rows(values, self._sample_ids)

    def to_array(self, sparse: bool = False) -> Any:
        """Concatenate the feature views, with NaN where a view is missing.

        Parameters
        ----------
        sparse : bool, default=False
            Return a CSR array instead of an ndarray.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_columns)
        """
        if self.is_lazy:
            raise TypeError("the views are dask arrays; use data.compute().to_array() to load them")
        pairwise = [name for name, kind in self._kinds.items() if kind in PAIRWISE]
        if pairwise:
            raise TypeError(
                f"{storage.format_list(pairwise)}: kernel and distance views cannot be part of a "
                "feature matrix; select() the other views first"
            )
        blocks = []
        for v, (name, view) in enumerate(self._views.items()):
            block, missing = storage.to_numeric(view, name), ~self._present[:, v]
            if missing.any():
                nan = np.full(block.shape[1], np.nan)
                block = storage.fill_rows(block if sparse else _dense(block), missing, nan)
            blocks.append(block)
        if sparse:
            return sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
        return np.hstack([_dense(block) for block in blocks])

    # -- pairwise views ----------------------------------------------------------------------

    def reference(self) -> Reference:
        """Return the samples of this container as a reference for the columns of pairwise views."""
        return Reference(self._sample_ids, self._origin)

    def against(self, name: str, reference: Reference) -> np.ndarray:
        """Return a pairwise view with one column for each sample of ``reference``."""
        view = self._views[name]
        if reference.origin != self._origin:
            raise ValueError(
                f"view {name!r} is a {self._kinds[name]} between samples, but the samples of this "
                "container cannot be matched with those seen in fit; pass sample_ids to both "
                "containers (and column_ids if the matrix is not square)"
            )
        return view.values(view.columns_of(reference.ids, name))

    # -- protocols ---------------------------------------------------------------------------

    def _require(self, names: Iterable[str]) -> None:
        unknown = [name for name in names if name not in self._views]
        if unknown:
            raise KeyError(
                f"no view named {storage.format_list(unknown)}; the views are "
                f"{storage.format_list(self.view_names)}"
            )

    def __reduce__(self) -> tuple:
        return MultiViewData._from_parts, (
            self._views,
            self._kinds,
            self._present,
            self._sample_ids,
            self._origin,
            self._groups,
            self._ids_are_labels,
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError(ARRAY_ERROR)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def _is_comparable(parts: tuple) -> bool:
    """Return True if an index contains no arrays, so that ``==`` is well defined."""
    return all(part is Ellipsis or isinstance(part, slice) for part in parts)


def _dense(block: Any) -> np.ndarray:
    return block.toarray() if sp.issparse(block) else block
