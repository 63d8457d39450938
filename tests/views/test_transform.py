import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA, KernelPCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer, MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from consilience import MultiViewData, ViewTransformer
from consilience.datasets import make_multiview_classification
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier

DATA, Y = make_multiview_classification(40, n_views=2, n_features=[3, 5], random_state=0)


def test_one_for_all():
    out = ViewTransformer(StandardScaler()).fit_transform(DATA)
    assert isinstance(out, MultiViewData)
    for name, view in DATA.items():
        np.testing.assert_allclose(out[name], StandardScaler().fit_transform(view))


def test_one_for_each():
    step = ViewTransformer({"view0": "passthrough", "view1": PCA(2)}).fit(DATA)
    out = step.transform(DATA[:10])
    assert out["view0"] is not None
    assert out.widths == {"view0": 3, "view1": 2}
    np.testing.assert_allclose(
        out["view1"], PCA(2).fit(DATA["view1"]).transform(DATA["view1"][:10])
    )


def test_missing_rows_stay_missing_and_teach_nothing():
    data, _ = make_multiview_classification(40, n_views=2, missing_rate=0.3, random_state=1)
    out = ViewTransformer(StandardScaler()).fit_transform(data)
    np.testing.assert_array_equal(out.present, data.present)
    for v, (name, view) in enumerate(data.items()):
        is_present = data.present[:, v]
        np.testing.assert_allclose(
            out[name][is_present], StandardScaler().fit_transform(view[is_present])
        )
        assert np.isnan(out[name][~is_present]).all()


def test_missing_rows_of_sparse_views():
    data, _ = make_multiview_classification(
        40, n_views=2, missing_rate=0.3, sparsity=0.5, random_state=1
    )
    out = ViewTransformer(MaxAbsScaler()).fit(data).transform(data)
    is_present = data.present[:, 0]
    assert out["view0"].format == "csr"
    expected = MaxAbsScaler().fit_transform(data["view0"][is_present])
    np.testing.assert_allclose(out["view0"][is_present].toarray(), expected.toarray())


def test_view_absent_from_new_data():
    step = ViewTransformer({"view0": PCA(2), "view1": PCA(3)}).fit(DATA)
    out = step.transform(DATA.select(["view1"]))
    assert out.view_names == ("view0", "view1")
    assert not out.present[:, 0].any()
    model = LateFusionClassifier().fit(step.transform(DATA), Y)
    assert len(model.predict(out)) == 40


def test_texts_tables_and_cells():
    words = np.array(["red apple", "green pear", "red pear", "green apple"] * 5)
    frame = pd.DataFrame({"colour": ["r", "g", "r", "g"] * 5})
    holes = np.where(np.arange(40).reshape(20, 2) % 7 == 0, np.nan, 1.0)
    data = MultiViewData({"text": words, "table": frame, "numbers": holes})
    y = np.arange(20) % 2
    model = make_pipeline(
        ViewTransformer(
            {"text": TfidfVectorizer(), "table": OneHotEncoder(), "numbers": SimpleImputer()}
        ),
        EarlyFusionClassifier(),
    )
    assert model.fit(data, y).score(data, y) == 1.0


def test_frame_with_column_groups():
    frame = pd.DataFrame({"n": np.arange(8.0), "c": list("abababab"), "m": np.ones(8)})
    step = ViewTransformer(
        {"numbers": StandardScaler(), "codes": OneHotEncoder()},
        views={"numbers": ["n", "m"], "codes": ["c"]},
    )
    out = step.fit_transform(frame)
    assert out.widths == {"numbers": 2, "codes": 2}
    assert step.feature_names_in_.tolist() == ["n", "c", "m"]


def test_labels_reach_the_transformer():
    out = ViewTransformer(SelectKBest(k=2)).fit_transform(DATA, Y)
    expected = SelectKBest(k=2).fit_transform(DATA["view1"], Y)
    np.testing.assert_array_equal(out["view1"], expected)


def test_parameters_are_reachable():
    one = ViewTransformer(PCA(2))
    assert one.get_params()["transformer__n_components"] == 2
    each = ViewTransformer({"view0": PCA(1), "view1": PCA(2)})
    assert each.get_params()["view1__n_components"] == 2
    copy = clone(each).set_params(view1__n_components=4)
    assert copy.get_params()["view1__n_components"] == 4
    assert each.get_params()["view1__n_components"] == 2
    copy.set_params(view0="passthrough")
    assert copy.transformer["view0"] == "passthrough"
    with pytest.raises(ValueError, match="Invalid parameter"):
        copy.set_params(view7__n_components=1)
    model = make_pipeline(each, LateFusionClassifier())
    search = GridSearchCV(model, {"viewtransformer__view1__n_components": [1, 3]}, cv=3)
    assert search.fit(DATA, Y).best_params_["viewtransformer__view1__n_components"] in (1, 3)


def test_kernels_are_centred_and_projected():
    K = rbf_kernel(DATA["view1"])
    data = MultiViewData({"k": K}, kinds={"k": "kernel"})
    step = ViewTransformer(KernelCenterer()).fit(data[:30])
    out = step.transform(data)
    expected = KernelCenterer().fit(K[:30, :30]).transform(K[:, :30])
    np.testing.assert_allclose(out["k"], expected)
    assert out.kinds == {"k": "kernel"}
    model = LateFusionClassifier(SVC(kernel="precomputed"), voting="hard")
    assert len(make_pipeline(step, model).fit(data[:30], Y[:30]).predict(data[30:])) == 10
    projected = ViewTransformer(KernelPCA(3, kernel="precomputed")).fit(data[:30]).transform(data)
    assert projected.kinds == {"k": "features"}
    assert projected.widths == {"k": 3}


@pytest.mark.parametrize(
    ("transformer", "data", "message"),
    [
        ({"view0": PCA()}, DATA, "missing: 'view1'"),
        ({"view0": PCA(), "view1": PCA(), "v": PCA()}, DATA, "unknown: 'v'"),
        ("keep", DATA, r"'fit' and 'transform' or a str among \{'drop', 'passthrough'\}.*'keep'"),
        ("drop", DATA, "all views are dropped: 'view0', 'view1'"),
        (None, DATA, r"'transformer' parameter .* Got None"),
        (KernelCenterer(), DATA, "view 'view0' holds features"),
        (PCA(), MultiViewData({"k": np.eye(4)}, kinds={"k": "kernel"}), "is a kernel view"),
    ],
)
def test_invalid_transformer_raises(transformer, data, message):
    with pytest.raises(ValueError, match=message):
        ViewTransformer(transformer).fit(data)


def test_labels_of_another_length():
    with pytest.raises(ValueError, match="X has 40 samples, but y has 3"):
        ViewTransformer(PCA()).fit(DATA, Y[:3])


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_spread_rows_keep_their_indices_small(kind):
    X = np.where(np.random.RandomState(0).rand(30, 8) < 0.3, 1.0, 0.0)
    present = np.arange(30) % 4 > 0
    data = MultiViewData({"a": kind(X), "b": X}, present=np.column_stack([present, present | True]))
    mapped = ViewTransformer(MaxAbsScaler()).fit_transform(data)["a"]
    np.testing.assert_array_equal(mapped.toarray(), np.where(present[:, None], X, 0))
    assert mapped.indices.dtype == mapped.indptr.dtype == np.int32


def test_sparse_in_dense_out():
    data = MultiViewData({"a": sp.csr_array(DATA["view0"]), "b": DATA["view1"]})
    out = ViewTransformer(MaxAbsScaler()).fit_transform(data)
    assert sp.issparse(out["a"])
    assert not sp.issparse(out["b"])
