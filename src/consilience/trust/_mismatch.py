"""Samples whose views do not belong together: swapped tubes, wrong joins."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import ndtr
from sklearn.utils import Bunch

from consilience._core.blas_threads import one_blas_thread
from consilience._parameters import FRACTION
from consilience._targets import check_labels
from consilience.trust._cross_view import (
    RidgeBasis,
    ViewComponents,
    check_feature_views,
    fit_components,
    fit_prediction,
    pair_evidence,
    ridge_basis,
)
from consilience.trust._fdr import q_values_of_probabilities
from consilience.trust._left_out import check_in_memory
from consilience.trust._mismatch_steps import (
    fit_mixture,
    own_scores,
    partner_p_values,
    pool_with_partners,
    standard_scores,
)
from consilience.views import MultiViewData, as_multiview
from consilience.views import _storage as storage
from consilience.views._encode import encode_tables, fit_table_codes
from consilience.views._index import check_aligned
from consilience.views._layout import check_values
from consilience.views._pairwise import KINDS

__all__ = ["find_mismatched_samples"]

MIN_SAMPLES = 30
MAX_SAMPLES = 5000  # all pairs are compared
MIN_AREA = 0.75  # under the ROC curve of own against wrong pairs; below it nothing is claimed
SUSPECT_ABOVE = 0.1


def find_mismatched_samples(X: Any, y: Any = None, *, fdr: float = 0.2) -> Bunch:
    """Find samples one of whose views probably belongs to another sample.

    Each view is predicted from each other one, for samples left out; a sample is suspicious if
    its own views fit together no better than those of two different samples.

    Parameters
    ----------
    X : MultiViewData, or any input of several views
        At most 5000 samples, two or more views of feature columns.
    y : array of shape (n_samples,), optional
        Labels; they help to predict the views, and are taken to be right.
    fdr : float, default=0.2
        Largest expected share of false suspects. It is estimated, not guaranteed.

    Returns
    -------
    Bunch
        ``suspects``, numbers of the rows, the most suspicious first; ``view``, for each the name
        of the view that is probably from another sample, or None if X has only two, as it
        cannot be told which of them is wrong; ``partner``, the suspect whose view fits best in
        its place, or −1; ``q_value`` of each, the estimated share of false suspects up to this one;
        ``probability`` (n_samples,), that a sample is mismatched; ``areas``, view -> area under
        the ROC curve of right against wrong pairs: 0.5 if nothing can be told.

    Notes
    -----
    Nothing is claimed for a view that the others hardly predict (an area below 0.75). Views must
    have been exchanged among the samples of X, and of less than 30 % of them. Samples whose views
    are odd, but their own, look like mismatched ones.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.trust import find_mismatched_samples
    >>> rng = np.random.RandomState(0)
    >>> latent = rng.randn(300, 10)
    >>> rna, protein = latent + 0.3 * rng.randn(2, 300, 10)
    >>> protein[:10] = np.roll(protein[:10], 1, axis=0)  # ten swapped tubes
    >>> result = find_mismatched_samples({"rna": rna, "protein": protein})
    >>> len(np.intersect1d(result.suspects, np.arange(10)))
    10
    """
    if not FRACTION.is_satisfied_by(fdr):
        raise ValueError(f"fdr must be a number between 0 and 1, got {fdr!r}")
    data = _read_views(X)
    check_aligned(data, y=y)
    targets = None if y is None else _one_hot(check_labels(y, len(data), "find_mismatched_samples"))
    n, names = len(data), list(data.view_names)
    probability = np.zeros((n, len(names)))
    areas, scores = {}, {}
    with one_blas_thread():
        evidence = all_evidence(data, targets)
        for v, name in enumerate(names):
            S, rows = evidence_of_view(evidence, v, data.present)
            areas[name] = np.nan
            if len(rows) < MIN_SAMPLES:
                continue
            Z = standard_scores(S)
            scores[v] = Z, rows
            probability[rows, v], areas[name] = mismatch_probabilities(Z)
    return _summarise(probability, scores, areas, names, fdr)


def _read_views(X: Any) -> MultiViewData:
    check_in_memory(X, "find_mismatched_samples")
    data = as_multiview(X)
    check_feature_views(data, "find_mismatched_samples")
    if data.n_views < 2:
        raise ValueError("find_mismatched_samples needs two or more views, got one")
    if not MIN_SAMPLES <= len(data) <= MAX_SAMPLES:
        raise ValueError(
            f"find_mismatched_samples takes {MIN_SAMPLES} to {MAX_SAMPLES} samples, got {len(data)}"
        )
    data = encode_tables(data, fit_table_codes(data))
    data = data._replace(
        {name: storage.to_numeric(view, name) for name, view in data._views.items()}
    )
    return check_values(data, KINDS, "find_mismatched_samples", nan_views=data.view_names)


def _one_hot(y: np.ndarray) -> np.ndarray:
    return (np.asarray(y)[:, None] == np.unique(y)).astype(np.float64)


def all_evidence(
    data: MultiViewData, targets: np.ndarray | None
) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]:
    """For views u < v the rows that have both, and their evidence: u of i with v of j."""
    present = data.present
    names = data.view_names
    parts = [
        fit_components(data[present[:, v]][name]) if present[:, v].any() else None
        for v, name in enumerate(names)
    ]
    out = {}
    latest: dict[int, tuple[np.ndarray, RidgeBasis]] = {}  # of each view: rows are mostly the same

    def basis(v: int, part: ViewComponents, C: np.ndarray, rows: np.ndarray) -> RidgeBasis:
        if v not in latest or not np.array_equal(latest[v][0], rows):
            F = part.features(C)
            F = F if targets is None else np.hstack([F, targets[rows]])
            latest[v] = rows, ridge_basis(F)
        return latest[v][1]

    for u in range(len(names)):
        for v in range(u + 1, len(names)):
            rows = np.flatnonzero(present[:, u] & present[:, v])
            part_u, part_v = parts[u], parts[v]
            if len(rows) < MIN_SAMPLES or part_u is None or part_v is None:
                continue
            own = data[rows]
            Cu, Cv = part_u.transform(own[names[u]]), part_v.transform(own[names[v]])
            forward, predicted_v = fit_prediction(basis(u, part_u, Cu, rows), Cv)
            backward, predicted_u = fit_prediction(basis(v, part_v, Cv, rows), Cu)
            S = pair_evidence(forward, predicted_v, Cv) + pair_evidence(backward, predicted_u, Cu).T
            out[u, v] = rows, S
    return out


def evidence_of_view(
    evidence: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]], v: int, present: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean evidence of view v (columns) with the others (rows), for samples that have both."""
    pairs = {pair: item for pair, item in evidence.items() if v in pair}
    has_pair = np.zeros(len(present), dtype=bool)
    for rows, _ in pairs.values():
        has_pair[rows] = True
    kept = np.flatnonzero(has_pair)
    if all(len(rows) == len(kept) for rows, _ in pairs.values()):
        total = np.zeros((len(kept), len(kept)))
        for (_, b), (_, S) in pairs.items():
            total += S if b == v else S.T
        return total / max(len(pairs), 1), kept
    position = np.full(len(present), -1)
    position[kept] = np.arange(len(kept))
    total, count = np.zeros((2, len(kept), len(kept)))
    for (_, b), (rows, S) in pairs.items():
        where = np.ix_(position[rows], position[rows])
        total[where] += S if b == v else S.T
        count[where] += 1
    # pairs without a common view to compare count like the mean of wrong pairs
    mean = total / np.maximum(count, 1)
    is_wrong = (count > 0) & ~np.eye(len(kept), dtype=bool)
    return np.where(count > 0, mean, mean[is_wrong].mean() if is_wrong.any() else 0.0), kept


