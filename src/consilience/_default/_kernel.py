"""The kernel member: ridge regression on a kernel that weights views by the variance they explain.

With D_v the distances of view v divided by their scale, and w_v ∝ max(.01, R²_v), where R²_v is the
share of the labels' variance that kernel ridge on exp(−D_v) explains in rows left out,

    K = ½ [ Σ_v w_v exp(−f D_v) + exp(−f Σ_v w_v D_v) ],

one kernel in which views are alternatives and one in which they must agree. The width f and the
penalty are those of least leave-one-out error; where the samples have groups, whole folds of groups
are left out instead. Above ``EIGEN_MAX_ROWS`` rows the penalty is tuned on a sample, and above
``EXACT_MAX_ROWS`` of them K is replaced by its Nyström approximation on ``N_LANDMARKS`` rows.

Rows that lack views are predicted by the same regression on the views they have: one positive
definite system for each pattern of views. Nothing is tuned for a pattern; its penalty is the
weighted geometric mean of the penalties that its views need alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._core import combined_rbf
from consilience._core.threads import Map
from consilience._default._reference_set import (
    ReferenceSet,
    ReferenceView,
    choose_landmarks,
    distances_to_references,
    imputed_distances,
    make_reference_set,
    make_reference_view,
)
from consilience._default._rows import group_by_pattern
from consilience._model_types import model_type
from consilience._solvers.kernel_ridge import (
    RidgeFit,
    exact_ridge,
    kernel_ridge,
    solve_kernel_ridge,
)
from consilience._solvers.kernels import square_norms
from consilience._solvers.nystrom import nystrom_ridge
from consilience.views import MultiViewData

__all__ = ["KernelMember", "fit_kernel_member"]

EIGEN_MAX_ROWS = 1000  # rows up to which all penalties are tried on the whole kernel matrix
EXACT_MAX_ROWS = 5000  # rows up to which the whole kernel matrix is used
N_LANDMARKS = 4000  # landmarks that represent all rows where there are more
# the same, and rows up to which the whole kernel matrix is used, where rows lack views or views are
# kernels: matrices between the reference rows are needed there, and they may be indefinite
N_IMPUTED_LANDMARKS = 2000
N_LANDMARK_FOLDS = 4  # folds of rows left out together where there are landmarks
MAX_FIT_ROWS = 30_000  # rows from which coefficients of landmarks are estimated
N_TESTED_ROWS = 5000  # rows predicted by the others where there are landmarks
SINGLE_PRECISION_MIN_ROWS = 500  # reference rows above which they are kept in single precision
PATTERN_ROWS = 2000  # reference rows for rows that lack views
TUNING_ROWS = 1000  # rows on which view weights, width and penalties of views are tuned
CHUNK_ROWS = 256  # rows compared with the reference set at once: no more than caches hold
PENALTIES = 10.0 ** np.arange(-4, 1.01, 0.5)
MIN_SINGLE_PENALTY = 1e-3  # of kernels in single precision
WIDTHS = (0.5, 1.0, 2.0)
MIN_COPY_ALIGNMENT = 0.95  # alignment of kernels above which views count as copies
MIN_VIEW_WEIGHT = 0.01  # weight of a view that explains nothing alone: it may still help others

MappedViews = dict[str, Any]  # view -> mapped rows (n x d), dense or sparse, without NaN


def combine(
    Ds: Sequence[np.ndarray],
    weights: Sequence[float] | np.ndarray,
    width: float,
    linear: Sequence[bool] | np.ndarray,
) -> np.ndarray:
    """K of the module docstring from distances (list of V arrays) and weights that sum to 1.

    Where ``linear`` says that a view came as a kernel, which is 1 − D_v, that kernel takes the
    place of exp(−f D_v) and has no part in the second kernel.
    """
    kernel: Any = None
    total: Any = None
    share = 0.0
    for D, weight, is_kernel in zip(Ds, map(float, weights), linear, strict=True):
        part = 1.0 - D if is_kernel else np.exp(-width * D)
        part *= weight
        kernel = part if kernel is None else np.add(kernel, part, out=kernel)
        if not is_kernel:
            part, share = weight * D, share + weight
            total = part if total is None else np.add(total, part, out=total)
    if total is None:
        return kernel
    total *= -width / share
    kernel += np.exp(total, out=total)
    kernel *= 0.5
    return kernel


def combine_feature_views(
    views: Sequence[ReferenceView],
    mapped: MappedViews,
    weights: np.ndarray,
    width: float,
) -> np.ndarray:
    """K between mapped rows and the reference rows of feature views, in single precision.

    The same as ``combine``, but in one pass over the products of the rows.
    """
    n, m = mapped[views[0].name].shape[0], views[0].rows.shape[0]
    products = np.empty((len(views), n, m), dtype=np.float32)
    x_norms = np.empty((len(views), n), dtype=np.float32)
    for v, view in enumerate(views):
        X = mapped[view.name].astype(np.float32, copy=False)
        x_norms[v] = square_norms(X)
        if sp.issparse(X) or sp.issparse(view.rows):
            product = X @ view.rows.T
            products[v] = product.toarray() if sp.issparse(product) else product
        else:
            np.matmul(X, view.rows.T, out=products[v])
    K = np.empty((n, m), dtype=np.float32)
    z_norms = np.stack([np.asarray(view.norms) for view in views])
    factors = np.array([1.0 / view.scale for view in views], dtype=np.float32)
    combined_rbf(products, x_norms, z_norms, factors, weights.astype(np.float32), width, K)
    return K


@model_type("default.KernelMember")
@dataclass(frozen=True, eq=False)
class KernelMember:
    """A fitted kernel regression: coefficients on the rows of the reference set.

    ``view_scores`` are the shares of the labels' variance that the views explain alone;
    ``n_copies`` counts the views that are the same as each view, including itself. ``coef``
    and ``intercept`` are for rows that have all views; ``targets`` and ``weight`` are
    those of the reference rows, from which the coefficients for other patterns follow. ``folds``
    are those by which they were left out, None for one row at a time.
    """

    reference_set: ReferenceSet
    view_scores: np.ndarray
    view_weights: np.ndarray
    n_copies: np.ndarray
    view_penalties: np.ndarray
    width: float
    coef: np.ndarray
    intercept: np.ndarray
    prior: np.ndarray
    targets: np.ndarray
    weight: np.ndarray
    folds: np.ndarray | None = None

    def predict(self, data: MultiViewData, mapped: MappedViews) -> np.ndarray:
        """Scores (n x K) that sum to 1; each row by the views it has.

        ``mapped`` are the mapped rows of the feature views.
        """
        out = np.tile(self.prior, (len(data), 1))
        for pattern, rows in group_by_pattern(data.present & (self.view_weights > 0)):
            if not pattern.any():
                continue
            reference_set, coef, intercept = self._solution(pattern)
            for start in range(0, len(rows), CHUNK_ROWS):
                block = rows[start : start + CHUNK_ROWS]
                held = _take_mapped_rows(mapped, block)
                K = self._kernel(reference_set, data[block], held, pattern)
                out[block] = K @ coef + intercept
        return out

    def _kernel(
        self,
        reference_set: ReferenceSet,
        data: MultiViewData,
        mapped: MappedViews,
        pattern: np.ndarray,
    ) -> np.ndarray:
        """Kernel (n x m) between samples and reference rows on the views of the pattern."""
        views = [reference_set.views[v] for v in np.flatnonzero(pattern)]
        if reference_set.is_plain and views[0].rows.dtype == np.float32:
            weights = self.view_weights[pattern]
            return combine_feature_views(views, mapped, weights / weights.sum(), self.width)
        Ds = []
        for v in np.flatnonzero(pattern).tolist():
            view = reference_set.views[v]
            D = view.distances(data, mapped.get(view.name))
            Ds.append(reference_set.impute_distances(v, D))
        return self._combine(Ds, pattern)

    def _combine(self, Ds: Sequence[np.ndarray], pattern: np.ndarray) -> np.ndarray:
        weights, linear = self.view_weights[pattern], self.reference_set.linear[pattern]
        return combine(Ds, weights / weights.sum(), self.width, linear)

    def _solution(self, pattern: np.ndarray) -> tuple[ReferenceSet, np.ndarray, np.ndarray]:
        """Reference rows, coefficients and intercept (with the prior) for a pattern of views."""
        if (pattern == (self.view_weights > 0)).all():
            return self.reference_set, self.coef, self.intercept + self.prior
        references = self.reference_set.head(PATTERN_ROWS)
        coef = self._solve(references, pattern)
        return references, coef, coef.sum(axis=0) + self.prior

    def _solve(self, references: ReferenceSet, pattern: np.ndarray) -> np.ndarray:
        """Coefficients of the reference rows if only the views of a pattern count."""
        weights, n = self.view_weights[pattern], len(references)
        used = np.flatnonzero(pattern).tolist()
        views = [references.views[v] for v in used]
        if references.is_plain and views[0].rows.dtype == np.float32:
            own = {view.name: view.rows for view in views}
            K = combine_feature_views(views, own, weights / weights.sum(), self.width)
        else:
            Ds = [view.own_distances() for view in views]
            Ds = [imputed_distances(references, v, D) for v, D in zip(used, Ds, strict=True)]
            K = self._combine(Ds, pattern)
        penalty = np.exp(weights @ np.log(self.view_penalties[pattern]) / weights.sum())
        return solve_kernel_ridge(K, self.targets[:n], self.weight[:n], penalty)


def fit_kernel_member(
    data: MultiViewData,
    mapped: MappedViews,
    codes: np.ndarray,
    weight: np.ndarray,
    prior: np.ndarray,
    folds: np.ndarray | None = None,
    run: Map = map,
) -> tuple[KernelMember, np.ndarray, np.ndarray]:
    """Return the member, and the scores (t x K) of t rows when left out with the row numbers.

    Parameters
    ----------
    data : MultiViewData
        Training rows in arbitrary order; the first ``TUNING_ROWS`` serve as a sample.
    mapped : dict of view -> matrix
        Mapped rows of the feature views, without NaN.
    codes, weight : arrays of shape (n,)
        Classes and weights, with mean 1.
    prior : array of shape (K,)
        Shares of the classes.
    folds : int array of shape (n,), optional
        Fold of each row, with which it is left out; by default alone.
    run : callable
        ``map``, or the same on threads.
    """
    Y = np.eye(len(prior))[codes] - prior
    # otherwise matrices between the reference rows are needed for imputation and look-up
    is_plain = bool(data.present.all()) and len(mapped) == data.n_views
    exact_limit = EXACT_MAX_ROWS if is_plain else N_IMPUTED_LANDMARKS
    chosen = np.arange(len(codes))
    if len(codes) > exact_limit:
        chosen = choose_landmarks(codes, N_LANDMARKS if is_plain else N_IMPUTED_LANDMARKS)
    is_small = len(codes) <= (EIGEN_MAX_ROWS if is_plain else N_IMPUTED_LANDMARKS)
    if is_plain and not is_small:
        mapped = {name: X.astype(np.float32) for name, X in mapped.items()}
    part, targets, part_weight = data[chosen], Y[chosen], weight[chosen]
    part_folds = None if folds is None else folds[chosen]
    n_compared = TUNING_ROWS if is_plain and not is_small else len(chosen)
    views, Ds = zip(
        *(make_reference_view(part, name, mapped, chosen, n_compared) for name in data.view_names),
        strict=True,
    )
    explained, penalties = fit_views_alone(
        views, Ds, part.present, targets, part_weight, part_folds, run
    )
    view_weights = np.where(part.present.any(axis=0), np.maximum(explained, MIN_VIEW_WEIGHT), 0.0)
    reference_set = make_reference_set(list(views), part.present, Ds, view_weights)
    used = np.flatnonzero(view_weights).tolist()
    linear = reference_set.linear[used]
    imputed = [imputed_distances(reference_set, v, Ds[v]) for v in used]
    # a view that was given several times counts once
    n_copies = np.ones(len(view_weights))
    n_copies[used] = count_copies(imputed, linear)
    view_weights = view_weights / n_copies
    weights = view_weights[used] / view_weights.sum()
    width, tuned = tune_width(imputed, weights, linear, targets, part_weight, part_folds, run)
    for v, D in zip(used, imputed, strict=True):
        # rows with an imputed view are noisier than those that have it
        if not part.present[:, v].all():
            penalties[v] = fit_on_tuning_rows(
                [D], [1.0], width, [reference_set.linear[v]], targets, part_weight, part_folds
            ).penalty

    def kernel_block(rows: np.ndarray) -> np.ndarray:
        """Kernel between rows and the reference rows."""
        held = _take_mapped_rows(mapped, rows)
        if is_plain:
            return combine_feature_views([views[v] for v in used], held, weights, width)
        Es = distances_to_references(reference_set, Ds, view_weights, data[rows], held)
        return combine([Es[v] for v in used], weights, width, linear)

    def kernel_blocks(rows: np.ndarray) -> Iterable[np.ndarray]:
        """The same, block by block."""
        starts = range(0, len(rows), CHUNK_ROWS)
        return run(kernel_block, [rows[start : start + CHUNK_ROWS] for start in starts])

    if is_small:
        fit = tuned
        if len(codes) > TUNING_ROWS:
            K = combine(imputed, weights, width, linear)
            fit = kernel_ridge(K, Y, weight, PENALTIES, folds)
        coef, left_out, tested = fit.coef, fit.left_out, np.arange(len(codes))
    else:
        penalty = max(tuned.penalty, MIN_SINGLE_PENALTY)
        if is_plain:
            K = np.vstack(list(kernel_blocks(chosen)))
        else:
            K = combine(imputed, weights, width, linear)
        coef, left_out, tested = fit_many_rows(
            K, kernel_blocks, chosen, Y, weight, penalty, folds, run
        )
    if len(chosen) > SINGLE_PRECISION_MIN_ROWS:
        # twice as fast and half the size
        reference_set = reference_set.in_single_precision()
    member = KernelMember(
        reference_set=reference_set,
        view_scores=explained,
        view_weights=view_weights,
        n_copies=n_copies,
        view_penalties=penalties,
        width=width,
        coef=coef,
        intercept=coef.sum(axis=0),
        prior=prior,
        targets=targets,
        weight=part_weight,
        folds=part_folds,
    )
    return member, left_out + prior, tested


def count_copies(Ds: Sequence[np.ndarray], linear: Sequence[bool] | np.ndarray) -> np.ndarray:
    """Number of views whose kernels are (nearly) the same as that of each view.

    The alignment of two centred kernels is the cosine of their entries; it counts from
    ``MIN_COPY_ALIGNMENT``, where nothing is left of a view's own, to 1.
    """
    kernels = []
    for D, is_linear in zip(Ds, linear, strict=True):
        K = combine([D[:TUNING_ROWS, :TUNING_ROWS]], [1.0], 1.0, [is_linear])
        mean = K.mean(axis=0)
        K = (K - mean - mean[:, None] + mean.mean()).ravel()
        kernels.append(K / max(float(np.linalg.norm(K)), 1e-300))
    alignment = np.array([[float(K @ L) for L in kernels] for K in kernels])
    np.fill_diagonal(alignment, 1.0)
    above = (alignment - MIN_COPY_ALIGNMENT) / (1.0 - MIN_COPY_ALIGNMENT)
    return np.clip(above, 0.0, 1.0).sum(axis=1)


def fit_many_rows(
    K: np.ndarray,
    kernel_blocks: Callable[[np.ndarray], Iterable[np.ndarray]],
    chosen: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray,
    penalty: float,
    folds: np.ndarray | None,
    run: Map = map,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of the reference rows, predictions of rows by the others, and these rows.

    ``K`` is the kernel between the chosen rows, which is overwritten.
    """
    if len(chosen) == len(Y):
        exact = exact_ridge(K, Y, weight, penalty, folds)
        return exact.coef, exact.left_out, chosen
    rows = np.arange(min(len(Y), MAX_FIT_ROWS))
    # each fold needs a solution of its own, so rows are tested fold by fold; groups are few, and
    # all of them should be heard
    by_fold = np.argsort(rows % N_LANDMARK_FOLDS, kind="stable")
    tested = (by_fold if folds is None else rows)[:N_TESTED_ROWS]
    folds = (np.arange(len(Y)) if folds is None else folds) % N_LANDMARK_FOLDS
    K += 1.0
    landmark_fit = nystrom_ridge(
        K,
        lambda: [_with_constant(block) for block in kernel_blocks(rows)],
        Y[rows],
        weight[rows],
        penalty,
        folds[chosen],
        tested,
        folds[rows],
        run=run,
    )
    return landmark_fit.coef, landmark_fit.left_out, tested


