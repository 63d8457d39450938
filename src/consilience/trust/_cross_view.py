"""What one view says about another: does view b of this sample fit its view a?

Each view is mapped and reduced to r principal components c. Ridge regressions on the components of
view a and their similarities to some rows predict those of view b, as ĉ. With the covariance Σ of
the errors in rows left out one by one and the variances T of the components, the evidence that a
pair belongs together is the log-likelihood ratio of Student's t with ν degrees of freedom,

    ½ log |T| / |Σ| + ½ (ν + r) log (1 + cᵀ T⁻¹ c / ν) / (1 + (c − ĉ)ᵀ Σ⁻¹ (c − ĉ) / ν),

of b given a plus of a given b. It uses the first components, as many as tell rows left out best
from others. Σ is shrunk as by O. Ledoit and M. Wolf, "A well-conditioned estimator for
large-dimensional covariance matrices", Journal of Multivariate Analysis 88, 2004.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from sklearn.covariance import ledoit_wolf
from sklearn.utils.extmath import randomized_svd

from consilience._model_types import model_type
from consilience.trust._typical import (
    TypicalView,
    drop_rounding,
    fit_typical_view,
    squared_distances,
)
from consilience.views import MultiViewData
from consilience.views._maps import ViewMap, fit_view_map
from consilience.views._pairwise import PAIRWISE

__all__ = [
    "CrossViewModel",
    "Prediction",
    "RidgeBasis",
    "ViewComponents",
    "check_feature_views",
    "evidence",
    "fit_components",
    "fit_cross_views",
    "fit_prediction",
    "pair_evidence",
    "ridge_basis",
]

N_COMPONENTS = 40
COMPONENT_COUNTS = (10, 20, 40)  # of the predicted view, to choose from
WRONG_SHIFTS = (1, 7, 31)  # other rows that a row is compared with to choose
N_LANDMARKS = 200
PENALTIES = 10.0 ** np.arange(-3, 3)  # in units of the mean squared norm of the features
MAX_LEVERAGE = 0.99
DEGREES_OF_FREEDOM = 10.0
TINY = 1e-9


@model_type("trust.ViewComponents")
@dataclass(eq=False)
class ViewComponents:
    """Principal components of a mapped view, and rows to compare with."""

    map: ViewMap
    centre: np.ndarray
    basis: np.ndarray
    mean: np.ndarray
    landmarks: np.ndarray
    gamma: float
    scale: float

    def transform(self, X: Any) -> np.ndarray:
        """Components (n x r) of rows of the view."""
        return np.asarray(self._map(X) @ self.basis.T) - self.mean

    def project(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Components (n x r), and the squared norm (n) of what they leave of each row."""
        Z = self._map(X)
        scores = np.asarray(Z @ self.basis.T)
        if sp.issparse(Z):  # not centred
            norms, inside = np.asarray((Z * Z).sum(axis=1)), scores
        else:
            norms, inside = ((Z - self.centre) ** 2).sum(axis=1), scores - self.mean
        return scores - self.mean, drop_rounding(norms - (inside**2).sum(axis=1), norms)

    def _map(self, X: Any) -> Any:
        return self.map.fill(self.map.apply(X))

    def features(self, C: np.ndarray) -> np.ndarray:
        """Components on a common scale, and similarities to the landmarks."""
        return np.hstack(
            [C / self.scale, np.exp(-self.gamma * squared_distances(C, self.landmarks))]
        )


@model_type("trust.Prediction")
@dataclass(eq=False)
class Prediction:
    """Ridge regression of the first components of one view on the features of another.

    ``whitening`` W has Σ⁻¹ = Wᵀ W; ``log_ratio`` is ½ log |T| / |Σ|.
    """

    feature_mean: np.ndarray
    mean: np.ndarray
    coef: np.ndarray
    whitening: np.ndarray
    variance: np.ndarray
    log_ratio: float

    def __call__(self, F: np.ndarray) -> np.ndarray:
        """Predicted components."""
        return (F - self.feature_mean) @ self.coef + self.mean


