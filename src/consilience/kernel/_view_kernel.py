"""The kernel of one view against some of its training samples, whatever kind of view it is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real

import numpy as np

from consilience._parameters import POSITIVE, Number, PerView, StrOptions
from consilience._solvers.kernels import (
    GAMMAS,
    KERNELS,
    KernelAgainst,
    check_between_samples,
    distance_gamma,
    distance_kernel,
    kernel_gamma,
)
from consilience.views._pairwise import Reference
from consilience.views._params import per_view
from consilience.views._storage import format_list

__all__ = [
    "KERNEL_PARAMETERS",
    "ViewKernel",
    "present_rows",
    "read_block",
    "view_kernels",
    "warn_of_unseen_views",
]

# constraints on the parameters that choose the kernels of the views
KERNEL_PARAMETERS = {
    "kernel": [PerView(StrOptions(set(KERNELS)), callable)],
    "gamma": [PerView(POSITIVE, StrOptions(set(GAMMAS)))],
    "degree": [POSITIVE],
    "coef0": [Number(Real, None, None, closed="neither")],
}


def present_rows(data, name):
    """Numbers of the rows that have the view."""
    return np.flatnonzero(data.present[:, data.view_names.index(name)])


def read_block(data, name, rows, reference):
    """A kernel or distance view between rows and the samples of ``reference``, finite, float64."""
    block = data[rows].against(name, reference).astype(np.float64)
    if not np.isfinite(block).all():
        row, column = np.argwhere(~np.isfinite(block))[0]
        raise ValueError(
            f"Input contains NaN or infinity: view {name!r}, row {rows[row]}, in the column of "
            f"sample {format_list([reference.ids[column]])}"
        )
    return block


def view_kernels(model, names):
    """Kernel and gamma of every view from the parameters: view -> (kernel, gamma)."""
    kernels = per_view(model.kernel, names, "kernel")
    gammas = per_view(model.gamma, names, "gamma")
    return {name: (kernels[name], gammas[name]) for name in names}


def warn_of_unseen_views(data):
    """Say which views no training row has."""
    unseen_views = [name for v, name in enumerate(data.view_names) if not data.present[:, v].any()]
    if unseen_views:
        warnings.warn(
            f"views {', '.join(map(repr, unseen_views))} are present in no training row and "
            "take no part in the decision",
            UserWarning,
            stacklevel=5,
        )


@dataclass(eq=False)
class ViewKernel:
    """k(·, Z) of one view: Z are rows of features, or the samples of a pairwise view's columns."""

    name: str
    kind: str
    to: KernelAgainst | Reference
    gamma: float | None

    @classmethod
    def from_data(cls, model, data, name, weight, kernel, gamma, columns=None):
        """The kernel against ``columns`` (row numbers; all that have the view if None)."""
        kind, present = data.kinds[name], present_rows(data, name)
        columns = present if columns is None else columns
        if kind == "features":
            X = data[name]
            with np.errstate(over="ignore", divide="ignore"):
                gamma = kernel_gamma(gamma, X[present], weight[present])
            if not np.isfinite(gamma):
                raise ValueError(
                    f"view {name!r} varies too little for gamma to be a number; scale its columns, "
                    "e.g. by ViewTransformer(StandardScaler())"
                )
            numbers = {"gamma": gamma, "degree": model.degree, "coef0": model.coef0}
            return cls(name, kind, KernelAgainst(X[columns], kernel, **numbers), gamma)
        if kind == "kernel":
            return cls(name, kind, data[columns].reference(), None)
        if isinstance(gamma, str):
            D = read_block(data, name, present, data[present].reference())
            check_between_samples(D, name, kind)
            gamma = distance_gamma(gamma, D, weight[present])
        return cls(name, kind, data[columns].reference(), float(gamma))

    def block(self, data, rows, between=False):
        """k(x, z) for these rows of ``data``, float64, len(rows) x m; others are not read.

        ``between`` says that they are the samples of the columns: then it has to be symmetric.
        """
        if self.kind == "features":
            return self.to(data[self.name][rows])
        block = read_block(data, self.name, rows, self.to)
        if between:
            check_between_samples(block, self.name, self.kind)
        return block if self.kind == "kernel" else distance_kernel(block, self.gamma)

    def times(self, data, rows, coefs):
        """k(x, z) @ coefs for these rows, without the whole block where it can be computed."""
        if self.kind == "features":
            return self.to.times(data[self.name][rows], coefs)
        return self.block(data, rows) @ coefs
