"""Malformed sparse matrices: an error that names the view, before any compiled code reads them."""

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler

from common.estimators import CLASSIFIERS
from conftest import FULL
from consilience import BinnedTreeClassifier, MultiViewData, ViewTransformer, as_multiview
from consilience.fusion import LateFusionClassifier
from consilience.kernel import LaplacianCompletion
from consilience.landmark import LandmarkProjector
from consilience.views import ViewPreparer
from consilience.views._sparse import validate_sparse

N_ROWS, N_COLUMNS = 30, 6
rng = np.random.default_rng(0)
DENSE = rng.random((N_ROWS, N_COLUMNS)) * (rng.random((N_ROWS, N_COLUMNS)) < 0.5)
DENSE[:, 0] = 1.0
OTHER = rng.normal(size=(N_ROWS, 2))
Y = np.arange(N_ROWS) % 2


def edited(storage, attribute, change):
    """A matrix in some format, one of whose arrays is replaced or changed in place."""

    def make():
        matrix = sp.csr_array(DENSE).asformat(storage)
        array = getattr(matrix, attribute).copy()
        value = change(array)
        setattr(matrix, attribute, array if value is None else value)
        return matrix

    return make


def put(position, value):
    def change(array):
        array[position] = value

    return change


def coordinates(axis, value):
    def make():
        matrix = sp.coo_array(DENSE)
        (matrix.row, matrix.col)[axis][3] = value
        return matrix

    return make


def lil(change):
    def make():
        matrix = sp.lil_array(DENSE)
        change(matrix)
        return matrix

    return make


def with_shape(storage, shape):
    matrix = sp.csr_array(DENSE).asformat(storage)
    matrix._shape = shape
    return matrix


def dok():
    matrix = sp.dok_array(DENSE)
    matrix._dict[(0, 2**40)] = 1.0
    return matrix


MALFORMED = {
    "index beyond the shape": edited("csr", "indices", put(0, 2**30)),
    "index just beyond": edited("csr", "indices", put(5, N_COLUMNS)),
    "negative index": edited("csr", "indices", put(5, -1)),
    "most negative index": edited("csr", "indices", put(-1, -(2**31))),
    "float indices": edited("csr", "indices", lambda a: a.astype(float)),
    "matrix of indices": edited("csr", "indices", lambda a: a[:, None]),
    "list of indices": edited("csr", "indices", lambda a: a.tolist()),
    "short indices": edited("csr", "indices", lambda a: a[:4]),
    "short data": edited("csr", "data", lambda a: a[:4]),
    "long data": edited("csr", "data", lambda a: np.append(a, 1.0)),
    "no data": edited("csr", "data", lambda a: a[:0]),
    "indptr beyond the data": edited("csr", "indptr", put(-1, 2**30)),
    "indptr decreases": edited("csr", "indptr", put(4, 2**30)),
    "indptr wraps around": edited("csr", "indptr", put(slice(4, 6), [2**31 - 1, -(2**31)])),
    "indptr negative": edited("csr", "indptr", put(4, -5)),
    "indptr starts late": edited("csr", "indptr", put(0, 2)),
    "short indptr": edited("csr", "indptr", lambda a: a[:5]),
    "long indptr": edited("csr", "indptr", lambda a: np.append(a, a[-1])),
    "no indptr": edited("csr", "indptr", lambda a: a[:0]),
    "more rows": lambda: with_shape("csr", (10**6, N_COLUMNS)),
    "fewer columns": lambda: with_shape("csr", (N_ROWS, 2)),
    "negative shape": lambda: with_shape("csr", (N_ROWS, -1)),
    "fractional shape": lambda: with_shape("csr", (N_ROWS, 6.0)),
    "column format, row beyond": edited("csc", "indices", put(0, 2**30)),
    "column format, indptr": edited("csc", "indptr", put(2, 2**30)),
    "column format, shape": lambda: with_shape("csc", (3, N_COLUMNS)),
    "blocks, index": edited("bsr", "indices", put(0, 2**30)),
    "blocks, indptr": edited("bsr", "indptr", put(-1, 2**30)),
    "blocks, shape": lambda: with_shape("bsr", (N_ROWS + 1, N_COLUMNS)),
    "coordinates, row": coordinates(0, 2**30),
    "coordinates, negative row": coordinates(0, -3),
    "coordinates, column": coordinates(1, N_COLUMNS),
    "coordinates, short data": edited("coo", "data", lambda a: a[:4]),
    "coordinates, shape": lambda: with_shape("coo", (3, 3)),
    "diagonals, offset": edited("dia", "offsets", put(0, 2**30)),
    "diagonals, number": edited("dia", "offsets", lambda a: a[:-1]),
    "diagonals, twice": edited("dia", "offsets", put(0, 0)),
    "lists, column": lil(lambda m: m.rows[2].__setitem__(0, 2**40)),
    "lists, values": lil(lambda m: m.data[2].append(1.0)),
    "lists, text": lil(lambda m: m.rows[2].__setitem__(0, "a")),
    "lists, no list": lil(lambda m: m.rows.__setitem__(2, None)),
    "dictionary": dok,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_matrices_are_named(name):
    for read in (
        lambda X: MultiViewData({"a": OTHER, "words": X}),
        lambda X: validate_sparse(X, "words"),
    ):
        with pytest.raises(ValueError, match=r"view 'words'"):
            read(MALFORMED[name]())
    with pytest.raises(ValueError, match=r"view 'view0'"):
        as_multiview(MALFORMED[name]())


@pytest.mark.parametrize("storage", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_valid_matrices_keep_their_values(storage, kind):
    matrix = kind(DENSE).asformat(storage)
    view = validate_sparse(matrix, "words")
    assert view.format == "csr"
    assert isinstance(view, sp.sparray) == isinstance(matrix, sp.sparray)
    np.testing.assert_array_equal(view.toarray(), DENSE)
    assert (view is matrix) == (storage == "csr")  # not copied


def test_unsorted_and_repeated_entries_become_canonical():
    indices = np.array([3, 0, 3, 3, 1], dtype=np.int64)
    matrix = sp.csr_array((np.arange(1.0, 6.0), indices, np.array([0, 4, 4, 5])), shape=(3, 4))
    matrix.has_canonical_format = True  # which is not so
    before = matrix.indices.copy()
    view = validate_sparse(matrix, "words")
    np.testing.assert_array_equal(view.toarray(), [[2, 0, 0, 8], [0, 0, 0, 0], [0, 5, 0, 0]])
    assert view.indices.tolist() == [0, 3, 1]
    assert view.indices.dtype == view.indptr.dtype == np.int32
    np.testing.assert_array_equal(matrix.indices, before)


def test_spare_room_is_left_out():
    matrix = sp.csr_array(DENSE)
    n_stored = matrix.nnz
    matrix.data = np.append(matrix.data, np.nan)
    matrix.indices = np.append(matrix.indices, 10**6).astype(np.int32)
    view = validate_sparse(matrix, "words")
    assert len(view.data) == len(view.indices) == n_stored
    np.testing.assert_array_equal(view.toarray(), DENSE)


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3), (3, 3)])
def test_matrices_without_entries(shape):
    for storage in ("csr", "csc", "coo", "lil", "dok"):
        assert validate_sparse(sp.coo_array(shape).asformat(storage), "words").shape == shape


