"""From views to the matrices that the solvers work on, and from their parameters back."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from consilience._solvers.blocks import Blocks, gram_factor

__all__ = ["Design", "zero_missing"]

# views wider than the rows are many go through their Gram matrix up to this number of rows
FACTOR = 3000


class Design:
    """Training views as centred blocks; views with more columns than rows by their Gram factor.

    Parameters
    ----------
    Xs : list of matrices
        Views.
    present : bool array of shape (n, V)
        False where a view is missing; values there are not read.
    weight : array of shape (n,)
        Sample weights.
    """

    def __init__(self, Xs, present, weight):
        Xs = [zero_missing(X, present[:, v]) for v, X in enumerate(Xs)]
        self.blocks = Blocks(Xs, present, weight=weight)
        self.means, self.lifts = self.blocks.means, [None] * len(Xs)
        wide = [v for v, d in enumerate(self.blocks.widths) if d > len(present)]
        if wide and len(present) <= FACTOR:
            self._factorise(wide, present)

    def _factorise(self, wide, present):
        Xs, means = list(self.blocks.Xs), list(self.means)
        for v in wide:
            Xs[v], self.lifts[v] = gram_factor(Xs[v], means[v], present[:, v])
            means[v] = np.zeros(Xs[v].shape[1])
        for v, X in enumerate(Xs):
            if v not in wide and not sp.issparse(X):
                means[v] = np.zeros(X.shape[1])  # these are centred already
        self.blocks = Blocks(Xs, present, means)

    def parameters(self, theta):
        """Coefficients of every view (list of V vectors) and intercepts (V,) for raw columns."""
        coefs = []
        for where, lift in zip(self.blocks.slices, self.lifts, strict=True):
            w = theta[where]
            coefs.append(w.copy() if lift is None else lift @ w)
        intercepts = theta[self.blocks.d :] - [
            mean @ w for mean, w in zip(self.means, coefs, strict=True)
        ]
        return coefs, intercepts


def zero_missing(X, there):
    """A view with zeros in the rows that lack it."""
    if sp.issparse(X):
        X = sp.csr_array(X).astype(np.float64, copy=False)
        if not there.all():
            X = X.copy()
            X.data[~np.repeat(there, np.diff(X.indptr))] = 0.0
            X.eliminate_zeros()
        return X
    if there.all():
        return X
    X = np.array(X, dtype=np.float64)
    X[~there] = 0.0
    return X
