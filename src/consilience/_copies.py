"""Rows that are copies of each other, exactly or nearly, such as measurements of one patient.

Exact copies have the same hash.

Random folds put near copies on both sides, so that left-out scores are too optimistic. In every
view of continuous columns the distance of a row to its nearest neighbour is compared with the
distance r_k to its k-th: in D dimensions the nearest is expected at r_k k^(−1/D), and the
probability that it is closer by a factor f is about f^D. D follows from the growth of r_k with k.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from consilience._core.cuts import splitmix
from consilience._warnings import warn_user
from consilience.views import MultiViewData
from consilience.views import _storage as storage
from consilience.views._encode import encode_tables, fit_table_codes

__all__ = [
    "MAX_CHANCE_SHARE",
    "chance_of_equal_rows",
    "describe_near_copies",
    "distinct_rows",
    "find_near_copies",
    "row_keys",
    "warn_of_near_copies",
]

MAX_ROWS = 5000
MIN_ROWS = 100
MAX_COLUMNS = 64  # columns that are enough to tell copies from neighbours
CHUNK_ROWS = 1000
MIN_DISTINCT_SHARE = 0.9  # share of distinct values in a continuous column
MIN_NEIGHBOURS, NEIGHBOUR_SHARE = 20, 0.05  # k is beyond the copies of a row
MAX_FACTOR = 0.3
FALSE_ALARM_RATE = 5e-3  # probability that a row counts as a copy by chance
MIN_COPIES_SHARE = 0.05  # fewer copies have little influence on scores
MAX_CHANCE_SHARE = 0.1  # of equal pairs of rows: with a larger one they are not copies
MAX_CHANCE_ROWS, MAX_CHANCE_COLUMNS, MIN_AGREEING_PAIRS = 1500, 512, 20


def warn_of_near_copies(data: MultiViewData) -> None:
    """Warn if a view has many rows that are nearly copies, and there are no groups."""
    if data.groups is not None:
        return
    description = describe_near_copies(data)
    if description is not None:
        warn_user(
            f"{description}, so folds that separate them give too optimistic scores; pass groups "
            "to fit if they are measurements of the same subject"
        )


def describe_near_copies(data: MultiViewData) -> str | None:
    """Say how many rows of a view are nearly copies; None if there are not many."""
    if not MIN_ROWS <= len(data) <= MAX_ROWS:
        return None
    for v, (name, kind) in enumerate(data.kinds.items()):
        rows = np.flatnonzero(data.present[:, v])
        if kind != "features" or sp.issparse(data[name]) or len(rows) < MIN_ROWS:
            continue
        copies, neighbours = find_near_copies(_numbers(data[name])[rows])
        if len(copies) >= MIN_COPIES_SHARE * len(data):
            ids = data.sample_ids[rows]
            pairs = zip(ids[copies[:3]], ids[neighbours[:3]], strict=True)
            examples = ", ".join(f"{a} and {b}" for a, b in pairs)
            return (
                f"{len(copies)} rows of view {name!r} are nearly copies of another row (such as "
                f"rows {examples})"
            )
    return None


def _numbers(view: Any) -> np.ndarray:
    """A view as a matrix; of a dataframe, the columns that are numbers."""
    if not storage.is_dataframe(view):
        return np.asarray(view)
    frame = nw.from_native(view, eager_only=True)
    series = [frame[:, j] for j in range(frame.shape[1])]
    columns = [storage.column_to_numeric(column, column.dtype) for column in series]
    known = [np.asarray(column, dtype=np.float64) for column in columns if column is not None]
    return np.column_stack(known) if known else np.empty((len(frame), 0))


def find_near_copies(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are nearly, not exactly, copies of another row, and these other rows."""
    none = np.empty(0, dtype=np.intp)
    Z = _continuous_columns(X) if X.shape[1] else X
    if Z.shape[1] < 2:
        return none, none
    n = len(Z)
    k = max(MIN_NEIGHBOURS, int(NEIGHBOUR_SHARE * n))
    far = min(5 * k, n - 1)
    nearest = np.empty(n, dtype=np.intp)
    radii = np.empty((n, 3))  # to the nearest row, the k-th and one further away
    for start in range(0, n, CHUNK_ROWS):
        rows = np.arange(start, min(start + CHUNK_ROWS, n))
        D = euclidean_distances(Z[rows], Z, squared=True)
        D[np.arange(len(rows)), rows] = np.inf
        nearest[rows] = D.argmin(axis=1)
        # several times as fast as one call for both
        D = np.partition(D, far - 1, axis=1)[:, :far]
        radii[rows, 2] = D[:, -1]
        radii[rows, 1] = np.partition(D, k - 1, axis=1)[:, k - 1]
    # exact copies count as one row of larger weight
    radii[:, 0] = ((Z - Z[nearest]) ** 2).sum(axis=1)
    radii = np.sqrt(radii)
    growth = np.log(np.maximum(radii[:, 2], 1e-300) / np.maximum(radii[:, 1], 1e-300)).mean()
    dimension = min(np.log(far / k) / max(growth, 1e-9), Z.shape[1])
    expected = radii[:, 1] * k ** (-1.0 / dimension)
    factor = min(MAX_FACTOR, FALSE_ALARM_RATE ** (1.0 / dimension))
    copies = np.flatnonzero((radii[:, 0] > 0) & (radii[:, 0] < factor * expected))
    return copies, nearest[copies]