def mismatch_probabilities(Z: np.ndarray) -> tuple[np.ndarray, float]:
    """Probability that each sample is mismatched, and the area under the ROC curve."""
    z = own_scores(Z)
    if not Z.std() > 0:  # every pair fits alike
        return np.zeros(len(z)), 0.5
    area = float(ndtr(z).mean())  # share of wrong pairs that fit worse than a sample's own
    if area < MIN_AREA:
        return np.zeros(len(z)), area
    p, _ = fit_mixture(z)
    suspects = np.flatnonzero(p > SUSPECT_ABOVE)
    out = np.zeros(len(z))
    if 1 < len(suspects) < len(z):
        out[suspects] = pool_with_partners(p[suspects], partner_p_values(Z, suspects))
    return out, area


def _summarise(
    probability: np.ndarray,
    scores: dict[int, tuple[np.ndarray, np.ndarray]],
    areas: dict[str, float],
    names: list[str],
    fdr: float,
) -> Bunch:
    """Suspects with a q-value up to ``fdr``, the view that is wrong, and their partners."""
    # one view of a sample is wrong: the one with the largest probability
    worst = probability.argmax(axis=1)
    highest = probability.max(axis=1)
    q = q_values_of_probabilities(highest)
    order = np.lexsort((np.arange(len(q)), q))
    suspects = order[(q[order] <= fdr) & (highest[order] > 0)]
    return Bunch(
        suspects=suspects,
        view=[None if len(names) == 2 else names[worst[i]] for i in suspects],
        partner=_partners(suspects, worst, scores),
        q_value=q[suspects],
        probability=highest,
        areas=areas,
    )


def _partners(
    suspects: np.ndarray, worst: np.ndarray, scores: dict[int, tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """For each suspect the other one whose view fits it best, by an optimal assignment."""
    partner = np.full(len(suspects), -1)
    for v, (Z, rows) in scores.items():
        own = np.flatnonzero(worst[suspects] == v)
        if len(own) < 2:
            continue
        where = np.searchsorted(rows, suspects[own])
        fit = Z[np.ix_(where, where)].copy()
        np.fill_diagonal(fit, -1e6)
        _, columns = linear_sum_assignment(-fit)
        partner[own] = suspects[own][columns]
    return partner
