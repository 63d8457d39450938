"""Slow, obvious twins of the binning and tree kernels: no histograms, one split after the other.

Weights are integers here as there (rounded multiples of a power of two), because "the best split"
is only well defined, to the last bit and with its ties, where sums are exact.
"""

import math
from collections import Counter
from itertools import pairwise

import numpy as np

MASK = 2**64 - 1


# --- binning ------------------------------------------------------------------------------------


def share_bins(counts, limit):
    """Sizes of at most ``limit`` groups of neighbours whose counts are nearly equal."""
    if len(counts) <= limit:
        return [1] * len(counts)
    groups, group, remaining = [], [], sum(counts)
    for i, count in enumerate(counts):
        bins_left = limit - len(groups)
        if group and bins_left > 1 and count * bins_left >= remaining:
            groups, group, remaining = [*groups, group], [], remaining - sum(group)
        group = [*group, count]
        bins_left, values_left = limit - len(groups), len(counts) - 1 - i
        full = sum(group) * bins_left >= remaining
        if bins_left > 1 and (full or values_left < bins_left):
            groups, group, remaining = [*groups, group], [], remaining - sum(group)
    return [len(group) for group in [*groups, group] if group]


def bin_limits(column, limit=255):
    """[(least, greatest)] of the bins of one column; NaN is not among them."""
    counts = Counter(float(x) + 0.0 for x in column if not math.isnan(x))
    values = sorted(counts)
    limits, first = [], 0
    for size in share_bins([counts[v] for v in values], limit):
        limits.append((values[first], values[first + size - 1]))
        first += size
    return limits


def bin_of(x, limits):
    """Number of the bin of a training value; 255 for NaN."""
    if math.isnan(x):
        return 255
    return next(b for b, (least, greatest) in enumerate(limits) if least <= x <= greatest)


def midpoint(below, above):
    middle = below / 2 + above / 2
    return middle if below <= middle < above else below


# --- random numbers -----------------------------------------------------------------------------


def mix(z):
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def draw(key, number, stream):
    return mix(key ^ mix(number + (stream << 32)))


def shuffled(d, key):
    """The features in the random order of a node."""
    order = list(range(d))
    for i in range(d):
        j = i + ((draw(key, i, 2) >> 32) * (d - i) >> 32)
        order[i], order[j] = order[j], order[i]
    return order


# --- criteria -----------------------------------------------------------------------------------


def scale_exponent(total):
    return 50 - math.frexp(total)[1] if total > 0 else 0


def to_integer(x, exponent):
    return int(np.rint(math.ldexp(x, exponent)))


class Gini:
    """Integer class weights; a row adds its weight to its class."""

    def __init__(self, codes, weight, taking_part, n_classes, min_samples_leaf, min_weight_leaf):
        self.rows = [i for i in range(len(codes)) if taking_part[i] and weight[i] > 0]
        total = 0.0
        for i in self.rows:
            total += float(weight[i])
        self.exponent = scale_exponent(total)
        self.codes, self.n_classes = codes, n_classes
        self.weight = {i: max(1, to_integer(float(weight[i]), self.exponent)) for i in self.rows}
        self.min_samples, self.min_weight = min_samples_leaf, min_weight_leaf

    def sums(self, rows):
        out = [0] * self.n_classes
        for i in rows:
            out[self.codes[i]] += self.weight[i]
        return out

    def mass(self, rows):
        return sum(self.weight[i] for i in rows)

    def allowed(self, rows):
        if len(rows) < max(1, self.min_samples):
            return False
        return math.ldexp(self.mass(rows), -self.exponent) >= self.min_weight

    def score(self, left, right):
        """Weighted purity, sum_k l_k² / L + sum_k r_k² / R."""
        lefts, rights = self.sums(left), self.sums(right)
        squares_left = squares_right = 0.0
        for l, r in zip(lefts, rights, strict=True):
            squares_left += float(l) * float(l)
            squares_right += float(r) * float(r)
        L, R = float(sum(lefts)), float(sum(rights))
        return (squares_left * R + squares_right * L) / (L * R)

    def node_score(self, rows):
        squares = 0.0
        for total in self.sums(rows):
            squares += float(total) * float(total)
        return squares / float(self.mass(rows))

    def worth(self, rows):
        enough = self.min_samples == 1 or len(rows) >= 2 * self.min_samples
        return enough and sum(total > 0 for total in self.sums(rows)) > 1

    def decide(self, rows):
        return int(np.argmax(self.sums(rows)))

    def value(self, rows):
        return [math.ldexp(float(total), -self.exponent) for total in self.sums(rows)]


