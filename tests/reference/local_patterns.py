"""How strongly patterns of nine points occur in rows, written out."""

from itertools import combinations

import numpy as np


def answers(x, pattern, distance):
    """Answer to one pattern at each place of one row, which is 0 beyond its ends."""
    out = []
    for t in range(len(x)):
        total = 0.0
        for j in range(9):
            place = t + (j - 4) * distance
            value = x[place] if 0 <= place < len(x) else 0.0
            total += value * (2 / 3 if j in pattern else -1 / 3)
        out.append(total)
    return np.array(out)


def local_patterns(X, distances, biases):
    """Means of what the answers exceed the biases by, in double precision."""
    out = []
    for x in np.asarray(X, dtype=np.float64):
        row = []
        for distance, own_biases in zip(distances, biases, strict=True):
            for pattern, bias in zip(combinations(range(9), 3), own_biases, strict=True):
                row.append(np.maximum(answers(x, pattern, distance) - bias, 0).mean())
        out.append(row)
    return np.array(out).reshape(len(X), 84 * len(distances))
