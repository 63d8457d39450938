"""Predictions from dask arrays, as dask arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience.views import MultiViewData
from consilience.views._input import read_lazy

__all__ = ["predict_lazily"]


def predict_lazily(model: Any, method: str, X: Any, shape: tuple, dtype: np.dtype) -> Any:
    """``model.method`` of dask arrays, as a dask array; ``shape`` is that of one row's output."""
    from consilience.distributed._dask import lazy_output

    data = read_lazy(X, model.views)
    _check_layout(model, data)
    return lazy_output(model, method, data, shape, dtype)


def _check_layout(model: Any, data: MultiViewData) -> None:
    """Raise errors about the layout now and not only when the blocks are computed."""
    one_row = {name: sp.csr_array((1, width)) for name, width in data.widths.items()}
    model._layout.align(MultiViewData(one_row))