def _continuous_columns(X: np.ndarray) -> np.ndarray:
    """Standardised complete columns, at most ``MAX_COLUMNS``, of nearly all distinct values."""
    chosen = np.unique(np.linspace(0, X.shape[1] - 1, MAX_COLUMNS).astype(np.intp))
    Z = np.sort(X[:, chosen].astype(np.float64), axis=0)
    n_distinct = (np.diff(Z, axis=0) > 0).sum(axis=0) + 1
    is_complete = ~np.isnan(Z[-1])  # sorted: NaN comes last
    chosen = chosen[is_complete & (n_distinct >= MIN_DISTINCT_SHARE * len(X))]
    Z = X[:, chosen].astype(np.float64)
    Z /= np.abs(Z).max(axis=0, initial=1e-300)  # neither squares nor sums overflow or vanish
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def distinct_rows(data: MultiViewData) -> tuple[np.ndarray, np.ndarray]:
    """First row of each set of copies, in order, and for each row the number of its set.

    Rows that are equal by chance are not copies: those of a few columns of few values. Rows with
    kernels or distances count as all different.
    """
    data = _as_numbers(data)
    number = np.unique(row_keys(data), return_inverse=True)[1]
    if number.max(initial=-1) + 1 < len(data):
        patterns, which = np.unique(data.present, axis=0, return_inverse=True)
        for p, pattern in enumerate(patterns):
            rows = np.flatnonzero(which.ravel() == p)
            n_equal = count_pairs(number[rows])
            if n_equal == 0:
                continue
            known = np.flatnonzero(data.present[:, pattern].all(axis=1))
            names = [name for name, has in zip(data.view_names, pattern, strict=True) if has]
            chance = chance_of_equal_rows(data.select(names), known) if names else 1.0
            if chance * len(rows) * (len(rows) - 1) / 2 > MAX_CHANCE_SHARE * n_equal:
                number[rows] = len(data) + rows
    _, first, copies = np.unique(number, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.intp)
    number[order] = np.arange(len(order))
    return first[order], number[copies]


def _as_numbers(data: MultiViewData) -> MultiViewData:
    """Tables, documents and images as matrices of numbers, in which the same rows are equal."""
    data = encode_tables(data, fit_table_codes(data))
    views = {}
    for name, view in data._views.items():
        if data.kinds[name] != "features":
            views[name] = view
        elif storage.is_documents(view):
            codes = np.unique([str(text) for text in view], return_inverse=True)[1]
            views[name] = codes[:, None].astype(np.float64)
        else:
            view = storage.to_numeric(view, name)
            views[name] = view if sp.issparse(view) else view.reshape(len(view), -1)
    return data._replace(views)


