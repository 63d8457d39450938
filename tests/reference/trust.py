"""Slow, obvious versions of the steps of consilience.trust."""

from itertools import pairwise

import numpy as np
from scipy.stats import binom, multivariate_t


def p_value(scores_by_fold, own, weight, fold):
    """P-value of one class of one row; ``scores_by_fold`` are its scores without each fold."""
    new = sum(weight**2) / sum(weight) if len(weight) else 1.0
    total = new
    for s_i, w_i, f_i in zip(own, weight, fold, strict=True):
        if s_i >= scores_by_fold[f_i]:
            total += w_i
    return total / (new + sum(weight))


def aps_score(probabilities, k):
    """Total probability of the classes that are at least as likely as k."""
    return sum(p for p in probabilities if p >= probabilities[k])


def safe_threshold(thresholds, confidence, is_wrong, max_error, delta):
    """Lowest threshold before the first that is not rejected."""
    safe = np.inf
    for threshold in thresholds:
        answered = [w for c, w in zip(confidence, is_wrong, strict=True) if c >= threshold]
        if len(answered) < len(confidence) / 4 or (1 - max_error) ** len(answered) > delta:
            continue
        if binom.cdf(sum(answered), len(answered), max_error) > delta:
            return safe
        safe = threshold
    return safe


def q_values(probabilities):
    """Mean probability of error among the rows that are at least as probable."""
    return [np.mean([1 - other for other in probabilities if other >= p]) for p in probabilities]


def pooled(full, without, odds):
    """Probabilities of one row: those from all views and without each view, by the odds."""
    weights = [1.0, *odds]
    parts = [full, *without]
    used = [(w, p) for w, p in zip(weights, parts, strict=True) if w > 0]
    return sum(w * np.asarray(p) for w, p in used) / sum(w for w, _ in used)


def pair_evidence(mean, covariance, variance, predicted, C, nu=10.0):
    """Log-likelihood ratio of Student's t for each pair of a prediction and a row."""
    out = np.empty((len(predicted), len(C)))
    T = np.diag(variance)
    for i, a in enumerate(predicted):
        for j, b in enumerate(C):
            matched = multivariate_t(a, covariance, df=nu).logpdf(b)
            wrong = multivariate_t(mean, T, df=nu).logpdf(b)
            out[i, j] = matched - wrong
    return out


def left_out_ridge(F, C, penalties):
    """Predictions of rows left out one by one, by the relative penalty of least error."""
    centred = F - F.mean(axis=0)
    unit = (centred**2).sum() / len(F)
    best = np.inf
    for penalty in penalties:
        predicted = np.empty_like(C)
        for i in range(len(F)):
            keep = np.arange(len(F)) != i
            # the formula centres with the mean of all rows and lets the intercept be free
            design = np.column_stack([np.ones(keep.sum()), centred[keep]])
            ridge = penalty * unit * np.diag([0.0] + [1.0] * F.shape[1])
            coef = np.linalg.solve(design.T @ design + ridge, design.T @ C[keep])
            predicted[i] = np.append(1.0, centred[i]) @ coef
        loss = ((C - predicted) ** 2).sum()
        if loss < best:
            best, out = loss, predicted
    return out


def policy_point(spent, rates, is_right, limit, n_steps):
    """Mean cost and accuracy if each sample stops before the first step below the limit.

    Of the steps that would not be taken with a higher limit, only the first few count.
    """
    costs, rights = [], []
    for path, steps, right in zip(spent, rates, is_right, strict=True):
        taken, least = 0, np.inf
        while taken < len(steps):
            least = min(least, steps[taken])
            if least < limit or (least == limit and taken >= n_steps):
                break
            taken += 1
        costs.append(path[taken])
        rights.append(right[taken])
    return np.mean(costs), np.mean(rights)


def claims(q, codes):
    """Whether the most probable of the classes that reach their mean confidence is not the own."""
    means = {k: q[codes == k, k].mean() for k in set(codes)}
    out = []
    for p, own in zip(q, codes, strict=True):
        sure = [k for k in means if p[k] >= means[k]]
        out.append(bool(sure) and max(sure, key=lambda k: p[k]) != own)
    return out


def rhythm(X, train, min_change, n_windows=32):
    """Log of the mean absolute change in windows of signals, in units of the training rows'."""
    level, unit = train.mean(), np.median(train.std(axis=0))

    def changes(row):
        scaled = np.clip((row - level) / unit, -10, 10)
        return [abs(b - a) for a, b in pairwise(scaled)]

    floor = min_change * np.mean([changes(row) for row in train])
    length = max(1, (X.shape[1] - 1) // n_windows)
    out = []
    for row in X:
        steps = changes(row)
        starts = range(0, len(steps) - length + 1, length)
        out.append([np.log(np.mean(steps[s : s + length]) + floor) for s in starts])
    return np.array(out)
