"""MultiViewData: construction, alignment and conversion of several views of the same samples."""

from __future__ import annotations

from collections.abc import Mapping
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
    common_length,
    order_present,
)
from consilience.views._container import ViewContainer
from consilience.views._index import (
    align_rows,
    check_aligned,
    check_given_ids,
    find_labels,
    has_index,
)
from consilience.views._pairwise import (
    PAIRWISE,
    check_ids,
    fingerprint,
    pairwise_view,
)

__all__ = ["MultiViewData"]


class MultiViewData(ViewContainer):
    """Several views of the same samples.

    Parameters
    ----------
    views : dict of name -> matrix
        Each is an ndarray, a SciPy sparse matrix, a dataframe (pandas, polars, pyarrow), or a 1-D
        array of strings (raw documents for a vectoriser), with one row per sample. Every view
        keeps its own dtype and storage; nothing is copied. Dask arrays stay lazy, and so do
        ``present`` and ``sample_ids`` then. Numeric ndarrays of three or more dimensions, such as
        images and time series, are for transformers that flatten or reduce them.
    present : bool array of shape (n_samples, n_views), optional
        False where a sample lacks a view; the values there are never read. By default a row of a
        view is missing if all its values are NaN (null). The columns of a dataframe are named like
        the views.
    sample_ids : array of shape (n_samples,), optional
        Identifiers of the samples, needed to match kernel or distance views across containers. By
        default they are the index of the dataframes, which must agree, or row numbers if there is
        none or it is a default one (0, 1, ...).
    kinds : dict of name -> {"features", "kernel", "distance"}, optional
        Meaning of the columns of each view; "features" by default.
    column_ids : dict of name -> array, optional
        For kernel and distance views that are not square: the sample id of each column. By default
        the columns of a dataframe are matched by their labels, if these are the sample ids.
    groups : array of shape (n_samples,), optional
        Group of each sample, e.g. the patient of repeated measurements. Samples of a group are kept
        together wherever a method of this package splits its training samples, and in
        ``compare``; scikit-learn's own functions need ``groups`` and a splitter that uses them.
        By default, sample ids that are given and not unique are the groups.

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

    __slots__ = ()

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
        self._column_names = {}
        kinds, column_ids = as_dict("kinds", kinds), as_dict("column_ids", column_ids)
        check_known_views("kinds", kinds, views)
        check_known_views("column_ids", column_ids, views)
        stored = {name: storage.validate_view(value, name) for name, value in views.items()}
        present = order_present(present, stored)
        labels = find_labels(views) if sample_ids is None else sample_ids
        if any(storage.is_lazy(view) for view in stored.values()):
            self._init_lazy(stored, present, labels, kinds)
            if sample_ids is not None:
                check_given_ids(views, sample_ids, self._sample_ids)
            check_aligned(self, groups=groups, present=present)
            self._groups = check_groups(groups, sample_ids, self._n)
            return
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

    def compute(self) -> MultiViewData:
        """Load dask arrays into memory; return the container itself if it has none."""
        return lazy.compute(self) if self.is_lazy else self

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


def _dense(block: Any) -> np.ndarray:
    return block.toarray() if sp.issparse(block) else block
