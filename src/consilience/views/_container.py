"""ViewContainer: what can be read from a ``MultiViewData`` and how it is indexed by rows.

It implements just enough of the array interface (``shape``, ``len``, ``data[rows]``) for
scikit-learn's splitters, searches and meta-estimators to index it by rows, and it is never
converted to a single array implicitly. Kernel and distance views record the sample id of each
column, so indexing rows leaves the columns unchanged: an estimator selects the columns of its
training rows by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from consilience.views import _storage as storage
from consilience.views._checks import check_rows
from consilience.views._index import check_mask
from consilience.views._pairwise import PairwiseView, Reference
from consilience.views._show import as_html, as_text

__all__ = ["ViewContainer"]

ARRAY_ERROR = (
    "MultiViewData holds several matrices and cannot be converted to one array; use "
    "data.to_array() to concatenate the views (and pass views=data.view_slices to the "
    "estimator), or data['name'] for one view"
)


class ViewContainer:
    """Validated views of the same samples, read-only."""

    __slots__ = (
        "_column_names",
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
    # of arrays and sparse matrices whose format names them; dataframes have their own
    _column_names: dict[str, tuple[Any, ...]]

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
        column_names: Mapping[str, tuple[Any, ...]] | None = None,
    ) -> Self:
        """Construct a container from validated parts without validating them again."""
        data = object.__new__(cls)
        data._n, data._views, data._kinds = len(present), views, kinds
        data._present, data._sample_ids, data._origin = present, sample_ids, origin
        data._groups, data._ids_are_labels = groups, ids_are_labels
        data._with_column_names(column_names or {})
        for array in (present, sample_ids, groups):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        return data

    def _replace(
        self,
        views: dict[str, Any],
        kinds: dict[str, str] | None = None,
        present: np.ndarray | None = None,
    ) -> Self:
        """Return a container of other views (validated) of the same samples."""
        return self._from_parts(
            views,
            self._kinds if kinds is None else kinds,
            self._present if present is None else present,
            self._sample_ids,
            self._origin,
            self._groups,
            self._ids_are_labels,
            self._column_names,
        )

    def _with_column_names(self, names: Mapping[str, tuple[Any, ...]]) -> Self:
        """Give views without column names those of another container that has them."""
        self._column_names = {name: names[name] for name in self._views if name in names}
        return self

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
        """Number of columns of each view, or of values per sample in more than two dimensions."""
        return {name: storage.n_columns(view) for name, view in self._views.items()}

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
        check_mask(key, self._sample_ids if self._ids_are_labels else None)
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
            self._column_names,
        )

    def select(self, names: Iterable[str]) -> Self:
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
        return type(self)._from_parts, (
            self._views,
            self._kinds,
            self._present,
            self._sample_ids,
            self._origin,
            self._groups,
            self._ids_are_labels,
            self._column_names,
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
