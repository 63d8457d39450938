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

__all__ = ["read_matrix_blocks"]


@dataclass(frozen=True)
class MatrixReader:
    """Reads a matrix with a given number of columns as a view; cells may be NaN."""

    n_features: int

    def __call__(self, X: Any) -> MultiViewData:
        if isinstance(X, MultiViewData):  # a block of a dask array
            X = X["X"]
        shape = np.shape(X)
        if len(shape) != 2 or shape[1] != self.n_features:
            raise ValueError(
                f"X must have {self.n_features} columns in every block, got the shape {shape}"
            )
        return MultiViewData({"X": X}, present=np.ones((shape[0], 1), dtype=bool))


def read_matrix_blocks(
    X: Any,
    y: Any,
    sample_weight: Any,
    set_classes: Callable[[list], TrainingClasses],
    method: str,
) -> tuple[BlockTraining, int]:
    """Validated blocks with one view, and the number of columns."""
    raw: Any
    if isinstance(X, BlockSequence):
        check_sequence_alone(y, sample_weight)
        first = next(iter(X.open()), None)
        if first is None:
            raise ValueError("the BlockSequence has no rows")
        n_features = np.shape(first[1])[-1]
        raw = Stream(X.open)
    else:
        from consilience.distributed._dask import lazy_blocks

        if y is None:
            check_labels(None, 0, method)
        n_features = X.shape[1]
        raw = lazy_blocks(MultiViewData({"X": X}), y, sample_weight, None)
    reader = BlockReader(MatrixReader(n_features), ("features",), method, nan_views=("X",))
    return validate_blocks(raw, reader, set_classes, (n_features,)), n_features
