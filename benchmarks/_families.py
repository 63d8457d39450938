"""Families of synthetic multi-view problems, each a way in which views differ.

``FAMILIES[name](n, rng)`` gives n rows: dict of views, labels 0 … K − 1. Classes are told apart in
ways that suit kernels, trees, linear models or none of them.
"""

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm


def _labels(rng, n, shares):
    shares = np.asarray(shares, float)
    return rng.choice(len(shares), size=n, p=shares / shares.sum())


def _fixed(seed):
    """Centres, rules and loadings are those of the family: training and test rows share them."""
    return np.random.RandomState(seed)


def gaussian(widths, view_weights, *, classes=2, shares=None, redundancy=0.3, noise=0.0, seed=0):
    """Normal classes, one centre for each class and view; part of the scatter is common."""

    def draw(n, rng):
        y = _labels(rng, n, np.ones(classes) if shares is None else shares)
        common = rng.standard_normal((n, 4))
        views = {}
        for v, (d, strength) in enumerate(zip(widths, view_weights, strict=True)):
            fixed = _fixed(1000 * seed + v)
            centres = fixed.standard_normal((classes, d))
            centres *= strength / np.linalg.norm(centres, axis=1, keepdims=True)
            load = fixed.standard_normal((4, d)) / np.sqrt(d)
            scatter = np.sqrt(redundancy) * common @ load * 2
            scatter = scatter + np.sqrt(1 - redundancy) * rng.standard_normal((n, d))
            views[f"v{v}"] = centres[y] + scatter
        flip = rng.random_sample(n) < noise
        return views, np.where(flip, rng.randint(classes, size=n), y)

    return draw


def strong_beside_wide(strong_rule, *, width=300, share=0.85, weak=0.6, seed=0):
    """Three columns that tell the class by a rule, beside many weak columns of mixed kinds."""

    def draw(n, rng):
        y = _labels(rng, n, [share, 1 - share])
        strong = strong_rule(rng, y)
        fixed = _fixed(seed)
        shift = fixed.standard_normal(width) * weak * (fixed.random_sample(width) < 0.1)
        base = rng.standard_normal((n, width)) + np.outer(y - 0.5, shift)
        kind = fixed.randint(4, size=width)
        scale = 10 ** fixed.uniform(-2, 3, size=width)
        wide = np.where(kind == 0, base * scale, base)
        wide = np.where(kind == 1, np.exp(1.5 * base) * scale, wide)
        wide = np.where(kind == 2, (base > 1).astype(float), wide)
        wide = np.where(kind == 3, rng.poisson(np.exp(np.clip(base, -3, 3))), wide)
        return {"strong": strong, "wide": wide}, y

    return draw


def _bands(rng, y):
    """The rare class lies in bands of two skewed columns; the third column is noise."""
    n = len(y)
    u = rng.random_sample((n, 2))
    rare = 0.35 + 0.2 * rng.random_sample((n, 2))
    u = np.where(y[:, None] == 1, rare, u)
    return np.column_stack([np.exp(4 * u[:, 0]), u[:, 1] ** 3 * 1e4, rng.standard_normal(n)])


def _shifted(rng, y):
    X = rng.standard_normal((len(y), 3))
    X[:, :2] += 1.6 * y[:, None]
    return X * [1, 100, 0.01]


def _counts(rng, y):
    rate = np.where(y[:, None] == 1, [6.0, 1.0, 2.0], [2.0, 3.0, 2.0])
    return rng.poisson(rate).astype(float)


def rule_columns(widths, n_rules=4, *, classes=2, seed=0):
    """The class is a vote of thresholds on a few columns of every view, as trees have it."""

    def draw(n, rng):
        views, votes = {}, np.zeros((n, classes))
        for v, d in enumerate(widths):
            fixed = _fixed(1000 * seed + v)
            X = np.exp(rng.standard_normal((n, d)))
            for _ in range(n_rules):
                column, cut = fixed.randint(d), 0.5 * fixed.standard_normal()
                weight = fixed.standard_normal(classes)
                above = (np.log(X[:, column]) > cut) - norm.sf(cut)
                votes += np.outer(above, weight - weight.mean())
            views[f"v{v}"] = X
        return views, votes.argmax(axis=1)

    return draw


def words(vocabularies, *, classes=3, length=30, strength=1.0, shares=None, seed=0):
    """Bags of words: classes differ in the rates of some words; sparse."""

    def draw(n, rng):
        y = _labels(rng, n, np.ones(classes) if shares is None else shares)
        views = {}
        for v, d in enumerate(vocabularies):
            fixed = _fixed(1000 * seed + v)
            log_rate = -np.log(np.arange(1, d + 1)) + np.zeros((classes, 1))
            marked = fixed.random_sample((classes, d)) < 0.1
            rate = np.exp(log_rate + strength * marked * fixed.standard_normal((classes, d)))
            rate *= length / rate.sum(axis=1, keepdims=True)
            views[f"v{v}"] = sp.csr_array(rng.poisson(rate[y]).astype(float))
        return views, y

    return draw


def histograms(widths, *, classes=4, sharpness=15.0, seed=0):
    """Rows on the simplex (colour histograms, topic shares)."""

    def draw(n, rng):
        y = _labels(rng, n, np.ones(classes))
        views = {}
        for v, d in enumerate(widths):
            base = _fixed(1000 * seed + v).dirichlet(np.full(d, 0.5), size=classes)
            weights = rng.gamma(sharpness * base[y] + 0.01)
            views[f"v{v}"] = weights / weights.sum(axis=1, keepdims=True)
        return views, y

    return draw