@model_type("trust.CrossViewModel")
@dataclass(eq=False)
class CrossViewModel:
    """Components and typical values of each view, and its prediction from each other one."""

    names: list[str]
    components: list[ViewComponents]
    typical: list[TypicalView]
    predictions: list[list[Prediction | None]]

    def transform(self, data: MultiViewData) -> tuple[list[np.ndarray], np.ndarray]:
        """Components (n x r) and strangeness (n x V x 2) of each view, NaN in rows without it."""
        out = []
        strangeness = np.full((len(data), len(self.names), 2), np.nan)
        for v, (name, part) in enumerate(zip(self.names, self.components, strict=True)):
            rows = np.flatnonzero(data.present[:, data.view_names.index(name)])
            C = np.full((len(data), len(part.basis)), np.nan)
            if len(rows):
                X = data[rows][name]
                C[rows], outside = part.project(X)
                strangeness[rows, v] = self.typical[v].strangeness(X, C[rows], outside)
            out.append(C)
        return out, strangeness

    def agreement(self, Cs: list[np.ndarray], v: int, Cv: np.ndarray) -> np.ndarray:
        """Mean evidence that ``Cv`` is view v of the samples, over their other views.

        0 for samples without another view.
        """
        total, count = np.zeros(len(Cv)), np.zeros(len(Cv))
        for u in range(len(self.names)):
            forward, backward = self.predictions[u][v], self.predictions[v][u]
            if forward is None or backward is None:
                continue
            has_both = ~np.isnan(Cs[u]).any(axis=1) & ~np.isnan(Cv).any(axis=1)
            a, b = Cs[u][has_both], Cv[has_both]
            total[has_both] += evidence(forward, self.components[u].features(a), b)
            total[has_both] += evidence(backward, self.components[v].features(b), a)
            count += has_both
        return total / np.maximum(count, 1)


def check_feature_views(data: MultiViewData, method: str) -> None:
    """Raise a TypeError for kernel and distance views, which have no components."""
    for name, kind in data.kinds.items():
        if kind in PAIRWISE:
            raise TypeError(
                f"{method} needs views of feature columns, but view {name!r} is a {kind} view"
            )


def fit_components(X: Any) -> ViewComponents:
    """Map a view and find its principal components; of sparse views without centring."""
    view_map = fit_view_map(X, np.ones(X.shape[0]))
    Z = view_map.fill(view_map.apply(X))
    n_components = min(N_COMPONENTS, Z.shape[0] - 1, Z.shape[1])
    centre = np.zeros(Z.shape[1]) if sp.issparse(Z) else Z.mean(axis=0)
    basis = _right_singular_vectors(Z if sp.issparse(Z) else Z - centre, n_components)
    C = np.asarray(Z @ basis.T)
    mean = C.mean(axis=0)
    C -= mean
    rng = np.random.RandomState(0)
    landmarks = C[np.sort(rng.permutation(len(C))[:N_LANDMARKS])]
    gamma = 1.0 / max(float(np.median(squared_distances(C, landmarks))), TINY)
    scale = max(float(np.sqrt((C**2).sum(axis=1).mean())), TINY)
    return ViewComponents(view_map, centre, basis, mean, landmarks, gamma, scale)


def _right_singular_vectors(Z: Any, n_components: int) -> np.ndarray:
    if n_components == 0:
        return np.zeros((0, Z.shape[1]))
    if sp.issparse(Z) or min(Z.shape) > 4 * n_components:
        return randomized_svd(Z, n_components, random_state=0)[2]
    return np.linalg.svd(Z, full_matrices=False)[2][:n_components]


@dataclass(eq=False)
class RidgeBasis:
    """Eigenvalues and eigenvectors of FᵀF for centred features F, and what F is in their basis."""

    feature_mean: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    scores: np.ndarray
    squares: np.ndarray


def ridge_basis(F: np.ndarray) -> RidgeBasis:
    """What all regressions on the same features have in common."""
    feature_mean = F.mean(axis=0)
    F = F - feature_mean
    values, vectors = np.linalg.eigh(F.T @ F)
    scores = F @ vectors
    return RidgeBasis(feature_mean, np.maximum(values, 0.0), vectors, scores, scores**2)


def fit_prediction(basis: RidgeBasis, C: np.ndarray) -> tuple[Prediction, np.ndarray]:
    """Ridge regression of C on features, with the penalty of least error in rows left out.

    Rows are left out one by one. Returns the regression, and what it predicts for them then.
    """
    feature_mean, mean = basis.feature_mean, C.mean(axis=0)
    values, vectors, scores, n = basis.values, basis.vectors, basis.scores, len(C)
    Y = C - mean
    products = scores.T @ Y
    best = np.inf
    for penalty in PENALTIES * max(values.sum() / n, TINY):
        shrunk = 1.0 / (values + penalty)
        leverage = basis.squares @ shrunk + 1.0 / n
        residuals = Y - scores @ (shrunk[:, None] * products)
        residuals /= 1.0 - np.minimum(leverage, MAX_LEVERAGE)[:, None]
        loss = float((residuals**2).sum())
        if loss < best:
            best, coef, errors = loss, vectors @ (shrunk[:, None] * products), residuals
    counts = [r for r in COMPONENT_COUNTS if r < C.shape[1]] + [C.shape[1]]
    models = [_with_errors(feature_mean, mean[:r], coef[:, :r], errors[:, :r], Y) for r in counts]
    predicted = C - errors
    best_model = max(models, key=lambda model: _separation(model, predicted, C))
    return best_model, predicted


