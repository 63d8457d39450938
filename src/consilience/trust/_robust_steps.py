"""Steps of robust pooling: how likely is each view of a sample to be off?

A view is off because it belongs to another sample, or because its values are noisy. With the
rates ρ_1 and ρ_2 of samples with such views, the odds of "view v is off" against "no view is" are

    odds_v = Σ_t 2 ρ_t / (1 − ρ_1 − ρ_2) · exp(w_tv · z_v + a_tv).

z_v are the conflict of the view with the others in classes, its disagreement with them in
components and in rhythms, and how strange its values are. w_tv and a_tv are those of a conditional
logistic regression on calibration rows, as they are and with one view altered. It tells which view
was exchanged with that of a row of another class; of noise it is asked mainly to leave a view out
where this makes the right class more probable, as a view with little noise is better than none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, lstsq
from scipy.optimize import minimize

from consilience._model_types import model_type

__all__ = [
    "N_FAULTS",
    "Detector",
    "Examples",
    "detector_hessian",
    "detector_loss",
    "draw_donors",
    "estimate_rates",
    "even_rates",
    "fit_detector",
    "pool",
    "refine_detector",
    "silent_detector",
    "view_odds",
]

N_FAULTS = 2  # a view of another sample, and noise
EXCHANGED, NOISY = 1, 2
SHARED_PENALTY, OWN_PENALTY = 0.1, 1.0  # of the mean weights of all views, of each view's own part
RECOGNITION_SHARE = 0.1  # of recognising noise in the loss; the rest is that of the class
MIN_LIKELIHOOD = 1e-4
MAX_ITERATIONS, MAX_NEWTON_STEPS = 300, 10
MAX_LOG_ODDS = 50.0
N_RATE_ITERATIONS = 200
MIN_RATE, MAX_RATE = 1e-4, 0.45
TINY = 1e-12


def pool(full: np.ndarray, without: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """Mean of the probabilities (n x K) and those without each view (n x V x K), by the odds.

    Views of odds 0 are ignored, so that ``without`` may be NaN for them.
    """
    total = 1.0 + odds.sum(axis=1)
    parts = np.where(odds[:, :, None] > 0, without, 0.0)
    return (full + np.einsum("nv,nvk->nk", odds, parts)) / total[:, None]


def draw_donors(codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """For each row a random row of another class."""
    return np.array([rng.choice(np.flatnonzero(codes != code)) for code in codes])


def even_rates(off_rate: float) -> np.ndarray:
    """Both faults are as frequent."""
    return np.full(N_FAULTS, off_rate / N_FAULTS)


def view_odds(odds: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Odds (n x V) at these rates of the faults, from odds (n x V x 2) at even ones."""
    return odds @ (N_FAULTS * rates / (1.0 - rates.sum()))


def estimate_rates(odds: np.ndarray) -> np.ndarray:
    """Rates of the faults in the rows with these odds (n x V x 2), by EM.

    M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the outputs of a classifier to new a
    priori probabilities", Neural Computation 14, 2002.
    """
    totals, rates = N_FAULTS * odds.sum(axis=1), even_rates(0.1)
    for _ in range(N_RATE_ITERATIONS):
        shares = totals * rates / (1.0 - rates.sum())
        shares /= 1.0 + shares.sum(axis=1, keepdims=True)
        rates = np.clip(shares.mean(axis=0), MIN_RATE, MAX_RATE)
    return rates


@model_type("trust.Detector")
@dataclass(eq=False)
class Detector:
    """Weights w_tv (2 x V x F) and intercepts a_tv (2 x V) of the log-odds that view v is off."""

    mean: np.ndarray
    scale: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray

    def odds(self, features: np.ndarray) -> np.ndarray:
        """Odds (n x V x 2) of features (n x V x F) if each fault is half as likely as none.

        0 where features are NaN.
        """
        Z = (features - self.mean) / self.scale
        log_odds = np.einsum("nvf,tvf->nvt", Z, self.coef) + self.intercept.T
        odds = np.exp(np.minimum(log_odds, MAX_LOG_ODDS))
        return np.where(np.isnan(odds), 0.0, odds)


def silent_detector(n_views: int, n_features: int) -> Detector:
    """A detector without any suspicion, where nothing can be learnt."""
    nothing = np.zeros((N_FAULTS, n_views, n_features))
    intercept = np.full((N_FAULTS, n_views), -MAX_LOG_ODDS)
    return Detector(np.zeros(n_features), np.ones(n_features), nothing, intercept)


