"""A map of the samples: the first two components of the kernel of the default."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from consilience._default._columns import fit_columns
from consilience._default._kernel import EIGEN_MAX_ROWS, combine, fit_kernel_member
from consilience._default._reference_set import imputed_distances
from consilience.views import MultiViewData
from consilience.views._encode import encode_tables, fit_table_codes, mixed_tables
from consilience.views._layout import check_values
from consilience.views._pairwise import KINDS

__all__ = ["MAX_MAP_ROWS", "kernel_components", "kernel_matrix"]

MAX_MAP_ROWS = EIGEN_MAX_ROWS  # the whole kernel matrix is used


def kernel_matrix(data: MultiViewData, codes: np.ndarray) -> np.ndarray:
    """Kernel (n x n) of the default, with the view weights and the width that it would choose."""
    if len(data) > MAX_MAP_ROWS:
        raise ValueError(f"a map has at most {MAX_MAP_ROWS} samples, got {len(data)}")
    weight = np.ones(len(codes))
    prior = np.bincount(codes) / len(codes)
    tables = fit_table_codes(data)
    data = encode_tables(data, tables)
    data = check_values(data, KINDS, "a map of samples", nan_views=data.view_names)
    _, mapped = fit_columns(data, weight, mixed_tables(tables))
    member, _, _ = fit_kernel_member(data, mapped.filled, codes, weight, prior)
    used = np.flatnonzero(member.view_weights).tolist()
    reference_set = member.reference_set
    Ds = [imputed_distances(reference_set, v, reference_set.views[v].own_distances()) for v in used]
    weights = member.view_weights[used] / member.view_weights.sum()
    return combine(Ds, weights, member.width, reference_set.linear[used])


def kernel_components(K: np.ndarray, n_components: int = 2) -> np.ndarray:
    """Coordinates (n x n_components) of the samples by kernel principal components.

    Signs are such that the largest coordinate of each component is positive.
    """
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    n = len(K)
    values, vectors = eigh(centred, subset_by_index=(max(0, n - n_components), n - 1))
    components = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]
    largest = np.abs(components).argmax(axis=0)
    return components * np.sign(components[largest, np.arange(components.shape[1])])
