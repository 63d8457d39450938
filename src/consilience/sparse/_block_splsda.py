"""Block sparse PLS discriminant analysis (DIABLO): correlated panels of all views.

Reference: A. Singh, C. P. Shannon, B. Gautier, F. Rohart, M. Vacher, S. J. Tebbutt, K.-A. Lê Cao,
"DIABLO: an integrative approach for identifying key molecular drivers from multi-omics assays",
Bioinformatics 35 (2019).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from consilience._base import MultiViewClassifier
from consilience._docstring import fill_docstring
from consilience._model_types import model_type
from consilience._parameters import (
    CLASS_WEIGHT,
    POSITIVE_INTEGER,
    TOLERANCE,
    VIEWS,
    ListOf,
    Number,
    PerView,
    StrOptions,
)
from consilience._solvers.penalised import StandardisedColumns, StandardisedViews
from consilience._training import check_magnitudes
from consilience._warnings import warn_of_unseen_views, warn_user
from consilience.sparse._block_spls import BlockComponents, DeflatedView, fit_components
from consilience.views import MultiViewData
from consilience.views._params import per_view

__all__ = ["BlockSPLSDABase", "BlockSPLSDAClassifier"]

# how much the views' mean prediction counts where votes are equal
TIE_BREAK = 1e-6
TINY = 1e-300


class BlockSPLSDABase(MultiViewClassifier):
    """Fit of the components and prediction from them."""

    _parameter_constraints: dict[str, list[Any]] = {
        "design": [Number(Real, 0, 1, closed="both"), "array-like"],
        "prediction": [
            StrOptions({"weighted_vote", "majority_vote", "weighted_average", "average"})
        ],
        "distance": [StrOptions({"centroids", "max"})],
        "threshold": [StrOptions({"soft", "hard"})],
        "standardize": ["boolean"],
        "tol": [TOLERANCE],
        "max_iter": [POSITIVE_INTEGER],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
    }

    design: Any
    prediction: str
    distance: str
    threshold: str
    standardize: bool
    tol: float
    max_iter: int

    def _design_matrix(self, n_views: int) -> np.ndarray:
        """Links between the views, with zeros on the diagonal."""
        try:
            matrix = np.asarray(self.design, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"design must be a number or a matrix of numbers: {error}") from None
        if matrix.ndim == 0:
            return matrix * (1.0 - np.eye(n_views))
        if matrix.shape != (n_views, n_views):
            raise ValueError(
                f"design must be a number or a matrix with a row for each of the {n_views} views, "
                f"got shape {matrix.shape}"
            )
        if not np.isfinite(matrix).all() or (matrix < 0).any() or (matrix != matrix.T).any():
            raise ValueError("design must be symmetric, with entries >= 0")
        return matrix * (1.0 - np.eye(n_views))

    def _fit_blocks(
        self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray, keep: np.ndarray
    ) -> tuple[StandardisedViews, BlockComponents, np.ndarray]:
        """Standardised views, components, and centred and scaled dummy classes."""
        check_magnitudes(data)
        Xs = [data[name] for name in data.view_names]
        standard = StandardisedViews(Xs, data.present, weight, scale=self.standardize)
        roots = np.sqrt(standard.weight)
        K = len(self.classes_)
        prior = np.bincount(codes, standard.weight, minlength=K)
        spread = np.sqrt(np.maximum(prior * (1 - prior), np.finfo(float).tiny))
        Y = (np.eye(K)[codes] - prior) / spread
        views = [
            DeflatedView(StandardisedColumns(parts, data.present[:, v]), roots)
            for v, parts in enumerate(standard.parts)
        ]
        components = fit_components(
            views,
            roots[:, None] * Y,
            self._design_matrix(data.n_views),
            keep,
            soft=self.threshold == "soft",
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return standard, components, Y

    def _set_components(
        self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray, keep: np.ndarray
    ) -> None:
        """Fit, and set all that predictions need."""
        standard, components, Y = self._fit_blocks(data, codes, weight, keep)
        K, names = len(self.classes_), data.view_names
        roots = np.sqrt(standard.weight)
        self._rotations, self._offsets = [], []
        self._regressions, self._centroids, self._prior = [], [], weighted_prior(codes, weight, K)
        self._y_scale = np.sqrt(np.maximum(self._prior * (1 - self._prior), 1e-300))
        for v in range(data.n_views):
            rotation = components.rotations[v] / standard.scales[v][:, None]
            T = components.scores[v]
            squares = np.maximum((T**2).sum(axis=0), np.finfo(float).tiny)
            self._rotations.append(rotation)
            self._offsets.append(-(standard.means[v] @ rotation))
            self._regressions.append((T.T @ (roots[:, None] * Y)) / squares[:, None])
            rows = data.present[:, v]
            self._centroids.append(centroids(T[rows] / roots[rows, None], codes[rows],
                                             weight[rows], K))  # fmt: skip
        self._correlations = component_correlations(components)
        self.loadings_ = dict(zip(names, components.loadings, strict=True))
        self.y_loadings_ = components.y_loadings
        self.criterion_ = [values[-1] for values in components.criteria]
        self.selected_ = {n: np.flatnonzero(a.any(axis=1)) for n, a in self.loadings_.items()}
        V = data.n_views
        weights = self._correlations.mean(axis=1)
        total = weights.sum()
        self.view_weights_ = weights / total if total > 0 else np.full(V, 1 / V)
        self.n_components_ = keep.shape[1]
        self.n_iter_ = max(len(values) // (V + 1) for values in components.criteria)
        self._set_coefficients(names)
        if not components.converged:
            warn_user(
                f"{type(self).__name__} stopped before the loadings changed by less than tol="
                f"{self.tol:.1e}: raise max_iter (now {self.max_iter}) or tol",
                ConvergenceWarning,
            )
        warn_of_unseen_views(names, [n for v, n in enumerate(names) if data.present[:, v].any()])

    def _set_coefficients(self, names: Sequence[str]) -> None:
        """Coefficients of each view's regression of the classes on its components."""
        self.coef_ = {}
        for name, rotation, regression in zip(
            names, self._rotations, self._regressions, strict=True
        ):
            coef = rotation @ (regression * self._y_scale)
            self.coef_[name] = coef[:, 1] if len(self.classes_) == 2 else coef.T

    def _view_scores(self, data: MultiViewData, v: int, rows: np.ndarray) -> np.ndarray:
        """Components of rows that have view v."""
        X = data[self.view_names_[v]][rows]
        with np.errstate(over="ignore", invalid="ignore"):
            T = np.asarray(X @ self._rotations[v]) + self._offsets[v]
        if not np.isfinite(T).all():
            row = rows[np.flatnonzero(~np.isfinite(T).all(axis=1))[0]]
            raise ValueError(
                f"view {self.view_names_[v]!r} has values too large in row {row}; scale them"
            )
        return T

    def _present_rows(self, data: MultiViewData, v: int) -> np.ndarray:
        name = self.view_names_[v]
        if name not in data.view_names:
            return np.array([], dtype=np.intp)
        return np.flatnonzero(data.present[:, data.view_names.index(name)])

    def _scores(self, data: MultiViewData) -> np.ndarray:
        return self._scores_from(data, self.n_components_)

    def _scores_from(self, data: MultiViewData, n_components: int) -> np.ndarray:
        """Votes or predictions of the classes from the first components alone."""
        n, K = len(data), len(self.classes_)
        weights = self._correlations[:, :n_components].mean(axis=1)
        weights = weights / max(weights.sum(), TINY)
        votes, means = np.zeros((n, K)), np.zeros((n, K))
        total = np.zeros(n)
        is_weighted = self.prediction.startswith("weighted")
        for v in range(len(self.view_names_)):
            rows = self._present_rows(data, v)
            share = weights[v] if is_weighted else 1.0
            if len(rows) == 0 or weights[v] == 0:
                continue
            T = self._view_scores(data, v, rows)[:, :n_components]
            predicted = self._prior + self._y_scale * (T @ self._regressions[v][:n_components])
            means[rows] += share * predicted
            total[rows] += share
            near = predicted
            if self.distance == "centroids":
                centres = self._centroids[v][:, :n_components]
                near = -((T[:, None] - centres) ** 2).sum(axis=2)
            votes[rows, near.argmax(axis=1)] += share
        has_vote = (total > 0)[:, None]
        total = np.where(has_vote, total[:, None], 1.0)
        means = np.where(has_vote, means / total, self._prior)
        if self.prediction.endswith("average"):
            return means
        return votes / total + TIE_BREAK * means

    def transform_views(self, X: Any) -> np.ndarray:
        """Components of every view; NaN where a view is missing.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit; a container may lack some of them.

        Returns
        -------
        ndarray of shape (n_samples, n_views, n_components)
        """
        data, _ = self._validate_for_predict(X)
        out = np.full((len(data), len(self.view_names_), self.n_components_), np.nan)
        for v in range(len(self.view_names_)):
            rows = self._present_rows(data, v)
            out[rows, v] = self._view_scores(data, v, rows)
        return out


