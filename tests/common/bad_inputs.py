"""More than a hundred kinds of bad input: each a name -> (X, y, arguments of fit), made anew."""

import datetime
import decimal

import numpy as np
import pandas as pd
import scipy.sparse as sp

N = 30
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(N, 2)), RNG.normal(size=(N, 3))
Y = np.arange(N) % 2


def changed(matrix, value, row=4, column=1, dtype=None):
    """A copy with one other value."""
    matrix = matrix.astype(dtype or matrix.dtype)
    matrix[row, column] = value
    return matrix


def frame(**columns):
    """Table b with other columns."""
    return pd.DataFrame(B, columns=list("pqr")).assign(**columns)


def with_object(value):
    return changed(B, value, dtype=object)


# what can be wrong with a view: the error names it
BAD_VIEWS = {
    "infinity": lambda: changed(B, np.inf),
    "minus infinity": lambda: changed(B, -np.inf),
    "infinity in float32": lambda: changed(B, np.inf, dtype=np.float32),
    "infinity in float16": lambda: changed(B, np.inf, dtype=np.float16),
    "only infinity": lambda: np.full((N, 3), np.inf),
    "NaN and infinity": lambda: changed(changed(B, np.inf), np.nan, 5),
    "complex": lambda: B * 1j,
    "complex without imaginary parts": lambda: B.astype(complex),
    "complex64": lambda: B.astype(np.complex64),
    "texts": lambda: np.array([["some", "words", "here"]] * N),
    "texts as objects": lambda: np.array([["some", "words", "here"]] * N, dtype=object),
    "bytes": lambda: np.array([[b"a", b"b", b"c"]] * N),
    "dates": lambda: np.full((N, 3), np.datetime64("2020-01-01")),
    "durations": lambda: np.full((N, 3), np.timedelta64(5, "s")),
    "records": lambda: np.zeros(N, dtype=[("p", float), ("q", float)]),
    "void": lambda: np.zeros((N, 3), dtype="V8"),
    "an object": lambda: with_object(object()),
    "a dict": lambda: with_object({"a": 1}),
    "a list": lambda: with_object([1, 2]),
    "an array": lambda: with_object(np.ones(2)),
    "a text": lambda: with_object("red"),
    "a complex number": lambda: with_object(1j),
    "a date": lambda: with_object(datetime.date(2020, 1, 1)),
    "an infinite object": lambda: with_object(np.inf),
    "an infinite decimal": lambda: with_object(decimal.Decimal("Infinity")),
    "a huge integer": lambda: with_object(10**400),
    "a function": lambda: with_object(len),
    "one-dimensional": lambda: B[:, 0],
    "a scalar": lambda: np.float64(3.0),
    "a number": lambda: 3,
    "three-dimensional": lambda: np.ones((N, 3, 2)),
    "no columns": lambda: B[:, :0],
    "no rows": lambda: B[:0],
    "one row less": lambda: B[:-1],
    "one row more": lambda: np.vstack([B, B[:1]]),
    "transposed": lambda: B.T,
    "ragged lists": lambda: [[1.0, 2.0]] * (N - 1) + [[1.0]],
    "lists of texts": lambda: [["a", "b"]] * N,
    "None": lambda: None,
    "a name": lambda: "matrix",
    "bytes as a view": lambda: b"matrix",
    "a set": lambda: {1.0, 2.0},
    "a generator": lambda: (row for row in B),
    "a class": lambda: np.ndarray,
    "an object as a view": lambda: object(),
    "a slice": lambda: slice(0, 3),
    "sparse with infinity": lambda: sp.csr_array(changed(B, np.inf)),
    "sparse columns with infinity": lambda: sp.csc_array(changed(B, np.inf)),
    "sparse coordinates with infinity": lambda: sp.coo_array(changed(B, np.inf)),
    "sparse lists with infinity": lambda: sp.lil_array(changed(B, np.inf)),
    "sparse with NaN": lambda: sp.csr_array(changed(B, np.nan)),
    "sparse complex": lambda: sp.csr_array(B * 1j),
    "sparse, one row less": lambda: sp.csr_array(B[:-1]),
    "sparse without columns": lambda: sp.csr_array((N, 0)),
    "sparse vector": lambda: sp.coo_array(B[:, 0]),
    "table with infinity": lambda: frame(s=np.r_[np.inf, np.ones(N - 1)]),
    "table with complex numbers": lambda: frame(s=np.ones(N) * 1j),
    "table without rows": lambda: frame().iloc[:0],
    "table, one row less": lambda: frame().iloc[:-1],
    "table without columns": lambda: pd.DataFrame(index=range(N)),
    "table with lists": lambda: frame(s=[[1]] * N),
    "table with objects": lambda: frame(s=[object()] * N),
    "series": lambda: frame()["p"],
}
# the default method reads tables with text, dates and empty cells
TABLES = {
    "NaN": lambda: changed(B, np.nan),
    "NaN in float32": lambda: changed(B, np.nan, dtype=np.float32),
    "None in objects": lambda: with_object(None),
    "missing value": lambda: with_object(pd.NA),
    "table with NaN": lambda: frame(s=np.r_[np.nan, np.ones(N - 1)]),
    "table with texts": lambda: frame(s=["red", "blue"] * (N // 2)),
    "table with categories": lambda: frame(s=pd.Categorical(["red", "blue"] * (N // 2))),
    "table with dates": lambda: frame(s=pd.date_range("2020-01-01", periods=N)),
    "table with durations": lambda: frame(s=pd.to_timedelta(np.arange(N), "s")),
    "nullable table": lambda: frame(s=pd.array([1, None] * (N // 2), dtype="Int64")),
}
BAD_X = {
    "nothing": lambda: None,
    "a number": lambda: 3,
    "a text": lambda: "data.csv",
    "a vector": lambda: B[:, 0],
    "a scalar array": lambda: np.float64(1),
    "four dimensions": lambda: np.ones((N, 2, 2, 2)),
    "no views": dict,
    "no list": list,
    "no tuple": tuple,
    "a set": lambda: {1, 2},
    "a function": lambda: len,
    "an object": object,
    "a list of None": lambda: [None, None],
    "a list of numbers": lambda: [1, 2, 3],
    "a list of texts": lambda: ["a", "b"],
    "a ragged list": lambda: [[1, 2], [3]],
    "an infinite matrix": lambda: changed(np.hstack([A, B]), np.inf),
    "a complex matrix": lambda: np.hstack([A, B]) * 1j,
    "a matrix of texts": lambda: np.full((N, 4), "text"),
    "a matrix of objects": lambda: np.full((N, 4), object()),
    "no rows": lambda: {"a": A[:0], "b": B[:0]},
    "no samples of a matrix": lambda: np.hstack([A, B])[:0],
    "no columns at all": lambda: np.empty((N, 0)),
    "rows without any view": lambda: {"a": np.full((N, 2), np.nan), "b": np.full((N, 3), np.nan)},
    "one row without any view": lambda: {
        "a": np.vstack([np.full((1, 2), np.nan), A[1:]]),
        "b": np.vstack([np.full((1, 3), np.nan), B[1:]]),
    },
    "a generator": lambda: (x for x in (A, B)),
}
BAD_Y = {
    "none": lambda: None,
    "too short": lambda: Y[:-1],
    "too long": lambda: np.r_[Y, 0],
    "empty": list,
    "one class": lambda: np.zeros(N),
    "continuous": lambda: Y + 0.5,
    "NaN": lambda: np.r_[np.nan, Y[1:].astype(float)],
    "infinity": lambda: np.r_[np.inf, Y[1:].astype(float)],
    "None among numbers": lambda: np.array([None, *Y[1:]], dtype=object),
    "None among texts": lambda: np.array([None, *["a", "b"] * (N // 2)][:N], dtype=object),
    "texts and numbers": lambda: np.array(["a", *Y[1:]], dtype=object),
    "two columns": lambda: np.column_stack([Y, Y]),
    "three dimensions": lambda: np.zeros((N, 2, 2)),
    "complex": lambda: Y * 1j,
    "objects": lambda: np.array([object() for _ in range(N)]),
    "lists": lambda: [[1], [2, 3]] * (N // 2),
    "a dict": lambda: {"a": 1},
    "a scalar": lambda: 3,
    "a text": lambda: "label",
    "a set": lambda: {0, 1},
    "a sparse matrix": lambda: sp.csr_array(Y[:, None]),
    "a function": lambda: len,
}
BAD_WEIGHTS = {
    "complex": lambda: np.ones(N) * 1j,
    "complex without imaginary parts": lambda: np.ones(N, dtype=complex),
    "a complex number": lambda: 1 + 1j,
    "text": lambda: "balanced",
    "texts": lambda: ["a"] * N,
    "objects": lambda: [object()] * N,
    "too short": lambda: np.ones(N - 1),
    "too long": lambda: np.ones(N + 1),
    "empty": list,
    "a matrix": lambda: np.ones((N, 2)),
    "one column": lambda: np.ones((N, 1)),
    "negative": lambda: np.r_[np.ones(N - 1), -1.0],
    "NaN": lambda: np.r_[np.ones(N - 1), np.nan],
    "infinity": lambda: np.r_[np.ones(N - 1), np.inf],
    "zeros": lambda: np.zeros(N),
    "zeros of one class": lambda: (np.arange(N) % 2).astype(float),
    "an infinite sum": lambda: np.full(N, 1e308),
    "ragged": lambda: [[1], [2, 3]] * (N // 2),
    "a dict": lambda: {0: 1.0},
    "a set": lambda: {1.0},
    "dates": lambda: np.full(N, np.datetime64("2020-01-01")),
    "a huge integer": lambda: [10**400] * N,
    "None inside": lambda: [None] * N,
    "a negative number": lambda: -1.0,
    "a function": lambda: len,
}
BAD_GROUPS = {
    "too short": lambda: np.arange(N - 1),
    "too long": lambda: np.arange(N + 1),
    "empty": list,
    "a matrix": lambda: np.ones((N, 2)),
    "a number": lambda: 3,
    "a text": lambda: "patient",
    "a dict": lambda: {0: 1},
    "ragged": lambda: [[1], [2, 3]] * (N // 2),
    "a function": lambda: len,
    "NaN": lambda: np.r_[np.nan, np.arange(N - 1.0)],
    "None inside": lambda: [None, *range(N - 1)],
}

VIEW = r"view 'b'|'b' has|[Rr]eshape"
CASES = {}
for name, make in {**BAD_VIEWS, **TABLES}.items():
    CASES[f"view: {name}"] = (lambda make=make: ({"a": A, "b": make()}, Y, {}), VIEW)
for name, make in BAD_X.items():
    CASES[f"X: {name}"] = (lambda make=make: (make(), Y, {}), r"\bX\b|view|row|sample")
for name, make in BAD_Y.items():
    CASES[f"y: {name}"] = (lambda make=make: ({"a": A, "b": B}, make(), {}), r"\by\b|label|class")
for name, make in BAD_WEIGHTS.items():
    CASES[f"sample_weight: {name}"] = (
        lambda make=make: ({"a": A, "b": B}, Y, {"sample_weight": make()}),
        r"sample_weight|at least 2 classes",
    )
for name, make in BAD_GROUPS.items():
    CASES[f"groups: {name}"] = (
        lambda make=make: ({"a": A, "b": B}, Y, {"groups": make()}),
        r"groups",
    )
