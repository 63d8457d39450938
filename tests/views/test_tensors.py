"""Views of more than two dimensions, such as images and time series."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from consilience import ConsilienceClassifier, MultiViewData, ViewTransformer, as_multiview, compare
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier
from consilience.inspection import view_permutation_importance, view_shapley
from consilience.io import load, save
from consilience.margin import SMVMEDClassifier
from consilience.views import ViewPreparer, flatten

N = 40
RNG = np.random.RandomState(0)
Y = np.arange(N) % 2
IMAGE = RNG.randn(N, 4, 3) + Y[:, None, None]
VIDEO = RNG.randn(N, 2, 3, 2).astype(np.float32)
TABLE = RNG.randn(N, 5) + Y[:, None]
VIEWS = {"image": IMAGE, "video": VIDEO, "table": TABLE}
FLATTEN = {"image": FunctionTransformer(flatten), "video": make_pipeline(
    FunctionTransformer(flatten), StandardScaler(), PCA(2))}  # fmt: skip
REMEDY = (
    r"view 'image' of shape \(40, 4, 3\) has 3 dimensions, but two are required here; reshape it "
    r"to \(40, 12\), or flatten it in a pipeline with ViewTransformer"
)


def to_mean(X):
    return X.mean(axis=1)


MEAN = FunctionTransformer(to_mean)


# -- the container ---------------------------------------------------------------------------


def test_container():
    data = MultiViewData(VIEWS, sample_ids=[f"s{i}" for i in range(N)])
    assert data.shape == (N, 12 + 12 + 5)
    assert data.widths == {"image": 12, "video": 12, "table": 5}
    assert data["image"] is IMAGE
    assert data[3:7]["video"].shape == (4, 2, 3, 2)
    assert np.shares_memory(data[3:7]["image"], IMAGE)
    np.testing.assert_array_equal(data[Y == 1]["image"], IMAGE[Y == 1])
    np.testing.assert_array_equal(data[[5, -1]]["image"], IMAGE[[5, -1]])
    assert len(data.select(["video", "image"])) == N
    assert data[[2, 0]].sample_ids.tolist() == ["s2", "s0"]
    assert "image  features  4 x 3      float64" in repr(data)
    assert "<td>2 x 3 x 2</td>" in data._repr_html_()
    assert as_multiview([IMAGE, TABLE]).widths == {"view0": 12, "view1": 5}
    assert as_multiview({"image": IMAGE.tolist()})["image"].shape == (N, 4, 3)


def test_samples_of_nan_are_missing():
    image, video = IMAGE.copy(), VIDEO.copy()
    image[3], image[4, 0], video[5, ..., 0] = np.nan, np.nan, np.nan
    video[6] = np.nan
    data = MultiViewData({"image": image, "video": video, "int": IMAGE.astype(int)})
    assert np.argwhere(~data.present).tolist() == [[3, 0], [6, 1]]


def test_alignment_with_the_labels_of_a_table():
    table = pd.DataFrame(TABLE, index=[f"s{i}" for i in range(N)])
    data = MultiViewData({"image": IMAGE, "table": table})
    y = pd.Series(Y, index=table.index)[::-1]
    model = make_pipeline(ViewTransformer(FLATTEN["image"]), LateFusionClassifier())
    with pytest.raises(ValueError, match="in a different order"):
        model.fit(data, y)
    np.testing.assert_array_equal(data.align(y), Y)


@pytest.mark.parametrize(
    ("views", "options", "message"),
    [
        ({"a": IMAGE, "b": VIDEO[:-1]}, {}, "'a' has 40, 'b' has 39"),
        ({"a": IMAGE.astype(str)}, {}, r"view 'a' of shape \(40, 4, 3\) must contain numbers"),
        ({"a": IMAGE.astype(complex)}, {}, "Complex data not supported: view 'a'"),
        ({"a": np.zeros((2, 2, 2))}, {"kinds": {"a": "kernel"}}, "kernel.*must be two-dimensional"),
    ],
)
def test_invalid_arrays_raise(views, options, message):
    with pytest.raises(ValueError, match=message):
        MultiViewData(views, **options)


def test_beside_dask_arrays():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="view 'a' must be two-dimensional beside"):
        MultiViewData({"a": IMAGE, "b": da.from_array(TABLE, chunks=(20, -1))})


# -- transformers ----------------------------------------------------------------------------


def test_pipeline():
    step = ViewTransformer(FLATTEN, remainder="passthrough").fit(VIEWS)
    out = step.transform(VIEWS)
    np.testing.assert_array_equal(out["image"], IMAGE.reshape(N, 12))
    assert out.widths == {"image": 12, "video": 2, "table": 5}
    model = make_pipeline(step, LateFusionClassifier())
    data = MultiViewData(VIEWS)
    assert cross_val_score(model, data, Y, cv=3).mean() > 0.8
    grid = {"viewtransformer__video__pca__n_components": [1, 2]}
    assert GridSearchCV(model, grid, cv=2).fit(data, Y).score(data, Y) > 0.8
    # a view that is left out is missing
    assert model.fit(data, Y).score(data.select(["image", "table"]), Y) > 0.8
    assert model.score(data.select(["table"]), Y) > 0.8


def test_arrays_stay_arrays_of_more_dimensions_where_nobody_flattens_them():
    image = IMAGE.copy()
    image[[1, 7]] = np.nan
    data = MultiViewData({**VIEWS, "image": image})
    shift = FunctionTransformer(np.negative)
    step = ViewTransformer({"image": shift, "video": MEAN, "table": "drop"}).fit(data)
    out = step.set_output(transform="pandas").transform(data)
    np.testing.assert_array_equal(out["image"], -image)
    np.testing.assert_array_equal(out.present[:, 0], data.present[:, 0])
    np.testing.assert_allclose(out["video"], VIDEO.mean(axis=1))
    absent = step.transform({"video": VIDEO})
    assert absent["image"].shape == (N, 4, 3)
    assert not absent.present[:, 0].any()
    unchanged = ViewTransformer("passthrough").fit(data)
    assert unchanged.transform(data)["video"] is VIDEO
    assert unchanged.transform({"video": VIDEO})["image"].shape == (N, 4, 3)


def test_inspection_of_a_pipeline():
    model = make_pipeline(ViewTransformer(FLATTEN, remainder="passthrough"), LateFusionClassifier())
    model.fit(VIEWS, Y)
    result = view_permutation_importance(model, VIEWS, Y, n_repeats=2, random_state=0)
    assert result.view_names == ["image", "video", "table"]
    assert list(view_shapley(model, VIEWS, Y, random_state=0).view_names) == result.view_names


def test_shape_of_new_samples_is_checked():
    step = ViewTransformer(FLATTEN["image"]).fit({"image": IMAGE})
    with pytest.raises(ValueError, match=r"of shape \(3, 4\), but had samples of shape \(4, 3\)"):
        step.transform({"image": IMAGE.transpose(0, 2, 1)})
    with pytest.raises(ValueError, match=r"of shape \(12,\), but had samples of shape \(4, 3\)"):
        step.transform({"image": IMAGE.reshape(N, 12)})


def test_transformer_of_matrices_raises():
    message = (
        r"view 'image' of shape \(40, 4, 3\) cannot be transformed by StandardScaler \(.*\); if it "
        r"requires two dimensions, flatten the view first"
    )
    with pytest.raises(ValueError, match=message):
        ViewTransformer(StandardScaler()).fit(VIEWS)
    with pytest.raises(ValueError, match=r"^n_components=50 must be"):  # the error of a matrix
        ViewTransformer(PCA(50)).fit({"table": TABLE})


# -- estimators of matrices ------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        ConsilienceClassifier(n_estimators=10),
        LateFusionClassifier(),
        EarlyFusionClassifier(),
        SMVMEDClassifier(),
        ViewPreparer(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_estimators_of_matrices_name_view_shape_and_remedy(model):
    with pytest.raises(ValueError, match=REMEDY):
        model.fit({"table": TABLE, "image": IMAGE}, Y)
    model.fit({"table": TABLE, "image": IMAGE.reshape(N, 12)}, Y)
    predict = getattr(model, "predict", None) or model.transform
    with pytest.raises(ValueError, match=r"of shape \(4, 3\), but had samples of shape \(12,\)"):
        predict({"table": TABLE, "image": IMAGE})


def test_tools_of_matrices_name_view_shape_and_remedy():
    with pytest.raises(ValueError, match=REMEDY):
        MultiViewData(VIEWS).to_array()
    with pytest.raises(ValueError, match=REMEDY):
        compare(MultiViewData(VIEWS), Y)


# -- model files -----------------------------------------------------------------------------


def test_models_with_flattened_views_are_saved(tmp_path):
    model = make_pipeline(ViewTransformer(FLATTEN, remainder="passthrough"), LateFusionClassifier())
    model.fit(VIEWS, Y)
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(VIEWS), model.predict_proba(VIEWS))
    with pytest.raises(ValueError, match="had samples of shape"):
        loaded.predict({**VIEWS, "image": IMAGE[:, :2]})
    with pytest.raises(TypeError, match=r"cannot be saved: .*to_mean"):
        save(ViewTransformer(MEAN).fit({"a": IMAGE}), tmp_path / "other.skops")


def test_flatten():
    assert flatten(VIDEO).shape == (N, 12)
    assert flatten(IMAGE[:0]).shape == (0, 12)
    assert np.shares_memory(flatten(IMAGE), IMAGE)
