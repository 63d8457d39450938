"""MultiViewData: the container in which several views of the same samples travel together.

It has just enough of an array's manners (``shape``, ``len``, ``data[rows]``) for scikit-learn's
splitters, searches and meta-estimators to cut it by rows, and refuses to become one matrix
silently. Kernel and distance views remember which sample each column stands for, so a slice of
rows needs no matching slice of columns: whoever fits picks the columns of its own rows by id.
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
    check_kind,
    check_known_views,
    check_present,
    check_row_order,
    check_rows,
    common_length,
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

ARRAY_ADVICE = (
    "MultiViewData holds several matrices and is not one array. Use data.to_array() for the "
    "views side by side (pass views=data.view_slices to the estimator), or data['name'] for one."
)


class MultiViewData:
    """Several views of the same samples.

    Parameters
    ----------
    views : dict of name -> matrix
        Each an ndarray, a SciPy sparse matrix, a dataframe (pandas, polars, pyarrow), or a 1-D
        array of strings (raw documents for a vectoriser), with one row per sample. Every view
        keeps its own dtype and storage; nothing is copied. Dask arrays stay lazy, with
        ``present`` and ``sample_ids`` lazy beside them.
    present : bool array of shape (n_samples, n_views), optional
        False where a sample lacks a view; the values behind False are never read. By default a
        row of a view is missing when all its values are NaN (null).
    sample_ids : array of shape (n_samples,), optional
        Names of the samples. Needed to match kernel or distance views between containers.
    kinds : dict of name -> {"features", "kernel", "distance"}, optional
        What the columns of a view mean; "features" where not given.
    column_ids : dict of name -> array, optional
        For kernel and distance views that are not square: the sample each column stands for.

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

    __slots__ = ("_kinds", "_n", "_origin", "_present", "_sample_ids", "_views")

    _views: dict[str, Any]
    _kinds: dict[str, str]
    _present: np.ndarray
    _sample_ids: np.ndarray
    _n: int
    # row numbers as ids mean something within one matrix only; this tells which
    _origin: str | None

    def __init__(
        self,
        views: Mapping[str, Any],
        present: Any = None,
        sample_ids: Any = None,
        kinds: Mapping[str, str] | None = None,
        column_ids: Mapping[str, Any] | None = None,
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
            self._keep_lazy(stored, present, sample_ids, kinds)
            return
        self._n = common_length(stored)
        if sample_ids is None:
            check_row_order(stored)
        self._kinds = {name: check_kind(name, kinds.get(name, "features")) for name in stored}
        self._sample_ids = check_ids("sample_ids", sample_ids, self._n)
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
                "column_ids is for kernel and distance views; these hold features: "
                + storage.format_list(misplaced)
            )
        self._origin = fingerprint(self._views) if sample_ids is None else None

    def _keep_lazy(self, views: dict, present: Any, sample_ids: Any, kinds: dict) -> None:
        pairwise = [name for name, kind in kinds.items() if kind != "features"]
        if pairwise:
            raise ValueError(
                f"kernel and distance views cannot be lazy: {storage.format_list(pairwise)}"
            )
        self._views = lazy.align_blocks(views)
        self._n, self._origin = common_length(self._views), None
        self._kinds = dict.fromkeys(views, "features")
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
    ) -> MultiViewData:
        """Assemble checked parts without looking at them again."""
        data = object.__new__(cls)
        data._n, data._views, data._kinds = len(present), views, kinds
        data._present, data._sample_ids, data._origin = present, sample_ids, origin
        for array in (present, sample_ids):
            if not storage.is_lazy(array):
                array.flags.writeable = False
        return data

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], on: str) -> MultiViewData:
        """Join tables by a key column; a sample absent from a table misses that view.

        Parameters
        ----------
        tables : dict of name -> dataframe
            One table per view, all of them with the column ``on``. Keys are unique in a table.
        on : str
            The key column. It names the samples (``sample_ids``) and is not a feature.

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
        from consilience.views._tables import join_tables

        return join_tables(tables, on)

    # -- what it looks like ------------------------------------------------------------------

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
        """Number of samples, and of columns over all views."""
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
        """Where each view lies in ``to_array()``: the ``views=`` of an estimator fitted on it."""
        ends = np.cumsum(list(self.widths.values())).tolist()
        return {
            name: slice(end - width, end)
            for (name, width), end in zip(self.widths.items(), ends, strict=True)
        }

    @property
    def kinds(self) -> dict[str, str]:
        """ "features", "kernel" or "distance" for each view."""
        return dict(self._kinds)

    @property
    def present(self) -> np.ndarray:
        """Read-only bool array (n_samples, n_views): which sample has which view."""
        return self._present

    @property
    def is_lazy(self) -> bool:
        """True if the views are dask arrays."""
        return storage.is_lazy(self._present)

    def compute(self) -> MultiViewData:
        """The container with its dask arrays read into memory; itself if it has none."""
        return lazy.compute(self) if self.is_lazy else self

    @property
    def sample_ids(self) -> np.ndarray:
        """Names of the samples; row numbers unless given."""
        return self._sample_ids

    @property
    def column_ids(self) -> dict[str, np.ndarray]:
        """For each kernel or distance view, the sample its columns stand for."""
        return {n: v.column_ids for n, v in self._views.items() if isinstance(v, PairwiseView)}

    def __len__(self) -> int:
        return self._n

    def __contains__(self, name: object) -> bool:
        return name in self._views

    def __iter__(self) -> Iterator:
        raise TypeError(
            "MultiViewData is not iterable; use data.items() for its views or data[rows]"
        )

    def items(self) -> Iterator[tuple[str, Any]]:
        """Pairs of name and matrix."""
        return ((name, self[name]) for name in self._views)

    # -- cutting -----------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            self._require([key])
            view = self._views[key]
            return view.values() if isinstance(view, PairwiseView) else view
        if isinstance(key, tuple):
            every = key[1:] in ((Ellipsis,), (slice(None),)) if _is_plain(key[1:]) else False
            if not every:
                raise TypeError(
                    "MultiViewData is cut by rows only, data[rows]; for columns take one view, "
                    "data['name'][rows, columns], or data.select([names])"
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
        )

    def select(self, names: Iterable[str]) -> MultiViewData:
        """The container with these views only, in this order."""
        names = [names] if isinstance(names, str) else list(names)
        self._require(names)
        if len(set(names)) != len(names) or not names:
            raise ValueError(f"select needs distinct view names, got {names}")
        index = [self.view_names.index(name) for name in names]
        return self._from_parts(
            {name: self._views[name] for name in names},
            {name: self._kinds[name] for name in names},
            self._present[:, index],
            self._sample_ids,
            self._origin,
        )

    def to_array(self, sparse: bool = False) -> Any:
        """The feature views side by side, NaN where a view is missing.

        Parameters
        ----------
        sparse : bool, default=False
            Return a CSR array instead of an ndarray.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_columns)
        """
        if self.is_lazy:
            raise TypeError("the views are dask arrays: data.compute().to_array() reads them")
        pairwise = [name for name, kind in self._kinds.items() if kind in PAIRWISE]
        if pairwise:
            raise TypeError(
                f"{storage.format_list(pairwise)}: kernel and distance views have no place in one "
                "matrix of features; select() the other views first"
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
        """The samples of this container as the columns a pairwise view is compared with."""
        return Reference(self._sample_ids, self._origin)

    def against(self, name: str, reference: Reference) -> np.ndarray:
        """Rows of a pairwise view, with one column for each sample of ``reference``."""
        view = self._views[name]
        if reference.origin != self._origin:
            raise ValueError(
                f"view {name!r} is a {self._kinds[name]} between samples, but the samples of this "
                "container cannot be matched with those seen in fit: give both containers "
                "sample_ids (and column_ids where the matrix is not square)"
            )
        return view.values(view.columns_of(reference.ids, name))

    # -- manners -----------------------------------------------------------------------------

    def _require(self, names: Iterable[str]) -> None:
        unknown = [name for name in names if name not in self._views]
        if unknown:
            raise KeyError(
                f"no view named {storage.format_list(unknown)}; this container has "
                f"{storage.format_list(self.view_names)}"
            )

    def __reduce__(self) -> tuple:
        parts = (self._views, self._kinds, self._present, self._sample_ids, self._origin)
        return MultiViewData._from_parts, parts

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError(ARRAY_ADVICE)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def _is_plain(parts: tuple) -> bool:
    """No arrays among the parts of an index, so that they can be compared."""
    return all(part is Ellipsis or isinstance(part, slice) for part in parts)


def _dense(block: Any) -> np.ndarray:
    return block.toarray() if sp.issparse(block) else block