@dataclass(eq=False)
class Examples:
    """Calibration rows, some with a view that was altered.

    ``fault`` is 0 for rows as they were, else EXCHANGED or NOISY; ``view`` is the altered one.
    ``likelihood`` (n x V + 1) is the probability of the right class from all views and without
    each; only that of noisy rows is used.
    """

    features: np.ndarray
    fault: np.ndarray
    view: np.ndarray
    likelihood: np.ndarray

    @property
    def weight(self) -> np.ndarray:
        """Half of the weight for rows as they were, a quarter for each fault."""
        counts = np.bincount(self.fault, minlength=N_FAULTS + 1)
        share = np.full(N_FAULTS + 1, counts[0] / N_FAULTS)
        share[0] = counts[0]
        return (share / np.maximum(counts, 1))[self.fault]


def detector_loss(
    parameters: np.ndarray, Z: np.ndarray, examples: Examples
) -> tuple[float, np.ndarray]:
    """Penalised loss of the conditional logistic regression, and its gradient.

    With P_i = softmax(0, s_i11, …, s_i2V), s_itv = (w_t + d_tv) · z_iv + a_tv, without the views
    whose z_iv are NaN, it is −Σ_i w_i log P_i[h_i] for the right hypothesis h_i. Of noisy rows this
    is weighted by 0.1, and by 0.9 −log Σ_h P_i[h] p_ih, with the likelihood p_ih of the class. The
    penalty is ½ Σ_t (0.1 |w_t|² + Σ_v |d_tv|²).
    """
    n, n_views, n_features = Z.shape
    shared, own, _ = _unpack(parameters, n_views, n_features)
    log_p, log_q, total = _log_posteriors(parameters, Z, examples)
    p, everyone = np.exp(log_p), np.arange(n)
    target = np.where(examples.fault > 0, 1 + (examples.fault - 1) * n_views + examples.view, 0)
    is_noisy, weight = examples.fault == NOISY, examples.weight
    recognition = np.where(is_noisy, RECOGNITION_SHARE, 1.0) * weight
    residuals = recognition[:, None] * p
    residuals[everyone, target] -= recognition
    of_class = (1.0 - RECOGNITION_SHARE) * weight[is_noisy]
    residuals[is_noisy] += of_class[:, None] * (p[is_noisy] - np.exp(log_q))
    loss = -float(recognition @ log_p[everyone, target]) - float(of_class @ total)
    loss += 0.5 * (SHARED_PENALTY * (shared**2).sum() + OWN_PENALTY * (own**2).sum())
    residuals = residuals[:, 1:].reshape(n, N_FAULTS, n_views)
    slopes = np.einsum("ntv,nvf->tvf", residuals, np.nan_to_num(Z))
    gradient = [
        slopes.sum(axis=1) + SHARED_PENALTY * shared,
        slopes + OWN_PENALTY * own,
        residuals.sum(axis=0),
    ]
    return loss, np.concatenate([part.ravel() for part in gradient])


def _log_posteriors(
    parameters: np.ndarray, Z: np.ndarray, examples: Examples
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log P_i (n x 1 + 2V); of noisy rows also log Q_i, given the class, and log Σ_h P_ih p_ih."""
    n, n_views, n_features = Z.shape
    shared, own, intercept = _unpack(parameters, n_views, n_features)
    is_known = ~np.isnan(Z).any(axis=2)
    scores = np.einsum("nvf,tvf->ntv", np.nan_to_num(Z), shared[:, None] + own) + intercept
    scores = np.where(is_known[:, None], scores, -np.inf).reshape(n, -1)
    scores = np.column_stack([np.zeros(n), scores])
    log_p = scores - _log_sum_exp(scores)[:, None]
    is_noisy = examples.fault == NOISY
    log_likelihood = np.log(np.maximum(examples.likelihood[is_noisy], MIN_LIKELIHOOD))
    joint = log_p[is_noisy] + np.hstack([log_likelihood, *[log_likelihood[:, 1:]] * (N_FAULTS - 1)])
    total = _log_sum_exp(joint)
    return log_p, joint - total[:, None], total


def _log_sum_exp(scores: np.ndarray) -> np.ndarray:
    """log Σ_h exp s_ih of rows with a finite s_i0; scipy's takes most of the time of a fit."""
    highest = scores.max(axis=1)
    return highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))


