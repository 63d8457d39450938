"""Kernels of all views for the solvers, within a limit of memory.

``KernelDesign`` is for kernels what ``Design`` is for columns: made once, shared by the binary
problems of all classes.
"""

from __future__ import annotations

import numpy as np

from consilience._solvers.kernel_rows import BATCH_ROWS, CachedRows, FullRows
from consilience._solvers.kernels import chunks
from consilience.margin._kernel_views import (
    CentredKernel,
    GivenKernel,
    training_kernel,
)
from consilience.margin._machine import Machine

__all__ = ["KernelDesign"]

BYTES_PER_MB = 1 << 20
# with room for fewer rows, most would be computed again and again
MIN_CACHED_ROWS = 4 * BATCH_ROWS
# for a KKT gap from here on, float32 is as good
FLOAT32_MIN_TOL = 1e-4
# beyond such values float32 loses its range
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
        MB for all kernels.
    tol : float
        KKT gap asked for; it decides the precision.
    n_problems : int
        Binary problems that share the kernels; for several, all rows are computed at once.
    scales : array of shape (V,), optional
        Factors of the kernels.
    shares : array of shape (V,), optional
        If given there is one source, Σ_v ρ_v K_v; a missing view takes its mean there.
    """

    def __init__(
        self,
        data,
        specs,
        weight,
        *,
        cache_size,
        tol,
        n_problems,
        scales=None,
        shares=None,
    ):
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
        self.dtype, self.capacity = precision(self.n, n_computed, cache_size, tol, largest)
        self.complete = n_problems > 2 and self.capacity == self.n
        if shares is None:
            self.sources = [self._source(v, scale) for v, scale in enumerate(self.scales)]
        else:
            self.sources = [self._mixture(shares)]
        # problems that share a cache are solved one after the other
        self.sequential = not all(isinstance(source, FullRows) for source in self.sources)

    def _source(self, v, scale):
        view = self.views[v]
        if isinstance(view, GivenKernel):
            return FullRows(view.K if scale == 1 else view.K * scale)
        write = view.rows(self.dtype)

        def scaled(samples, out):
            write(samples, out)
            out *= out.dtype.type(scale)

        return self._rows(write if scale == 1 else scaled, view.diagonal() * scale)

    def _mixture(self, shares):
        parts = [self.centred(v) for v in range(self.V)]
        writers = [part.rows(self.dtype) for part in parts]

        def mixed(samples, out):
            block = np.empty_like(out)
            out[:] = 0
            for share, write in zip(shares, writers, strict=True):
                write(samples, block)
                block *= out.dtype.type(share)
                out += block

        pairs = zip(shares, parts, strict=True)
        return self._rows(mixed, sum(share * part.diagonal() for share, part in pairs))

    def centred(self, v):
        """A view's kernel, centred if rows lack it; else a constant does not matter."""
        is_present = self.present[:, v]
        return (
            self.views[v]
            if is_present.all()
            else CentredKernel(self.views[v], is_present, self.weight)
        )

    def _rows(self, write, diagonal):
        if not self.complete:
            return CachedRows(write, diagonal, self.capacity, self.dtype)
        K = np.empty((self.n, self.n), dtype=self.dtype)
        for part in chunks(self.n, self.n):
            write(np.arange(self.n)[part], K[part])
        return FullRows(K)

    def upper(self, value):
        """Bounds (V x n): the value where a view is present, 0 elsewhere."""
        return np.where(self.present.T, value, 0.0)

    def machine(self, solved):
        """The fitted machine from the signed multipliers of all problems.

        Also the support vectors of every view and their coefficients (n_support x P).
        """
        expansions, supports, duals = [], [], []
        for v, view in enumerate(self.views):
            coefs = self.scales[v] * np.stack([s.coefs[v] for s in solved], axis=1)
            supports.append(np.flatnonzero(coefs.any(axis=1)))
            duals.append(coefs[supports[v]])
            expansions.append(view.expansion(supports[v], duals[v]))
        intercepts = np.stack([s.intercepts for s in solved], axis=1)
        return Machine(expansions, intercepts), supports, duals


def precision(n, n_kernels, cache_size, tol, largest=1.0):
    """Type of the kernel rows and how many are kept, or an error if too few would fit."""
    entries = cache_size * BYTES_PER_MB / max(n_kernels, 1)
    dtype, size = np.float32, 4
    if (tol < FLOAT32_MIN_TOL and entries >= 8 * n * n) or largest > FLOAT32_MAX_VALUE:
        dtype, size = np.float64, 8
    rows = int(entries // (size * n))
    if n_kernels == 0:
        return dtype, n
    if rows < min(n, MIN_CACHED_ROWS):
        needed = min(n, MIN_CACHED_ROWS) * n_kernels * n * size / BYTES_PER_MB
        raise ValueError(
            f"cache_size={cache_size} MB holds {rows} kernel rows of {n} samples in {n_kernels} "
            f"views, too few to work with: give at least {needed:.1f} MB, or fit on fewer rows, or "
            "use a method that keeps no kernel, e.g. kernel='linear'"
        )
    return dtype, min(rows, n)