class Cost(Gini):
    """Integer costs above class 0; the score is minus the cost of the best decisions."""

    def __init__(self, costs, taking_part, min_samples_leaf):
        self.rows = [i for i in range(len(costs)) if taking_part[i]]
        above = costs - costs[:, :1]
        total = 0.0
        for i in self.rows:
            total += float(np.abs(above[i]).max())
        self.exponent = scale_exponent(total)
        self.above = {i: [to_integer(float(c), self.exponent) for c in above[i]] for i in self.rows}
        self.n_classes = costs.shape[1]
        self.min_samples, self.min_weight = min_samples_leaf, 0

    def sums(self, rows):
        return [sum(self.above[i][k] for i in rows) for k in range(self.n_classes)]

    def mass(self, rows):
        return len(rows)

    def allowed(self, rows):
        return len(rows) >= max(1, self.min_samples)

    def score(self, left, right):
        return -float(min(self.sums(left)) + min(self.sums(right)))

    def node_score(self, rows):
        return -float(min(self.sums(rows)))

    def worth(self, rows):
        at_best = sum(min(self.above[i]) for i in rows)
        return len(rows) >= 2 * self.min_samples and min(self.sums(rows)) > at_best

    def decide(self, rows):
        return int(np.argmin(self.sums(rows)))


# --- growth -------------------------------------------------------------------------------------