def _with_errors(
    feature_mean: np.ndarray, mean: np.ndarray, coef: np.ndarray, errors: np.ndarray, Y: np.ndarray
) -> Prediction:
    variance = Y[:, : len(mean)].var(axis=0) + TINY
    whitening, log_ratio = _whiten(errors, variance)
    return Prediction(feature_mean, mean, coef, whitening, variance, log_ratio)


def _separation(prediction: Prediction, predicted: np.ndarray, C: np.ndarray) -> float:
    """Share of some wrong pairs of rows with less evidence than a pair of a row's own."""
    own = np.sort(_evidence(prediction, predicted, C))
    wrong = [_evidence(prediction, np.roll(predicted, k, axis=0), C) for k in WRONG_SHIFTS]
    return 1.0 - float(np.searchsorted(own, np.concatenate(wrong)).mean()) / len(own)


def _whiten(errors: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, float]:
    """W with Σ⁻¹ = Wᵀ W for the covariance Σ of the errors, and ½ log |T| / |Σ|."""
    if errors.shape[1] == 0:
        return np.zeros((0, 0)), 0.0
    covariance = ledoit_wolf(errors)[0] + TINY * np.eye(errors.shape[1])
    root = np.linalg.cholesky(covariance)
    log_ratio = 0.5 * float(np.log(variance).sum()) - float(np.log(np.diag(root)).sum())
    return solve_triangular(root, np.eye(len(root)), lower=True), log_ratio


def _log_ratio_of_t(total: np.ndarray, error: np.ndarray, r: int) -> np.ndarray:
    """½ (ν + r) log (1 + total / ν) / (1 + error / ν)."""
    nu = DEGREES_OF_FREEDOM
    return 0.5 * (nu + r) * (np.log1p(total / nu) - np.log1p(error / nu))


def evidence(prediction: Prediction, F: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Evidence (n) that the rows of C belong to those of F."""
    return _evidence(prediction, prediction(F), C)


def _evidence(prediction: Prediction, predicted: np.ndarray, C: np.ndarray) -> np.ndarray:
    r = len(prediction.mean)
    C = C[:, :r]
    total = ((C - prediction.mean) ** 2 / prediction.variance).sum(axis=1)
    error = (((C - predicted[:, :r]) @ prediction.whitening.T) ** 2).sum(axis=1)
    return prediction.log_ratio + _log_ratio_of_t(total, error, r)


def pair_evidence(prediction: Prediction, predicted: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Evidence (n x m) that row j of C belongs to the row i whose components are predicted."""
    r, W = len(prediction.mean), prediction.whitening.T
    C = C[:, :r]
    total = ((C - prediction.mean) ** 2 / prediction.variance).sum(axis=1)
    error = squared_distances(predicted[:, :r] @ W, C @ W)
    return prediction.log_ratio + _log_ratio_of_t(total, error, r)


def fit_cross_views(data: MultiViewData) -> CrossViewModel:
    """Fit the components and typical values of each view, and its prediction from each other."""
    names = list(data.view_names)
    present = data.present
    model = CrossViewModel(names, [], [], [])
    Cs = []
    for v, name in enumerate(names):
        rows = present[:, v]
        # a view that no row has is like one that never varies
        X = data[rows][name] if rows.any() else np.zeros((2, data[name].shape[1]))
        part = fit_components(X)
        C, outside = part.project(X)
        model.components.append(part)
        model.typical.append(fit_typical_view(X, C, outside))
        Cs.append(np.full((len(data), C.shape[1]), np.nan))
        if rows.any():
            Cs[v][rows] = C
    for u in range(len(names)):
        row: list[Prediction | None] = []
        bases: dict[bytes, RidgeBasis] = {}
        for v in range(len(names)):
            both = present[:, u] & present[:, v]
            if u == v or both.sum() < 3:
                row.append(None)
                continue
            key = both.tobytes()
            if key not in bases:
                bases[key] = ridge_basis(model.components[u].features(Cs[u][both]))
            row.append(fit_prediction(bases[key], Cs[v][both])[0])
        model.predictions.append(row)
    return model
