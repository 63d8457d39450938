"""The kernel member: ridge regression on a kernel that weighs the views by what they explain alone.

With D_v the distances of view v divided by their typical size, and w_v ∝ max(.01, R²_v) where R²_v
is the share of the labels' variance that kernel ridge on exp(−D_v) explains in rows left out,

    K = ½ [ Σ_v w_v exp(−f D_v) + exp(−f Σ_v w_v D_v) ],

one kernel in which views are alternatives and one in which they must agree. The width f and the
penalty are those of least leave-one-out error. Above ``EXACT_MAX_ROWS`` rows, K is replaced by
its Nyström approximation on ``N_LANDMARKS`` of them. Rows that lack views are predicted by the same
regression on the views they have, solved once for every pattern of views.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh

from consilience._default._cache import PatternCache
from consilience._default._reference_set import (
    TINY,
    ReferenceSet,
    ReferenceView,
    check_block,
    distance_scale,
    distances_to_references,
    imputed_distances,
    make_reference_set,
    square_distances,
    square_norms,
)
from consilience._solvers.kernel_ridge import feature_ridge, kernel_ridge, solve_kernel_ridge

__all__ = ["KernelMember", "fit_kernel_member"]

EXACT_MAX_ROWS = 2000  # rows up to which the kernel matrix is used as it is
N_LANDMARKS = 1000  # rows that stand for all others where there are more
TUNING_ROWS = 1000  # rows for the strengths of the views and the width of the kernel
CHUNK_ROWS = 1024  # rows compared with the landmarks at once
PENALTIES = 10.0 ** np.arange(-4, 1.01, 0.5)
WIDTHS = (0.5, 1.0, 2.0)
MIN_VIEW_WEIGHT = 0.01  # strength of a view that explains nothing: it may still help others


def combine(Ds, weights, width, linear):
    """K (see above) from distances (list of V arrays) and weights that sum to 1.

    Where ``linear`` says that a view came as a kernel, which is 1 − D_v, that kernel takes the
    place of exp(−f D_v) and has no part in the second kernel.
    """
    kernel, total, share = 0.0, 0.0, 0.0
    for D, weight, flat in zip(Ds, weights, linear, strict=True):
        kernel = kernel + weight * (1.0 - D if flat else np.exp(-width * D))
        if not flat:
            total, share = total + weight * D, share + weight
    if share == 0:
        return kernel
    return 0.5 * (kernel + np.exp(-width / share * total))


@dataclass(frozen=True, eq=False)
class KernelMember:
    """A fitted kernel regression: coefficients on the rows of the bank."""

    reference_set: ReferenceSet
    view_weights: np.ndarray
    width: float
    penalty: float
    coef: np.ndarray
    intercept: np.ndarray
    prior: np.ndarray
    targets: np.ndarray
    weight: np.ndarray
    cache: PatternCache = field(default_factory=PatternCache)

    def predict(self, data, mapped):
        """Scores (n x K) that sum to 1; each row by the views it has.

        ``mapped`` are the mapped rows of the feature views.
        """
        out = np.empty((len(data), len(self.prior)))
        usable = data.present & (self.view_weights > 0)
        patterns, which = np.unique(usable, axis=0, return_inverse=True)
        for p, pattern in enumerate(patterns):
            rows = np.flatnonzero(which.ravel() == p)
            if not pattern.any():
                out[rows] = self.prior
                continue
            coef, intercept = self._solution(pattern)
            for start in range(0, len(rows), CHUNK_ROWS):
                block = rows[start : start + CHUNK_ROWS]
                out[block] = (
                    self._kernel(data[block], _take_mapped_rows(mapped, block), pattern) @ coef
                )
                out[block] += intercept
        return out

    def _combine(self, Ds, pattern):
        weights, linear = self.view_weights[pattern], self.reference_set.linear[pattern]
        return combine(Ds, weights / weights.sum(), self.width, linear)

    def _kernel(self, data, mapped, pattern):
        Ds = []
        for v in np.flatnonzero(pattern):
            view = self.reference_set.views[v]
            D = view.distances(data, mapped.get(view.name))
            Ds.append(self.reference_set.impute_distances(v, D))
        return self._combine(Ds, pattern)

    def _solution(self, pattern):
        if (pattern == (self.view_weights > 0)).all():
            return self.coef, self.intercept + self.prior
        return self.cache.get(pattern.tobytes(), lambda: self._solve_for_pattern(pattern))

    def _solve_for_pattern(self, pattern):
        Ds = [
            imputed_distances(self.reference_set, v, self.reference_set.views[v].own_distances())
            for v in np.flatnonzero(pattern)
        ]
        K = self._combine(Ds, pattern)
        if len(K) <= TUNING_ROWS:
            coef = kernel_ridge(K, self.targets, self.weight, PENALTIES).coef
        else:
            coef = solve_kernel_ridge(K, self.targets, self.weight, self.penalty)
        return coef, coef.sum(axis=0) + self.prior


def fit_kernel_member(data, mapped, codes, weight, prior):
    """Member, its leave-one-out scores (n x K), and the share of variance each view explains.

    Parameters
    ----------
    data : MultiViewData
        Training rows in an order that means nothing.
    mapped : dict of view -> matrix
        Mapped rows of the feature views, without NaN.
    codes, weight : arrays of shape (n,)
        Classes and weights, which are 1 in the mean.
    prior : array of shape (K,)
        Shares of the classes.
    """
    Y = np.eye(len(prior))[codes] - prior
    chosen = (
        np.arange(len(codes))
        if len(codes) <= EXACT_MAX_ROWS
        else choose_landmarks(codes, N_LANDMARKS)
    )
    part = data[chosen]
    views, Ds = zip(
        *(make_reference_view(part, name, mapped, chosen) for name in data.view_names), strict=True
    )
    explained = np.array(
        [
            explained_variance(
                D,
                Y[chosen][part.present[:, v]],
                weight[chosen][part.present[:, v]],
                views[v].kind == "kernel",
            )
            for v, D in enumerate(Ds)
        ]
    )
    view_weights = np.where(part.present.any(axis=0), np.maximum(explained, MIN_VIEW_WEIGHT), 0.0)
    reference_set = make_reference_set(list(views), part.present, Ds, view_weights)
    used = np.flatnonzero(view_weights)
    weights, linear = view_weights[used] / view_weights.sum(), reference_set.linear[used]
    filled = [imputed_distances(reference_set, v, Ds[v]) for v in used]
    width = best_width(filled, weights, linear, Y[chosen], weight[chosen])
    K = combine(filled, weights, width, linear)
    if len(chosen) == len(codes):
        fit = kernel_ridge(K, Y, weight, PENALTIES)
        coef, intercept = fit.coef, fit.coef.sum(axis=0)
    else:

        def kernel_blocks():
            for start in range(0, len(data), CHUNK_ROWS):
                block = slice(start, start + CHUNK_ROWS)
                Es = distances_to_references(
                    reference_set, Ds, view_weights, data[block], _take_mapped_rows(mapped, block)
                )
                yield combine([Es[v] for v in used], weights, width, linear)

        fit, coef, intercept = nystrom_ridge(K, kernel_blocks, Y, weight)
    member = KernelMember(
        reference_set,
        view_weights,
        width,
        fit.penalty,
        coef,
        intercept,
        prior,
        Y[chosen],
        weight[chosen],
    )
    return member, fit.left_out + prior, explained


def choose_landmarks(codes, limit):
    """``limit`` rows with the classes in their shares."""
    order = np.argsort(codes, kind="stable")
    return np.sort(order[np.linspace(0, len(codes) - 1, limit).astype(np.intp)])


def make_reference_view(part, name, mapped, chosen):
    """View of the bank, and the distances between its rows that have it."""
    is_present = part.present[:, part.view_names.index(name)]
    rows, kind = np.flatnonzero(is_present), part.kinds[name]
    if name in mapped:
        X = mapped[name][chosen[rows]]
        D = square_distances(X, X)
        scale = distance_scale(D)
        return ReferenceView(name, kind, scale, X, square_norms(X)), D / scale
    if len(rows) == 0:
        return ReferenceView(name, kind, 1.0), np.zeros((0, 0))
    held = part[rows]
    reference = held.reference()
    values = check_block(held.against(name, reference), name)
    if kind == "kernel":
        scale = max(float(np.abs(values.diagonal()).mean()), TINY)
        return ReferenceView(
            name, kind, scale, reference=reference, own=values
        ), 1.0 - values / scale
    scale = distance_scale(values)
    return ReferenceView(name, kind, scale, reference=reference, own=values), values / scale


def explained_variance(D, Y, weight, linear):
    """Share of the variance of the labels that one view explains in rows left out."""
    D, Y, weight = D[:TUNING_ROWS, :TUNING_ROWS], Y[:TUNING_ROWS], weight[:TUNING_ROWS]
    variance = float(weight @ (Y**2).sum(axis=1))
    if len(D) < 3 or variance == 0:
        return 0.0
    fit = kernel_ridge(combine([D], [1.0], 1.0, [linear]), Y, weight, PENALTIES)
    return 1.0 - fit.error / variance


def best_width(Ds, weights, linear, Y, weight):
    """Width of least leave-one-out error, on some of the rows if there are many."""
    if np.all(linear):
        return 1.0
    Ds = [D[:TUNING_ROWS, :TUNING_ROWS] for D in Ds]
    errors = [
        kernel_ridge(
            combine(Ds, weights, width, linear), Y[:TUNING_ROWS], weight[:TUNING_ROWS], PENALTIES
        ).error
        for width in WIDTHS
    ]
    return WIDTHS[int(np.argmin(errors))]


def nystrom_ridge(K, kernel_blocks, Y, weight):
    """Ridge on the features K_nm K_mm^(−½) and a constant; coefficients on the landmarks."""
    values, Q = eigh(K, check_finite=False)
    kept = values > 1e-10 * values[-1]
    root = Q[:, kept] / np.sqrt(values[kept])

    def blocks():
        for block in kernel_blocks():
            yield np.column_stack([block @ root, np.ones(len(block))])

    fit = feature_ridge(blocks, Y, weight, PENALTIES)
    return fit, root @ fit.coef[:-1], fit.coef[-1]


def _take_mapped_rows(mapped, rows):
    return {name: X[rows] for name, X in mapped.items()}