def count_pairs(numbers: np.ndarray) -> int:
    """Number of pairs of equal numbers."""
    counts = np.unique(numbers, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def chance_of_equal_rows(data: MultiViewData, rows: np.ndarray) -> float:
    """Probability that two of these rows, which have all views, are equal by chance.

    If columns are independent, it is the product of their own. Where they are not, it is larger:
    how many pairs of rows agree in the columns that tell most, but not in all, is counted for as
    many columns as such pairs are found, and only the others are taken to be independent. Some rows
    and columns stand for all.
    """
    if len(rows) > MAX_CHANCE_ROWS:
        rows = np.sort(np.random.RandomState(0).permutation(rows)[:MAX_CHANCE_ROWS])
    data = data[rows]
    n_pairs = len(data) * (len(data) - 1) // 2
    n_equal = count_pairs(row_keys(data))
    if n_pairs == n_equal:
        return 1.0
    columns = np.hstack(
        [_telling_columns(view, -(-MAX_CHANCE_COLUMNS // data.n_views)) for _, view in data.items()]
    )
    codes = [np.unique(column, return_inverse=True)[1] for column in columns.T]
    chances = [((np.bincount(own) / len(own)) ** 2).sum() for own in codes]
    group, order = np.zeros(len(data), dtype=np.intp), np.argsort(chances, kind="stable")
    chance = 1.0
    for k, j in enumerate(order):
        group = np.unique(group * (codes[j].max() + 1) + codes[j], return_inverse=True)[1]
        n_agreeing = count_pairs(group) - n_equal
        if n_agreeing < MIN_AGREEING_PAIRS:
            chance *= np.prod([chances[i] for i in order[k:]])
            break
        chance = n_agreeing / (n_pairs - n_equal)
    return float(max(chance, np.prod(chances)))


def _telling_columns(view: Any, n_columns: int) -> np.ndarray:
    """Some columns of a view; of a sparse one those with most cells."""
    if not sp.issparse(view):
        chosen = np.unique(np.linspace(0, view.shape[1] - 1, n_columns).astype(np.intp))
        return np.asarray(view[:, chosen], dtype=np.float64)
    view = sp.csc_array(view)
    chosen = np.sort(np.argsort(-np.diff(view.indptr), kind="stable")[:n_columns])
    return view[:, chosen].toarray().astype(np.float64)


def row_keys(data: MultiViewData) -> np.ndarray:
    """A 64-bit hash of the values of each row; kernels and distances count as all different."""
    keys = np.zeros(len(data), dtype=np.uint64)
    for v, (name, kind) in enumerate(data.kinds.items()):
        if kind == "features":
            part = _hash(data[name])
        else:
            part = np.arange(len(data), dtype=np.uint64)
        part[~data.present[:, v]] = np.uint64(v + 1)
        keys = splitmix(keys * np.uint64(3) + splitmix(part + np.uint64(v)))
    return keys


def _hash(X: Any) -> np.ndarray:
    """Σ_j h(x_j) · m_j modulo 2⁶⁴ with odd multipliers and h(0) = 0, so dense is as sparse."""
    n, d = X.shape
    odd = splitmix(np.arange(d, dtype=np.uint64)) | np.uint64(1)
    if sp.issparse(X):
        rows = np.repeat(np.arange(n), np.diff(X.indptr))
        out = np.zeros(n, dtype=np.uint64)
        np.add.at(out, rows, _scrambled(X.data) * odd[X.indices])
        return out
    out = np.empty(n, dtype=np.uint64)
    for start in range(0, n, CHUNK_ROWS):
        block = slice(start, start + CHUNK_ROWS)
        out[block] = (_scrambled(X[block]) * odd).sum(axis=1, dtype=np.uint64)
    return out


def _scrambled(values: np.ndarray) -> np.ndarray:
    """The bits of the values as floats, spread over all 64; −0 is 0, every NaN the same.

    Of small integers only the upper bits are set, and products would have no others: rows of zeros
    and ones would share 4096 hashes.
    """
    values = np.array(values, dtype=np.float64, order="C") + 0.0
    values[np.isnan(values)] = np.nan
    bits = values.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return bits ^ (bits >> np.uint64(33))
