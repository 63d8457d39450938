import anndata
import mudata
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import xarray as xr

from common.omics import settled_mudata
from consilience import MultiViewData, as_multiview
from consilience.fusion import LateFusionClassifier

RNG = np.random.RandomState(0)
A, B = RNG.randn(8, 2), RNG.randn(8, 3)
Y = np.arange(8) % 2


def test_container_passes_through():
    data = MultiViewData({"a": A})
    assert as_multiview(data) is data


@pytest.mark.parametrize("kind", [list, tuple])
def test_sequences(kind):
    data = as_multiview(kind([A, sp.csr_array(B), pd.DataFrame(B)]))
    assert data.view_names == ("view0", "view1", "view2")
    assert data["view0"] is A


def test_dict():
    assert as_multiview({"a": A, "b": B}).widths == {"a": 2, "b": 3}


def test_three_dimensions():
    data = as_multiview(np.arange(24).reshape(2, 3, 4))
    assert data.view_names == ("view0", "view1", "view2")
    assert data["view1"].tolist() == [[4, 5, 6, 7], [16, 17, 18, 19]]


@pytest.mark.parametrize(
    "matrix", [A, sp.csr_array(A), sp.dok_array(A), pd.DataFrame(A), pl.DataFrame(A), A.tolist()]
)
def test_one_matrix_is_one_view(matrix):
    assert as_multiview(matrix).widths == {"view0": 2}


def test_two_levels_of_columns():
    columns = pd.MultiIndex.from_tuples([("a", "x"), ("b", "y"), ("b", "z"), ("a", "w")])
    frame = pd.DataFrame(RNG.randn(8, 4), columns=columns)
    data = as_multiview(frame)
    assert data.widths == {"a": 2, "b": 2}
    assert list(data["a"].columns) == ["x", "w"]
    assert len(LateFusionClassifier().fit(frame, Y).predict(frame)) == 8


def test_anndata():
    part = anndata.AnnData(A, obs=pd.DataFrame(index=[f"cell{i}" for i in range(8)]))
    data = as_multiview(part)
    assert data.view_names == ("X",)
    assert data.sample_ids[0] == "cell0"
    assert len(LateFusionClassifier().fit(part, Y).predict(part)) == 8


def test_mudata_aligns_by_name():
    def part(matrix, names, prefix):
        columns = pd.DataFrame(index=[f"{prefix}{j}" for j in range(matrix.shape[1])])
        return anndata.AnnData(matrix, obs=pd.DataFrame(index=names), var=columns)

    rna = part(A[:6], [f"c{i}" for i in range(6)], "g")
    atac = part(B[2:][::-1], [f"c{i}" for i in range(7, 1, -1)], "peak")
    with settled_mudata():
        both = mudata.MuData({"rna": rna, "atac": atac})
    data = as_multiview(both)
    order = [int(name[1:]) for name in data.sample_ids]
    assert sorted(order) == list(range(8))
    for v, (name, matrix, rows) in enumerate([("rna", A, range(6)), ("atac", B, range(2, 8))]):
        assert data.present[:, v].tolist() == [i in rows for i in order]
        is_present = data.present[:, v]
        np.testing.assert_array_equal(
            data[name][is_present], matrix[[i for i in order if i in rows]]
        )


def test_rows_of_nan_in_mudata_are_missing():
    names, columns = pd.DataFrame(index=["c0", "c1"]), pd.DataFrame(index=["g0", "g1"])
    rna = anndata.AnnData(np.array([[np.nan, np.nan], [1.0, 2.0]]), obs=names, var=columns)
    with settled_mudata():
        data = as_multiview(mudata.MuData({"rna": rna}))
    assert data.present.ravel().tolist() == [False, True]


def test_xarray():
    cube = xr.DataArray(
        np.arange(24.0).reshape(2, 3, 4),
        dims=["sample", "sensor", "time"],
        coords={"sensor": ["x", "y", "z"]},
    )
    assert as_multiview(cube).view_names == ("x", "y", "z")
    assert as_multiview(cube.drop_vars("sensor")).view_names == ("view0", "view1", "view2")
    assert as_multiview(cube[:, 0]).widths == {"view0": 4}
    named = cube[:, 0].assign_coords(sample=["p2", "p1"])
    assert as_multiview(named).sample_ids.tolist() == ["p2", "p1"]
    table = xr.Dataset({"a": (("sample", "p"), A), "b": (("q", "sample"), B.T)})
    data = as_multiview(table)
    np.testing.assert_array_equal(data["b"], B)
    assert len(LateFusionClassifier().fit(table, Y).predict(table)) == 8
    with pytest.raises(ValueError, match=r"every variable of the Dataset.*'flat'"):
        as_multiview(xr.Dataset({"a": (("sample", "p"), A), "flat": (("sample",), Y)}))


@pytest.mark.parametrize("bad", [np.zeros(3), 5, "text", None, np.zeros((2, 2, 2, 2))])
def test_other_objects_raise(bad):
    with pytest.raises(ValueError, match="expected MultiViewData, a dict or list of 2-D arrays"):
        as_multiview(bad)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, lambda d: pa.table(dict(d))])
def test_frames_with_named_columns(frame):
    columns = {f"c{j}": column for j, column in enumerate(np.hstack([A, B]).T)}
    X = frame(columns)
    model = LateFusionClassifier(views={"b": ["c2", "c4", "c3"], "a": ["c0", "c1"]}).fit(X, Y)
    assert model.view_names_ == ["b", "a"]
    assert model.feature_names_in_.tolist() == [f"c{j}" for j in range(5)]
    plain = LateFusionClassifier().fit({"b": B[:, [0, 2, 1]], "a": A}, Y)
    np.testing.assert_allclose(
        model.decision_function(X), plain.decision_function({"b": B[:, [0, 2, 1]], "a": A})
    )


@pytest.mark.parametrize("kind", ["i1", "u1", "i4", "i8", "f4", "f8", "?", ">f8", "f2"])
def test_dtypes(kind):
    X = {"a": (A > 0).astype(kind) if kind == "?" else (A * 3).astype(kind), "b": B}
    assert len(LateFusionClassifier().fit(X, Y).predict(X)) == 8


def test_order_and_write_protection_do_not_matter():
    frozen = np.asfortranarray(A)
    frozen.flags.writeable = False
    X = [frozen, B[:, ::-1]]
    assert len(LateFusionClassifier().fit(X, Y).predict(X)) == 8
