"""Training views as kernels: of their columns, or given as a matrix between samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from consilience._solvers.kernels import (
    check_between_samples,
    distance_gamma,
    distance_kernel,
    kernel_diagonal,
    kernel_gamma,
)
from consilience.margin._design import zero_missing
from consilience.margin._machine import (
    FeatureExpansion,
    LinearExpansion,
    PairwiseExpansion,
    check_finite,
    check_nonnegative,
)

__all__ = ["CentredView", "FeatureView", "PairwiseView", "kernel_view"]


def kernel_view(data, name, spec, weight):
    """One of the classes below, for a view of the training samples."""
    is_present = data.present[:, data.view_names.index(name)]
    kind = FeatureView if data.kinds[name] == "features" else PairwiseView
    return kind(data, name, is_present, spec, weight)


class FeatureView:
    """Kernel of a view's columns; rows that lack the view hold zeros and are never used."""

    def __init__(self, data, name, is_present, spec, weight):
        self.X = zero_missing(data[name], is_present)
        gamma = kernel_gamma(spec.gamma, self.X[is_present], weight[is_present])
        self.spec = replace(spec, gamma=gamma)
        if spec.kernel == "chi2":
            check_nonnegative(self.X, name)

    def rows(self, dtype):
        """Function (samples, out) that writes rows of the kernel."""
        kernel = self.spec.to(self.X, dtype)
        return lambda samples, out: kernel(self.X[samples], out=out)

    def diagonal(self):
        """k(x, x) of all rows."""
        spec = self.spec
        return kernel_diagonal(self.X, spec.kernel, spec.gamma, spec.degree, spec.coef0)

    def times(self, g):
        """K g for g of shape (n,)."""
        support = np.flatnonzero(g)
        return self.spec.to(self.X[support]).times(self.X, g[support])

    def expansion(self, support, coefs):
        """The fitted view: support vectors with coefficients (n_support x P)."""
        if self.spec.kernel == "linear":
            return LinearExpansion(np.asarray(self.X[support].T @ coefs))
        return FeatureExpansion(self.spec, self.X[support], coefs)


class PairwiseView:
    """A kernel or distance between the training samples, read where the view is present."""

    def __init__(self, data, name, is_present, spec, weight):
        rows = np.flatnonzero(is_present)
        part = data if is_present.all() else data[rows]
        K = part.against(name, part.reference())
        check_between_samples(check_finite(K, name), name, data.kinds[name])
        self.data, self.gamma = data, None
        if data.kinds[name] == "distance":
            self.gamma = distance_gamma(spec.gamma, K, weight[is_present])
            K = distance_kernel(K, self.gamma)
        if not is_present.all():
            K, small = np.zeros((len(data), len(data))), K
            K[np.ix_(rows, rows)] = small
        self.K = K

    def rows(self, dtype):
        """Function (samples, out) that writes rows of the kernel."""

        def copy(samples, out):
            out[:] = self.K[samples]

        return copy

    def diagonal(self):
        """K_tt of all rows."""
        return self.K.diagonal()

    def times(self, g):
        """K g for g of shape (n,)."""
        return self.K @ g

    def expansion(self, support, coefs):
        """The fitted view: the samples to compare with, and their coefficients."""
        return PairwiseExpansion(self.gamma, self.data[support].reference(), coefs)


class CentredView:
    """HKHᵀ, H = I − 1ωᵀ/Σω on the rows that have the view and 0 elsewhere."""

    def __init__(self, view, is_present, weight):
        self.view, self.is_present = view, is_present
        self.shares = np.where(is_present, weight, 0.0) / max(weight[is_present].sum(), 1e-300)
        self.means = view.times(self.shares)
        self.mean = self.shares @ self.means

    def rows(self, dtype):
        """Function (samples, out) that writes rows of the kernel."""
        write = self.view.rows(dtype)
        columns = (self.means - self.mean).astype(dtype)

        def centre(samples, out):
            write(samples, out)
            out -= columns
            out -= self.means[samples, None].astype(dtype)
            out[:, ~self.is_present] = 0
            out[~self.is_present[samples]] = 0

        return centre

    def diagonal(self):
        """Diagonal of the kernel."""
        return np.where(self.is_present, self.view.diagonal() - 2 * self.means + self.mean, 0.0)

    def coefs(self, g):
        """Hᵀg: the coefficients of the plain kernel, up to a constant of the decision."""
        g = np.where(self.is_present, g, 0.0)
        return g - g.sum() * self.shares