def weighted_prior(codes: np.ndarray, weight: np.ndarray, n_classes: int) -> np.ndarray:
    """Share of each class."""
    return np.bincount(codes, weight, minlength=n_classes) / weight.sum()


def centroids(T: np.ndarray, codes: np.ndarray, weight: np.ndarray, K: int) -> np.ndarray:
    """Mean components of each class (K x H); infinitely far for a class without rows."""
    out = np.full((K, T.shape[1]), np.inf)
    for k in np.unique(codes):
        out[k] = np.average(T[codes == k], axis=0, weights=weight[codes == k])
    return out


def component_correlations(components: BlockComponents) -> np.ndarray:
    """Correlations (V x H) of each view's components with those of Y."""
    out = []
    for T in components.scores:
        sizes = np.linalg.norm(T, axis=0) * np.linalg.norm(components.y_scores, axis=0)
        products = np.abs((T * components.y_scores).sum(axis=0))
        out.append(np.where(sizes > 0, products / np.where(sizes > 0, sizes, 1), 0.0))
    return np.array(out)


SHARED = {
    "block_parameters": """
        design : float or matrix of shape (n_views, n_views), default=0.1
            Weights of the covariances between the components of two views; those with the classes
            have weight 1. Small values favour discrimination, large ones agreement.
        prediction : str, default="weighted_average"
            "weighted_vote" and "majority_vote" of the views' predicted classes, or
            "weighted_average" and "average" of their regressions of the classes. Weights are the
            correlations of the views' components with those of the classes.
        distance : {"centroids", "max"}, default="centroids"
            A view votes for the class of the nearest mean component, or of the largest regression.
        threshold : {"soft", "hard"}, default="soft"
            How loadings become sparse: soft thresholding as published, or keeping the largest
            entries as they are, for which the criterion never decreases.
        standardize : bool, default=True
            Whether columns are divided by their standard deviation; they are always centred.
        tol : float, default=1e-10
            Change of the loadings to reach.
        max_iter : int, default=1000
            Maximum number of iterations for each component.
    """,
    "block_attributes": """
        loadings_ : dict of view -> ndarray of shape (n_features, n_components)
            Loadings of the standardised columns.
        y_loadings_ : ndarray of shape (n_classes, n_components)
            Loadings of the classes.
        selected_ : dict of view -> ndarray
            The panel: numbers of the columns with a loading that is not 0.
        coef_ : dict of view -> ndarray of shape (n_features,) or (n_classes, n_features)
            Coefficients of a view's regression of the classes on its components.
        n_iter_ : int
            Number of iterations, the maximum over the components.
        criterion_ : list of float
            Criterion of each component: the sum of the weighted covariances.
        view_weights_ : ndarray of shape (n_views,)
            Weights of the votes.
    """,
}