class Grower:
    """Breadth-first greedy growth on raw values; every split is tried by dividing the rows."""

    def __init__(self, X, criterion, max_depth, splitter, max_features, seed, max_bins, present):
        self.X = np.asarray(X, dtype=np.float64) + 0.0
        self.criterion, self.max_depth = criterion, max_depth
        self.splitter, self.max_features, self.seed = splitter, max_features, seed
        self.limits = [bin_limits(self.X[present, f], max_bins) for f in range(self.X.shape[1])]

    def grow(self):
        names = ("feature", "threshold", "left", "right", "missing_left", "depth", "decision",
                 "gain", "value")  # fmt: skip
        self.tree = {name: [] for name in names}
        self.add(self.criterion.rows, 0)
        queue = [(0, self.criterion.rows, mix(self.seed))]
        for node, rows, key in queue:
            depth = self.tree["depth"][node]
            if depth == self.max_depth or not self.criterion.worth(rows):
                continue
            split = self.best_split(rows, key)
            if split is None:
                continue
            score, feature, threshold, missing_left = split
            sides = self.divide(rows, feature, threshold, missing_left)
            self.tree["feature"][node] = feature
            self.tree["threshold"][node] = threshold
            self.tree["missing_left"][node] = int(missing_left)
            gain = max(0.0, score - self.criterion.node_score(rows))
            self.tree["gain"][node] = math.ldexp(gain, -self.criterion.exponent)
            for turn, (side, name) in enumerate(zip(sides, ("left", "right"), strict=True)):
                self.tree[name][node] = len(self.tree["feature"])
                queue.append((len(self.tree["feature"]), side, mix((key + 1 + turn) & MASK)))
                self.add(side, depth + 1)
        return {name: np.array(values) for name, values in self.tree.items()}

    def add(self, rows, depth):
        leaf = {"feature": -1, "threshold": math.nan, "left": -1, "right": -1, "missing_left": 0,
                "depth": depth, "gain": 0.0, "decision": self.criterion.decide(rows),
                "value": self.criterion.value(rows)}  # fmt: skip
        for name, value in leaf.items():
            self.tree[name].append(value)

    def divide(self, rows, feature, threshold, missing_left):
        def goes_left(i):
            x = self.X[i, feature]
            return missing_left if math.isnan(x) else x <= threshold

        return [i for i in rows if goes_left(i)], [i for i in rows if not goes_left(i)]

    def best_split(self, rows, key):
        order = shuffled(self.X.shape[1], key)
        drawn, others = order[: self.max_features], order[self.max_features :]
        for features in [sorted(drawn)] + [[f] for f in others]:
            result = [split for f in features for split in self.splits(rows, f, key)]
            if result:
                # the first of the best: lowest feature, lowest threshold, NaN to the right
                return max(result, key=lambda split: split[0])
        return None

    def splits(self, rows, f, key):
        has_missing = any(math.isnan(self.X[i, f]) for i in rows)
        for threshold in self.thresholds(rows, f, key, has_missing):
            for missing_left in (False, True) if has_missing else (None,):
                left, right = self.divide(rows, f, threshold, missing_left)
                if not (self.criterion.allowed(left) and self.criterion.allowed(right)):
                    continue
                if missing_left is None:
                    heavier = self.criterion.mass(left) > self.criterion.mass(right)
                    yield self.criterion.score(left, right), f, threshold, heavier
                else:
                    yield self.criterion.score(left, right), f, threshold, missing_left

    def thresholds(self, rows, f, key, has_missing):
        limits = self.limits[f]
        held = sorted({bin_of(self.X[i, f], limits) for i in rows} - {255})
        if self.splitter == "random":
            return [self.random_threshold(held, limits, f, key)] if len(held) > 1 else []
        result = [self.settle(limits, a, b) for a, b in pairwise(held)]
        return result + [math.inf] * (has_missing and len(held) > 0)

    def settle(self, limits, below, above):
        """Halfway between two bins, unless that cuts a bin the node does not hold."""
        middle = midpoint(limits[below][1], limits[above][0])
        last = max(b for b in range(below, above) if limits[b][1] <= middle)
        cuts = middle >= limits[last + 1][0]
        return midpoint(limits[last][1], limits[last + 1][0]) if cuts else middle

    def random_threshold(self, held, limits, f, key):
        u = (draw(key, f, 1) >> 11) * 2.0**-53
        first, last = held[0], held[-1]
        drawn = limits[first][0] * (1 - u) + limits[last][1] * u
        below = [b for b in range(first, last) if limits[b][1] <= drawn]
        bin_ = below[-1] if below else first
        low, high = limits[bin_][1], limits[bin_ + 1][0]
        return drawn if low <= drawn < high else midpoint(low, high)


def grow(
    X,
    codes=None,
    weight=None,
    *,
    costs=None,
    rows=None,
    present=None,
    n_classes=None,
    max_depth=1,
    min_samples_leaf=1,
    min_weight_leaf=0.0,
    max_features=None,
    splitter="best",
    seed=0,
    max_bins=255,
):
    """The tree as a dict of arrays named as in ``consilience._core.binned.Tree``."""
    n, d = X.shape
    present = np.ones(n, dtype=bool) if present is None else present
    taking_part = present if rows is None else present & rows
    if costs is None:
        criterion = Gini(codes, weight, taking_part, n_classes, min_samples_leaf, min_weight_leaf)
    else:
        criterion = Cost(costs, taking_part, min_samples_leaf)
    max_features = d if max_features is None else max_features
    return Grower(X, criterion, max_depth, splitter, max_features, seed, max_bins, present).grow()


def predict_depths(tree, X, n_depths):
    """Class codes (n x D) by the tree cut at each depth, one row at a time."""
    out = np.empty((len(X), n_depths), dtype=int)
    for i, x in enumerate(X):
        node = 0
        for depth in range(n_depths):
            feature = tree["feature"][node]
            if feature >= 0:
                value = x[feature]
                missing = math.isnan(value)
                left = tree["missing_left"][node] if missing else value <= tree["threshold"][node]
                node = tree["left"][node] if left else tree["right"][node]
            out[i, depth] = tree["decision"][node]
    return out