def fit_views_alone(
    views: Sequence[ReferenceView],
    Ds: Sequence[np.ndarray],
    present: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray,
    folds: np.ndarray | None = None,
    run: Map = map,
) -> tuple[np.ndarray, np.ndarray]:
    """Share of the labels' variance that each view explains in rows left out, and its penalty."""

    def fit_view(view: ReferenceView, D: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
        variance = float(weight[rows][:TUNING_ROWS] @ (Y[rows][:TUNING_ROWS] ** 2).sum(axis=1))
        if len(D) < 3 or variance == 0:
            return 0.0, 1.0
        linear = view.kind == "kernel"
        own_folds = None if folds is None else folds[rows]
        fit = fit_on_tuning_rows([D], [1.0], 1.0, [linear], Y[rows], weight[rows], own_folds)
        return 1.0 - fit.error / variance, fit.penalty

    explained, penalties = np.array(list(run(fit_view, views, Ds, present.T))).T
    return explained, penalties


def fit_on_tuning_rows(
    Ds: Sequence[np.ndarray],
    weights: Sequence[float] | np.ndarray,
    width: float,
    linear: Sequence[bool] | np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray,
    folds: np.ndarray | None = None,
) -> RidgeFit:
    """Kernel ridge regression on the first ``TUNING_ROWS`` rows, which suffice for tuning."""
    Ds = [D[:TUNING_ROWS, :TUNING_ROWS] for D in Ds]
    K = combine(Ds, weights, width, linear)
    folds = None if folds is None else folds[:TUNING_ROWS]
    return kernel_ridge(K, Y[:TUNING_ROWS], weight[:TUNING_ROWS], PENALTIES, folds)


def tune_width(
    Ds: Sequence[np.ndarray],
    weights: np.ndarray,
    linear: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray,
    folds: np.ndarray | None = None,
    run: Map = map,
) -> tuple[float, RidgeFit]:
    """Width of least left-out error on the tuning rows, and the regression on them."""

    def fit(width: float) -> RidgeFit:
        return fit_on_tuning_rows(Ds, weights, width, linear, Y, weight, folds)

    widths = (1.0,) if np.all(linear) else WIDTHS
    return min(zip(widths, run(fit, widths), strict=True), key=lambda pair: pair[1].error)


def _with_constant(K: np.ndarray) -> np.ndarray:
    """The kernel plus 1, which stands for the intercept, in single precision."""
    K += 1.0
    return K.astype(np.float32, copy=False)


def _take_mapped_rows(mapped: MappedViews, rows: Any) -> MappedViews:
    return {name: X[rows] for name, X in mapped.items()}