def fitted(model):
    return clone(model).fit({"a": OTHER, "words": sp.csr_array(DENSE)}, Y)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_no_classifier_reads_a_malformed_matrix(name):
    model = clone(CLASSIFIERS[name])
    for make in MALFORMED.values():
        with pytest.raises(ValueError, match="view 'words'"):
            model.fit({"a": OTHER, "words": make()}, Y)
        with pytest.raises(ValueError, match="view 'X'"):
            model.fit(make(), Y)


@pytest.mark.parametrize("name", CLASSIFIERS if FULL else ["LateFusionClassifier"])
def test_no_prediction_reads_a_malformed_matrix(name):
    model = fitted(CLASSIFIERS[name])
    for make in MALFORMED.values():
        with pytest.raises(ValueError, match="view 'words'"):
            model.predict({"a": OTHER, "words": make()})


def annotated(X):
    data = anndata.AnnData(sp.csr_matrix(DENSE))
    damaged = {"X": property(lambda data: X)}  # as a damaged h5ad file would have it
    data.__class__ = type("Damaged", (anndata.AnnData,), damaged)
    return data


OTHERS = {
    "BinnedTreeClassifier": lambda X: BinnedTreeClassifier().fit(X, Y),
    "LandmarkProjector": lambda X: LandmarkProjector().fit({"a": OTHER, "words": X}),
    "LaplacianCompletion": lambda X: LaplacianCompletion().fit({"a": OTHER, "words": X}),
    "ViewPreparer": lambda X: ViewPreparer().fit({"a": OTHER, "words": X}),
    "ViewTransformer": lambda X: ViewTransformer({"words": MaxAbsScaler()}).fit([OTHER, X]),
    "a single matrix": lambda X: LateFusionClassifier(views=[2, 4]).fit(X, Y),
    "a kernel": lambda X: MultiViewData({"k": X}, kinds={"k": "kernel"}),
    "AnnData": lambda X: as_multiview(annotated(X)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_estimator_reads_a_malformed_matrix(name):
    for make in MALFORMED.values():
        with pytest.raises(ValueError, match="view '"):
            OTHERS[name](make())