def rings(widths, *, seed=0):
    """Classes at different distances from the centre of a plane hidden in each view."""

    def draw(n, rng):
        y = _labels(rng, n, [1, 1])
        views = {}
        for v, d in enumerate(widths):
            angle = rng.uniform(0, 2 * np.pi, n)
            radius = 1 + 1.5 * y + 0.4 * rng.standard_normal(n)
            plane = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
            load = np.linalg.qr(_fixed(1000 * seed + v).standard_normal((d, 2)))[0]
            views[f"v{v}"] = plane @ load.T + 0.3 * rng.standard_normal((n, d))
        return views, y

    return draw


def across(d, *, seed=0):
    """The class is the product of signs of two views: neither says anything alone."""

    def draw(n, rng):
        signs = rng.choice([-1.0, 1.0], size=(n, 2))
        fixed = _fixed(seed)
        views = {}
        for v in range(2):
            direction = fixed.standard_normal(d)
            direction *= 3 / np.linalg.norm(direction)
            views[f"v{v}"] = rng.standard_normal((n, d)) + np.outer(signs[:, v], direction)
        return views, (signs.prod(axis=1) > 0).astype(int)

    return draw


def tables(n_views, *, shares=(3, 1), seed=0):
    """Mixed columns: one-hot categories, counts, amounts over decades; weak effects in each."""

    def draw(n, rng):
        y = _labels(rng, n, shares)
        views = {}
        for v in range(n_views):
            fixed = _fixed(1000 * seed + v)
            rates = fixed.dirichlet(np.ones(6), size=2)
            category = np.array([rng.choice(6, p=rates[k]) for k in y])
            effects = fixed.standard_normal(6) * 0.7
            latent = rng.standard_normal((n, 6)) + np.outer(y, effects)
            amounts = np.exp(latent[:, :3] * [1, 2, 0.5]) * [1, 1e4, 10]
            counts = rng.poisson(np.exp(np.clip(latent[:, 3:], -3, 3)))
            views[f"v{v}"] = np.column_stack([np.eye(6)[category], amounts, counts])
        return views, y

    return draw


def few_columns(widths, n_strong, *, shift, classes, seed=0):
    """A few columns whose mean depends on the class, among many that say nothing."""

    def draw(n, rng):
        y = rng.randint(classes, size=n)
        views = {}
        for v, (d, strong) in enumerate(zip(widths, n_strong, strict=True)):
            fixed = _fixed(1000 * seed + v)
            X = rng.standard_normal((n, d))
            columns = fixed.choice(d, strong, replace=False)
            X[:, columns] += shift * fixed.choice([-1, 0, 1], size=(classes, strong))[y]
            views[f"v{v}"] = X
        return views, y

    return draw


FAMILIES = {
    "equal views": gaussian([20, 20, 20], [1.5, 1.5, 1.5], seed=1),
    "one strong view": gaussian([20, 20, 20], [3.0, 0.7, 0.7], seed=2),
    "strong beside junk": gaussian([10, 50, 50, 50], [2.5, 0, 0, 0], seed=3),
    "redundant views": gaussian([20, 20, 20], [2, 2, 2], redundancy=0.9, seed=4),
    "independent views": gaussian([20, 20, 20], [1.5, 1.5, 1.5], redundancy=0.0, seed=5),
    "narrow and wide": gaussian([3, 500], [2.5, 2.0], seed=6),
    "wide weak": gaussian([300, 300], [2.5, 2.5], seed=7),
    "ten classes": gaussian([15, 30, 60], [3, 3, 3], classes=10, seed=8),
    "rare class": gaussian([15, 30], [2, 2], shares=[9, 1], seed=9),
    "noisy labels": gaussian([15, 30, 30], [2.5, 2, 2], noise=0.4, seed=10),
    "twelve views": gaussian([8] * 12, [0.9] * 12, seed=11),
    "single columns": gaussian([1, 1, 40], [2, 1.5, 1.5], seed=12),
    "strong bands beside wide": strong_beside_wide(_bands, seed=13),
    "strong shift beside wide": strong_beside_wide(_shifted, seed=14),
    "strong counts beside wide": strong_beside_wide(_counts, seed=15),
    "bands, balanced": strong_beside_wide(_bands, share=0.5, width=100, seed=16),
    "rules in narrow views": rule_columns([5, 8], seed=17),
    "rules in wide views": rule_columns([40, 80], n_rules=2, seed=18),
    "rules, four classes": rule_columns([10, 10, 10], classes=4, seed=19),
    "words": words([800, 400], seed=20),
    "words, rare class": words([1500, 300], classes=2, shares=[6, 1], strength=1.5, seed=21),
    "histograms": histograms([30, 60, 20], seed=22),
    "rings": rings([5, 8], seed=23),
    "across views": across(5, seed=24),
    "tables": tables(2, seed=25),
    "tables, balanced": tables(4, shares=(1, 1), seed=26),
    "15 of 600 columns": few_columns([200] * 3, [5] * 3, shift=1.5, classes=4, seed=0),
    "6 of 2000 columns": few_columns([1000] * 2, [3] * 2, shift=1.2, classes=2, seed=1),
    "10 of 300 columns": few_columns([100] * 3, [4, 3, 3], shift=1.2, classes=3, seed=2),
    "30 of 600 columns": few_columns([300] * 2, [15] * 2, shift=0.8, classes=4, seed=3),
}
