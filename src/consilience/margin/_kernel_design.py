"""Kernels of all views for the solvers, within a memory limit.

``KernelDesign`` is for kernels what ``Design`` is for columns: built once and shared by the binary
problems of all classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience._kernel_views import KernelSpec
from consilience._solvers.kernel_rows import BATCH_ROWS, CachedRows, FullRows
from consilience._solvers.kernels import chunks
from consilience.margin._kernel_views import (
    CentredKernel,
    GivenKernel,
    RowWriter,
    TrainingKernel,
    training_kernel,
)
from consilience.margin._machine import Expansion, Machine
from consilience.views import MultiViewData

__all__ = ["KernelDesign"]

BYTES_PER_MB = 1 << 20
# with a cache of fewer rows, most of them would be computed again and again
MIN_CACHED_ROWS = 4 * BATCH_ROWS
# float32 is precise enough for a KKT gap of this size
FLOAT32_MIN_TOL = 1e-4
# rounding errors in float32 have to be below this share of the tolerance
MAX_ROUNDING = 0.1
# larger values may overflow in float32
FLOAT32_MAX_VALUE = 1e30


class KernelDesign:
    """Training views as sources of kernel rows.

    Parameters
    ----------
    data : MultiViewData
        Training samples.
    specs : list of V KernelSpec
        Kernels by view.
    weight : array of shape (n,)
        Sample weights.
    cache_size : float
        Memory limit in MB for all kernels.
    tol : float
        KKT gap to reach; it decides the precision.
    n_problems : int
        Number of binary problems that share the kernels; for several, all rows are computed at
        once.
    scales : array of shape (V,), optional
        Factors of the kernels.
    shares : array of shape (V,), optional
        If given there is one source, Σ_v ρ_v K_v; a missing view is imputed with its mean there.
    """

    def __init__(
        self,
        data: MultiViewData,
        specs: list[KernelSpec],
        weight: np.ndarray,
        *,
        cache_size: float,
        tol: float,
        n_problems: int,
        scales: np.ndarray | None = None,
        shares: np.ndarray | None = None,
    ) -> None:
        self.present, self.weight = data.present, weight
        self.n, self.V = data.present.shape
        self.scales = np.ones(self.V) if scales is None else scales
        self.views = [
            training_kernel(data, name, spec, weight)
            for name, spec in zip(data.view_names, specs, strict=True)
        ]
        computed = [view for view in self.views if not isinstance(view, GivenKernel)]
        n_computed = len(computed) if shares is None else 1
        largest = max((view.diagonal().max() for view in computed), default=0.0)
        cancellations = [view.cancellation() for view in self.views]
        stored = [c for v, c in zip(self.views, cancellations, strict=True) if v in computed]
        worst = max(stored if shares is None else cancellations, default=1.0)
        self.dtype, self.capacity = precision(self.n, n_computed, cache_size, tol, largest, worst)
        # constants, which no decision depends on, would hide the rest of these kernels
        self.hides = [
            c > max_cancellation(tol) and view.has_constants
            for view, c in zip(self.views, cancellations, strict=True)
        ]
        self.complete = n_problems > 2 and self.capacity == self.n
        # what the sources are made of
        self.parts: list[TrainingKernel | CentredKernel] = list(self.views)
        if shares is None:
            self.parts = [self.centred(v) if h else self.parts[v] for v, h in enumerate(self.hides)]
            self.sources = [self._source(v, scale) for v, scale in enumerate(self.scales)]
        else:
            self.sources = [self._mixture(shares)]
        # problems that share a cache are solved one after the other
        self.sequential = not all(isinstance(source, FullRows) for source in self.sources)

    def _source(self, v: int, scale: float) -> FullRows | CachedRows:
        view, part = self.views[v], self.parts[v]
        if isinstance(view, GivenKernel):
            K = part.K if isinstance(part, GivenKernel) else self._matrix(part.rows(np.float64))
            return FullRows(K if scale == 1 else K * scale)
        write = part.rows(self.dtype)

        def scaled(samples: np.ndarray, out: np.ndarray) -> None:
            write(samples, out)
            out *= out.dtype.type(scale)

        return self._rows(write if scale == 1 else scaled, part.diagonal() * scale)

    def _mixture(self, shares: np.ndarray) -> FullRows | CachedRows:
        parts = [self.centred(v) for v in range(self.V)]
        writers = [part.rows(self.dtype) for part in parts]

        def mixed(samples: np.ndarray, out: np.ndarray) -> None:
            block = np.empty_like(out)
            out[:] = 0
            for share, write in zip(shares, writers, strict=True):
                write(samples, block)
                block *= out.dtype.type(share)
                out += block

        pairs = zip(shares, parts, strict=True)
        return self._rows(mixed, sum(share * part.diagonal() for share, part in pairs))

    def centred(self, v: int) -> TrainingKernel | CentredKernel:
        """A view's kernel, centred if rows lack it; otherwise a constant does not matter."""
        is_present = self.present[:, v]
        return (
            self.views[v]
            if is_present.all() and not self.hides[v]
            else CentredKernel(self.views[v], is_present, self.weight)
        )

    def _rows(self, write: RowWriter, diagonal: np.ndarray) -> FullRows | CachedRows:
        if not self.complete:
            return CachedRows(write, diagonal, self.capacity, self.dtype)
        return FullRows(self._matrix(write, self.dtype))

    def _matrix(self, write: RowWriter, dtype: Any = np.float64) -> np.ndarray:
        K = np.empty((self.n, self.n), dtype=dtype)
        for part in chunks(self.n, self.n):
            write(np.arange(self.n)[part], K[part])
        return K

    def upper(self, value: float | np.ndarray) -> np.ndarray:
        """Bounds (V x n): the value where a view is present, 0 elsewhere."""
        return np.where(self.present.T, value, 0.0)

    def machine(self, solved: list[Any]) -> tuple[Machine, list[np.ndarray], list[np.ndarray]]:
        """The fitted machine from the signed multipliers of all problems.

        Also the support vectors of every view and their coefficients (n_support x P).
        """
        intercepts = np.stack([s.intercepts for s in solved], axis=1)
        expansions: list[Expansion] = []
        supports: list[np.ndarray] = []
        duals: list[np.ndarray] = []
        for v, view in enumerate(self.views):
            coefs = self.scales[v] * np.stack([s.coefs[v] for s in solved], axis=1)
            supports.append(np.flatnonzero(coefs.any(axis=1)))
            duals.append(coefs[supports[v]])
            expansions.append(view.expansion(supports[v], duals[v]))
            intercepts[v] -= view.offset(expansions[v])
            part = self.parts[v]
            if isinstance(part, CentredKernel):
                intercepts[v] -= part.means @ coefs
        return Machine(expansions, intercepts), supports, duals