def detector_hessian(parameters: np.ndarray, Z: np.ndarray, examples: Examples) -> np.ndarray:
    """Second derivatives of ``detector_loss``.

    By the scores of a row they are w_i (diag P_i − P_i P_iᵀ), for noisy rows less
    0.9 w_i (diag Q_i − Q_i Q_iᵀ).
    """
    n, n_views, n_features = Z.shape
    log_p, log_q, _ = _log_posteriors(parameters, Z, examples)
    is_noisy, weight = examples.fault == NOISY, examples.weight
    U = np.concatenate([np.nan_to_num(Z), np.ones((n, n_views, 1))], axis=2)  # of w and a
    U = np.concatenate([U] * N_FAULTS, axis=1)
    of_class = (1.0 - RECOGNITION_SHARE) * weight[is_noisy]
    by_score = _softmax_curvature(np.exp(log_p[:, 1:]), weight, U)
    by_score -= _softmax_curvature(np.exp(log_q[:, 1:]), of_class, U[is_noisy])
    units = [_unpack(unit, n_views, n_features) for unit in np.eye(len(parameters))]
    by_parameter = np.stack(
        [np.dstack([shared[:, None] + own, a]).ravel() for shared, own, a in units], axis=1
    )
    n_shared = N_FAULTS * n_features
    penalty = np.zeros(len(parameters))
    penalty[:n_shared], penalty[n_shared : n_shared * (n_views + 1)] = SHARED_PENALTY, OWN_PENALTY
    return by_parameter.T @ by_score @ by_parameter + np.diag(penalty)


def _softmax_curvature(p: np.ndarray, weight: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Σ_i w_i J_iᵀ (diag p_i − p_i p_iᵀ) J_i, where score h of row i changes by u_ih · dβ_h."""
    size = U.shape[1] * U.shape[2]
    products = p[:, :, None] * U
    rows = products.reshape(len(U), size)
    blocks = block_diag(*np.einsum("n,nhf,nhg->hfg", weight, products, U))
    return blocks - rows.T @ (weight[:, None] * rows)


def _unpack(
    parameters: np.ndarray, n_views: int, n_features: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shared weights (2 x F), those of each view (2 x V x F) and intercepts (2 x V)."""
    ends = np.cumsum([N_FAULTS * n_features, N_FAULTS * n_views * n_features])
    shared, own, intercept = np.split(parameters, ends)
    return (
        shared.reshape(N_FAULTS, n_features),
        own.reshape(N_FAULTS, n_views, n_features),
        intercept.reshape(N_FAULTS, n_views),
    )


def refine_detector(parameters: np.ndarray, Z: np.ndarray, examples: Examples) -> np.ndarray:
    """Newton steps from near the minimum to it, while they halve the gradient.

    The values of the loss, by which generic solvers stop, hardly differ where the odds still do.
    """
    gradient = detector_loss(parameters, Z, examples)[1]
    for _ in range(MAX_NEWTON_STEPS):
        hessian = detector_hessian(parameters, Z, examples)
        trial = parameters - lstsq(hessian, gradient)[0]  # flat along views that no row has
        trial_gradient = detector_loss(trial, Z, examples)[1]
        if not np.linalg.norm(trial_gradient) <= 0.5 * np.linalg.norm(gradient):
            break
        parameters, gradient = trial, trial_gradient
    return parameters


def fit_detector(examples: Examples) -> Detector:
    """Fit the conditional logistic regression to the examples."""
    features = examples.features
    n_views, n_features = features.shape[1:]
    mean, spread = np.nanmean(features, axis=(0, 1)), np.nanstd(features, axis=(0, 1))
    scale = np.where(spread > TINY, spread, 1.0)
    start = np.zeros(N_FAULTS * (n_features * (n_views + 1) + n_views))
    Z, options = (features - mean) / scale, {"maxiter": MAX_ITERATIONS}
    near = minimize(
        detector_loss, start, (Z, examples), jac=True, method="L-BFGS-B", options=options
    )
    solution = refine_detector(near.x, Z, examples)
    shared, own, intercept = _unpack(solution, n_views, n_features)
    # nothing is known of views that were never altered
    is_unknown = ~np.isin(np.arange(n_views), examples.view[examples.fault > 0])
    intercept[:, is_unknown] = -MAX_LOG_ODDS
    coef = np.where(is_unknown[:, None], 0.0, shared[:, None] + own)
    return Detector(mean, scale, coef, intercept)