@model_type("sparse.BlockSPLSDAClassifier")
@fill_docstring(**SHARED)
class BlockSPLSDAClassifier(BlockSPLSDABase):
    """Block sparse PLS discriminant analysis (DIABLO).

    Components of the views, each a combination of few columns, that covary with the classes and
    with each other. A row that lacks a view counts as the view's mean in ``fit``; in ``predict``
    only the views of a row vote.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components; None means the number of classes less 1.
    keep : int, list of int or dict of view -> either, or None, default=20
        Number of columns of each component, a list has one number for each component; None means
        all columns (block PLS-DA).
    {block_parameters}
    {views}
    {class_weight}

    Attributes
    ----------
    n_components_ : int
        Number of components.
    {block_attributes}
    {fitted_input}

    See Also
    --------
    BlockSPLSDAClassifierCV : Chooses keep and n_components by cross-validation.

    Notes
    -----
    Each iteration visits the views in their order, as in the original. Where the covariances have
    several local maxima, views in another order can lead to another one.

    References
    ----------
    A. Singh et al., "DIABLO: an integrative approach for identifying key molecular drivers from
    multi-omics assays", Bioinformatics 35 (2019).

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.sparse import BlockSPLSDAClassifier
    >>> data, y = make_multiview_classification(200, random_state=0)
    >>> model = BlockSPLSDAClassifier(1, keep=3).fit(data, y)
    >>> sorted(set(map(len, model.selected_.values())))
    [3]
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **BlockSPLSDABase._parameter_constraints,
        "n_components": [None, POSITIVE_INTEGER],
        "keep": [None, PerView(POSITIVE_INTEGER, ListOf(POSITIVE_INTEGER), None)],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        keep: Any = 20,
        design: Any = 0.1,
        prediction: str = "weighted_average",
        distance: str = "centroids",
        threshold: str = "soft",
        standardize: bool = True,
        tol: float = 1e-10,
        max_iter: int = 1000,
        views: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.n_components = n_components
        self.keep = keep
        self.design = design
        self.prediction = prediction
        self.distance = distance
        self.threshold = threshold
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.views = views
        self.class_weight = class_weight

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        H = self.n_components or len(self.classes_) - 1
        self._set_components(data, codes, weight, keep_matrix(self.keep, data, H))


def keep_matrix(keep: Any, data: MultiViewData, n_components: int) -> np.ndarray:
    """Number of columns (V x H) of each view and component."""
    given = keep if isinstance(keep, Mapping) else dict.fromkeys(data.view_names, keep)
    out = np.empty((data.n_views, n_components), dtype=np.intp)
    for v, (name, own) in enumerate(per_view(given, data.view_names, "keep").items()):
        width = data[name].shape[1]
        numbers = np.asarray(width if own is None else own)
        if numbers.ndim == 1 and len(numbers) != n_components:
            raise ValueError(
                f"keep has {len(numbers)} numbers for view {name!r}, but there are {n_components} "
                "components"
            )
        out[v] = np.minimum(numbers, width)
    return out
