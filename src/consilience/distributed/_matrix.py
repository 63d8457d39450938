"""Training data of a single matrix in blocks: a ``BlockSequence`` of matrices, or a dask array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._targets import check_labels
from consilience._training import TrainingClasses
from consilience.distributed._blocks import (
    BlockReader,
    BlockTraining,
    check_sequence_alone,
    validate_blocks,
)
from consilience.distributed._drivers import Stream
from consilience.distributed._sequence import BlockSequence
from consilience.views import MultiViewData
from consilience.views import _storage as storage

__all__ = ["read_matrix_blocks"]


@dataclass(frozen=True)
class MatrixReader:
    """Reads a matrix with the columns of the first block as a view; cells may be NaN."""

    n_features: int
    names: list[str] | None

    def __call__(self, X: Any) -> MultiViewData:
        if isinstance(X, MultiViewData):  # a block of a dask array
            X = X["X"]
        shape = np.shape(X)
        if len(shape) != 2 or shape[1] != self.n_features:
            raise ValueError(
                f"X must have {self.n_features} columns in every block, got the shape {shape}"
            )
        self._check_names(text_names(X))
        return MultiViewData({"X": X}, present=np.ones((shape[0], 1), dtype=bool))

    def _check_names(self, names: list[str] | None) -> None:
        if names is None or names == self.names:  # without names, columns are taken by position
            return
        if self.names is None:
            raise ValueError("the columns of X have names, but not those of the first block")
        j = next(j for j in range(self.n_features) if names[j] != self.names[j])
        raise ValueError(
            f"column {j} of X is named {names[j]!r}, but {self.names[j]!r} in the first block; "
            "order the columns of all blocks alike"
        )


def text_names(X: Any) -> list[str] | None:
    """Column names of a dataframe if all are texts, else None."""
    names = storage.column_names(X)
    return names if names is not None and all(isinstance(n, str) for n in names) else None


def read_matrix_blocks(
    X: Any,
    y: Any,
    sample_weight: Any,
    set_classes: Callable[[list], TrainingClasses],
    method: str,
) -> tuple[BlockTraining, int, list[str] | None]:
    """Validated blocks with one view, the number of columns and their names, if they have any."""
    raw: Any
    names = None
    if isinstance(X, BlockSequence):
        check_sequence_alone(y, sample_weight)
        first = next(iter(X.open()), None)
        if first is None:
            raise ValueError("the BlockSequence has no rows")
        n_features, names = np.shape(first[1])[-1], text_names(first[1])
        raw = Stream(X.open)
    else:
        from consilience.distributed._dask import lazy_blocks

        if y is None:
            check_labels(None, 0, method)
        n_features = X.shape[1]
        raw = lazy_blocks(MultiViewData({"X": X}), y, sample_weight, None)
    read = MatrixReader(n_features, names)
    reader = BlockReader(read, ("features",), method, nan_views=("X",))
    return validate_blocks(raw, reader, set_classes, (n_features,)), n_features, names
