"""Slow, obvious twin of the boosting kernel: no histograms, one split after the other, no draws.

Gradients and hessians are integers here as there (rounded multiples of a power of two), so that the
best split is well defined to the last bit and with its ties.
"""

import math

import numpy as np

from reference.trees import bin_limits, bin_of, midpoint

MISSING = 255
MIN_GAIN = 1e-6


def exp_nonpositive(x):
    """The kernel's exponential, operation by operation."""
    x = np.asarray(x, dtype=float)
    lowest, magic = -708.3964, 1.5 * 2.0**52
    clipped = np.where(x < lowest, lowest, x)
    k = (clipped * 1.4426950408889634074 + magic) - magic
    r = (clipped - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    p = np.full_like(r, 1.0 / math.factorial(13))
    for i in range(12, -1, -1):
        p = p * r + 1.0 / math.factorial(i)
    return np.where(x < lowest, 0.0, np.ldexp(p, k.astype(int)))


def probabilities(scores):
    """Probabilities of the classes (n x K), or of the second (n x 1) from its log-odds."""
    if scores.shape[1] == 1:
        e = exp_nonpositive(-np.abs(scores))
        return np.where(scores < 0, e, 1.0) / (1.0 + e)
    e = exp_nonpositive(scores - scores.max(axis=1, keepdims=True))
    total = np.zeros(len(scores))
    for column in e.T:
        total = total + column
    return e / total[:, None]


def log_loss(scores, codes, weight):
    p = probabilities(scores)
    p = np.hstack([1 - p, p]) if p.shape[1] == 1 else p
    return weight @ -np.log(p[np.arange(len(codes)), codes]) / weight.sum()


def unit_for(values):
    """Power of two in which the values are rounded to integers with sums below 2³¹."""
    return math.ldexp(1.0, math.frexp(np.abs(values).sum())[1] - 30)


class Grower:
    """One tree: rows, integer gradients ``g`` and hessians ``h`` in their units."""

    def __init__(self, bins, limits, g, h, units, params):
        self.bins, self.limits, self.g, self.h, self.units = bins, limits, g, h, units
        self.params = params

    def node(self, rows, depth):
        out = {"rows": rows, "depth": depth, "G": self.g[rows].sum(), "H": self.h[rows].sum()}
        out["split"] = self.best_split(out)
        return out

    def score(self, G, H):
        g_unit, h_unit = self.units
        g1, h1, l2 = G * g_unit, H * h_unit, self.params["l2"]
        return g1 * g1, h1, h1 + l2

    def best_split(self, node):
        """(gain, feature, bin, missing_left, goes_left) or None."""
        rows, params = node["rows"], self.params
        g2, h, d = self.score(node["G"], node["H"])
        if node["depth"] >= params["max_depth"] or h < 2 * params["min_hessian"]:
            return None
        best, best_score = None, 0.0
        for feature, limits in enumerate(self.limits):
            codes = self.bins[rows, feature]
            for missing_left in (False, True):
                if missing_left and not (self.h[rows] + abs(self.g[rows]))[codes == MISSING].any():
                    continue
                for b in range(len(limits)):
                    left = np.where(codes == MISSING, missing_left, codes <= b)
                    G1, H1 = self.g[rows][left].sum(), self.h[rows][left].sum()
                    s1, h1, d1 = self.score(G1, H1)
                    s2, h2, d2 = self.score(node["G"] - G1, node["H"] - H1)
                    if min(h1, h2) < params["min_hessian"]:
                        continue
                    score = (s1 * d2 + s2 * d1) / (d1 * d2)
                    if score > best_score:
                        best_score, best = score, (feature, b, missing_left, G1, H1)
        if best is None or best_score - g2 / d < MIN_GAIN:
            return None
        feature, b, missing_left, _, H1 = best
        is_missing = self.bins[rows, feature] == MISSING
        seen = (self.h[rows] + abs(self.g[rows]))[is_missing].any()
        share = float(missing_left) if seen else float(np.float32(H1 / node["H"]))
        left = np.where(is_missing, share >= 0.5, self.bins[rows, feature] <= b)
        return best_score - g2 / d, feature, b, share, left

    def grow(self, rows):
        nodes = [{**self.node(rows, 0), "left": -1}]
        while sum(node["left"] < 0 for node in nodes) < self.params["max_leaves"]:
            leaves = [n for n in nodes if n["left"] < 0 and n["split"] is not None]
            if not leaves:
                break
            leaf = max(leaves, key=lambda n: n["split"][0])  # the first of equals
            left, depth = leaf["split"][4], leaf["depth"] + 1
            leaf["left"] = len(nodes)
            nodes.append({**self.node(leaf["rows"][left], depth), "left": -1})
            nodes.append({**self.node(leaf["rows"][~left], depth), "left": -1})
        return self.arrays(nodes)

    def arrays(self, nodes):
        out = {"feature": [], "threshold": [], "left": [], "right": [], "missing_left": []}
        out["value"] = []
        for node in nodes:
            is_leaf = node["left"] < 0
            G, H = node["G"] * self.units[0], node["H"] * self.units[1]
            value = np.float32(-self.params["learning_rate"] * G / (H + self.params["l2"]))
            feature, b, share = (-1, 0, 0.0) if is_leaf else node["split"][1:4]
            out["feature"].append(feature)
            out["threshold"].append(np.nan if is_leaf else self.threshold(feature, b))
            out["left"].append(node["left"])
            out["right"].append(-1 if is_leaf else node["left"] + 1)
            out["missing_left"].append(share)
            out["value"].append(float(value) if is_leaf else 0.0)
        return {name: np.array(values) for name, values in out.items()}

    def threshold(self, feature, b):
        limits = self.limits[feature]
        return midpoint(limits[b][1], limits[b + 1][0]) if b + 1 < len(limits) else math.inf


def predict_row(tree, x, at=0):
    """Value of a tree for a row; a share of it goes each way where a value is missing."""
    feature, left, right = (tree[name][at] for name in ("feature", "left", "right"))
    if feature < 0:
        return float(tree["value"][at])
    if math.isnan(x[feature]):
        share = tree["missing_left"][at]
        if 0 < share < 1:
            return share * predict_row(tree, x, left) + (1 - share) * predict_row(tree, x, right)
        return predict_row(tree, x, left if share >= 1 else right)
    return predict_row(tree, x, left if x[feature] <= tree["threshold"][at] else right)


def predict(trees, X, base):
    """Scores (n x n_scores): tree t adds to score t mod n_scores."""
    scores = np.tile(base, (len(X), 1))
    for t, tree in enumerate(trees):
        scores[:, t % len(base)] += [predict_row(tree, x) for x in X]
    return scores


def boost(X, codes, weight, left_out, base, params, max_bins=255):
    """Return the trees kept, the scores of the rows left out, and their loss by round."""
    limits = [bin_limits(column, max_bins) for column in X.T]
    bins = np.array([[bin_of(x, own) for x, own in zip(row, limits, strict=True)] for row in X])
    bins = bins.reshape(X.shape)
    n_scores, rows = len(base), np.flatnonzero(~left_out)
    factor = 1.0 if n_scores == 1 else n_scores / (n_scores - 1)
    scores, trees, losses = np.tile(base, (len(X), 1)), [], []
    best_loss = log_loss(scores[left_out], codes[left_out], weight[left_out])
    best, n_best = scores.copy(), 0
    for number in range(1, params["max_rounds"] + 1):
        p, w = probabilities(scores[rows]), weight[rows]
        grown = []
        for c in range(n_scores):
            g, h = np.zeros(len(X)), np.zeros(len(X))
            is_class = codes[rows] == (1 if n_scores == 1 else c)
            g[rows] = w * (p[:, c] - is_class)
            h[rows] = w * (factor * (p[:, c] * (1.0 - p[:, c])))
            units = unit_for(g), unit_for(h)
            whole = [np.rint(x / unit).astype(np.int64) for x, unit in zip((g, h), units)]  # noqa: B905
            grown.append(Grower(bins, limits, *whole, units, params).grow(rows))
        if all(len(tree["feature"]) == 1 for tree in grown):
            break
        trees += grown
        for c, tree in enumerate(grown):
            scores[:, c] += [predict_row(tree, x) for x in X]
        losses.append(log_loss(scores[left_out], codes[left_out], weight[left_out]))
        if losses[-1] < best_loss:
            best_loss, best, n_best = losses[-1], scores.copy(), number
        if number - n_best >= params["patience"]:
            break
    return trees[: n_best * n_scores], best[left_out], losses