def max_cancellation(tol: float) -> float:
    """The cancellation of a kernel up to which float32 is precise enough."""
    return MAX_ROUNDING * max(tol, FLOAT32_MIN_TOL) / float(np.finfo(np.float32).eps)


def precision(
    n: int,
    n_kernels: int,
    cache_size: float,
    tol: float,
    largest: float = 1.0,
    cancellation: float = 1.0,
) -> tuple[Any, int]:
    """Type and number of the kernel rows to keep, or an error if too few would fit.

    ``largest`` is the largest entry, ``cancellation`` the size of the rounding errors relative to
    what matters in a kernel.
    """
    entries = cache_size * BYTES_PER_MB / max(n_kernels, 1)
    dtype: Any = np.float32
    size = 4
    wants_more = tol < FLOAT32_MIN_TOL and entries >= 8 * n * n
    if wants_more or cancellation > max_cancellation(tol) or largest > FLOAT32_MAX_VALUE:
        dtype, size = np.float64, 8
    rows = int(entries // (size * n))
    if n_kernels == 0:
        return dtype, n
    if rows < min(n, MIN_CACHED_ROWS):
        needed = min(n, MIN_CACHED_ROWS) * n_kernels * n * size / BYTES_PER_MB
        needed = np.ceil(10 * needed) / 10  # as it is written below
        raise ValueError(
            f"cache_size={cache_size} MB holds {rows} kernel rows of {n} samples in {n_kernels} "
            f"views, too few to work with: give at least {needed:.1f} MB, or fit on fewer rows, or "
            "use a method that keeps no kernel, e.g. kernel='linear'"
        )
    return dtype, min(rows, n)
