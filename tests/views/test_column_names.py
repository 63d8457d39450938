"""Columns that are named in fit are compared by name in predict, whatever names them."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from consilience import MultiViewData, ViewTransformer, as_multiview
from consilience.fusion import LateFusionClassifier

RNG = np.random.RandomState(0)
A, B = RNG.randn(40, 3), RNG.randn(40, 2)
Y = np.arange(40) % 2
GENES = ["g0", "g1", "g2"]
TURNED = [2, 1, 0]


def anndata(X, names):
    ad = pytest.importorskip("anndata")
    return ad.AnnData(X, var=pd.DataFrame(index=names))


def mudata(X, names):
    md = pytest.importorskip("mudata")
    return md.MuData({"rna": anndata(X, names), "other": anndata(B, ["p0", "p1"])})


def xarray(X, names):
    xr = pytest.importorskip("xarray")
    return xr.DataArray(X, dims=("sample", "gene"), coords={"gene": names})


def xarray_dataset(X, names):
    xr = pytest.importorskip("xarray")
    other = xr.DataArray(B, dims=("sample", "protein"))
    return xr.Dataset({"rna": xarray(X, names), "other": other})


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning:(anndata|mudata)")
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("container", [anndata, mudata, xarray, xarray_dataset])
def test_formats_of_other_libraries(container, convert):
    if convert is sp.csr_array and container in (xarray, xarray_dataset):
        pytest.skip("xarray has dense arrays only")
    model = LateFusionClassifier().fit(container(convert(A), GENES), Y)
    view = next(iter(model.view_feature_names_in_))
    assert model.view_feature_names_in_[view].tolist() == GENES
    for fitted in (model, pickle.loads(pickle.dumps(model))):
        fitted.predict(container(convert(A), GENES))
        turned = container(convert(A[:, TURNED]), [GENES[j] for j in TURNED])
        with pytest.raises(
            ValueError, match=f"view '{view}' has different columns than in fit, or"
        ):
            fitted.predict(turned)


def test_names_go_with_rows_and_views_but_not_through_a_transformer():
    data = as_multiview(anndata(A, GENES))
    for part in (
        data[:10],
        data.select(["X"]),
        data.with_groups(Y),
        pickle.loads(pickle.dumps(data)),
    ):
        model = LateFusionClassifier().fit(part, Y[: len(part)])
        assert model.view_feature_names_in_["X"].tolist() == GENES
    scaled = make_pipeline(ViewTransformer(StandardScaler()), LateFusionClassifier()).fit(data, Y)
    assert not hasattr(scaled[-1], "view_feature_names_in_")
    turned = as_multiview(anndata(A[:, TURNED], [GENES[j] for j in TURNED]))
    with pytest.raises(ValueError, match="column 0 was 'g0' and is 'g2' now"):
        scaled.predict(turned)
    assert len(cross_val_score(scaled, data, Y, cv=3)) == 3


def test_whole_numbers_as_names_of_the_columns_of_a_single_dataframe():
    frame = pd.DataFrame(np.c_[A, B])
    model = LateFusionClassifier(views=[3, 2]).fit(frame, Y)
    expected = model.predict_proba(frame)
    np.testing.assert_array_equal(model.predict_proba(frame.to_numpy()), expected)
    with pytest.raises(ValueError, match="column 0 was 0 and is 4 now"):
        model.predict(frame[[4, 3, 2, 1, 0]])


def test_lost_names_are_a_warning():
    model = LateFusionClassifier().fit({"a": pd.DataFrame(A, columns=GENES), "b": B}, Y)
    with pytest.warns(UserWarning, match="view 'a' has no column names, but had some in fit"):
        model.predict({"a": A, "b": B})
    model.predict({"b": B})  # a missing view has none to lose
    LateFusionClassifier().fit({"a": A}, Y).predict({"a": pd.DataFrame(A, columns=GENES)})


def test_half_precision_beside_other_floats():
    frame = pd.DataFrame({"x": [np.nan, 1.0, np.nan], "h": np.array([5, 6, np.nan], np.float16)})
    for columns in (["x", "h"], ["h", "x"]):
        data = MultiViewData({"t": frame[columns]})
        assert data.present.ravel().tolist() == [True, True, False]


def test_masked_arrays_mean_the_same_everywhere():
    M = np.ma.masked_array(np.c_[A, B])
    M[::3, :3] = np.ma.masked
    one, two = LateFusionClassifier(views=[3, 2]), LateFusionClassifier()
    P = one.fit(M, Y).predict_proba(M)
    pair = {"view0": M[:, :3], "view1": M[:, 3:]}
    np.testing.assert_array_equal(two.fit(pair, Y).predict_proba(pair), P)
    cube = np.ma.masked_array(np.stack([A, A], axis=1))
    cube[::3, 0] = np.ma.masked
    assert as_multiview(cube).present[:, 0].tolist() == (np.arange(40) % 3 > 0).tolist()
