"""Association of columns and pairs of columns with the classes, one by one."""

import numpy as np
from scipy.stats import norm


def scores(column):
    """Normal quantiles of the ranks, ties at their mean; NaN stays."""
    known = column[~np.isnan(column)]
    out = np.full(len(column), np.nan)
    for i, value in enumerate(column):
        if not np.isnan(value):
            rank = (known < value).sum() + ((known == value).sum() + 1) / 2
            out[i] = norm.ppf((rank - 0.5) / len(known))
    return out


def statistic(values, y, k, weight, units):
    """Score statistic of a column that is centred where it is known."""
    share = np.average(y == k, weights=weight)
    sums = {}
    for i, value in enumerate(values):
        if not np.isnan(value):
            sums[units[i]] = sums.get(units[i], 0.0) + weight[i] * ((y[i] == k) - share) * value
    parts = np.array(list(sums.values()))
    return parts.sum() / np.sqrt((parts**2).sum())


def alone(X, y, weight, units):
    """Largest |z| of each column over the classes."""
    return np.array(
        [
            max(abs(statistic(centred(x, weight), y, k, weight, units)) for k in np.unique(y))
            for x in X.T
        ]
    )


def centred(column, weight):
    """Normal scores less their weighted mean."""
    own = scores(column)
    known = ~np.isnan(own)
    return own - np.average(own[known], weights=weight[known])


def pair(first, second, y, k, weight, units):
    """Statistic of the product of two columns, centred where both are known."""
    product = centred(first, weight) * centred(second, weight)
    return statistic(product - np.nanmean(product), y, k, weight, units)
