"""Kernel and distance views: cut by rows, columns picked by id."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from consilience import MultiViewData
from consilience.fusion import BestViewClassifier, LateFusionClassifier, StackingFusionClassifier

X, Y = load_digits(return_X_y=True)
X, Y = X[:200] / 16, Y[:200]
K = rbf_kernel(X)
CV = StratifiedKFold(4, shuffle=True, random_state=0)
ONE_KERNEL = MultiViewData({"k": K}, kinds={"k": "kernel"})


def svc():
    return SVC(kernel="precomputed")


def test_cross_val_score_equals_scikit_learns_own():
    expected = cross_val_score(svc(), K, Y, cv=CV)
    got = cross_val_score(LateFusionClassifier(svc(), voting="hard"), ONE_KERNEL, Y, cv=CV)
    np.testing.assert_array_equal(got, expected)


def test_grid_search_equals_scikit_learns_own():
    plain = GridSearchCV(svc(), {"C": [0.1, 1, 10]}, cv=CV).fit(K, Y)
    ours = LateFusionClassifier({"k": svc()}, voting="hard")
    ours = GridSearchCV(ours, {"k__C": [0.1, 1, 10]}, cv=CV).fit(ONE_KERNEL, Y)
    np.testing.assert_array_equal(
        ours.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )
    assert ours.best_params_ == {"k__C": plain.best_params_["C"]}
    np.testing.assert_array_equal(ours.predict(ONE_KERNEL), plain.predict(K))


def test_search_in_processes():
    ours = LateFusionClassifier(svc(), voting="hard")
    one = cross_val_score(ours, ONE_KERNEL, Y, cv=CV)
    np.testing.assert_array_equal(cross_val_score(ours, ONE_KERNEL, Y, cv=CV, n_jobs=2), one)


def test_distances():
    D = euclidean_distances(X)
    data = MultiViewData({"d": D}, kinds={"d": "distance"})
    near = KNeighborsClassifier(3, metric="precomputed")
    expected = cross_val_score(near, D, Y, cv=CV)
    np.testing.assert_array_equal(
        cross_val_score(LateFusionClassifier(near), data, Y, cv=CV), expected
    )


def test_rectangular_kernel_of_new_samples():
    train, test = np.arange(150), np.arange(150, 200)
    names = np.array([f"s{i}" for i in range(200)])
    fitted = MultiViewData(
        {"k": K[np.ix_(train, train)]}, kinds={"k": "kernel"}, sample_ids=names[train]
    )
    turned = train[::-1]
    new = MultiViewData(
        {"k": K[np.ix_(test, turned)]},
        kinds={"k": "kernel"},
        sample_ids=names[test],
        column_ids={"k": names[turned]},
    )
    model = LateFusionClassifier(svc(), voting="hard").fit(fitted, Y[train])
    plain = svc().fit(K[np.ix_(train, train)], Y[train])
    np.testing.assert_array_equal(model.predict(new), plain.predict(K[np.ix_(test, train)]))


def test_samples_without_ids_are_not_confused():
    model = LateFusionClassifier(svc(), voting="hard").fit(ONE_KERNEL[:100], Y[:100])
    other = MultiViewData({"k": K[100:, 100:]}, kinds={"k": "kernel"})
    with pytest.raises(ValueError, match=r"cannot be matched with those seen in fit.*sample_ids"):
        model.predict(other)
    # the same matrix in another container is the same samples
    again = MultiViewData({"k": K.copy()}, kinds={"k": "kernel"})
    np.testing.assert_array_equal(model.predict(again[100:]), model.predict(ONE_KERNEL[100:]))


def test_columns_of_all_training_samples_are_required():
    names = np.arange(200)
    fitted = MultiViewData({"k": K}, kinds={"k": "kernel"}, sample_ids=names)
    model = LateFusionClassifier(svc(), voting="hard").fit(fitted[:100], Y[:100])
    short = MultiViewData(
        {"k": K[100:, :98]},
        kinds={"k": "kernel"},
        sample_ids=names[100:],
        column_ids={"k": names[:98]},
    )
    with pytest.raises(ValueError, match="no column for 2 of the 100 samples seen in fit: 98, 99"):
        model.predict(short)


def test_slices_are_lazy_and_pickle_small():
    big = MultiViewData({"k": np.eye(1000)}, kinds={"k": "kernel"})
    cut = big[[1, 3, 5]][[0, 2]]
    assert cut._views["k"].matrix is big._views["k"].matrix
    np.testing.assert_array_equal(cut["k"], np.eye(1000)[[1, 5]])
    assert len(pickle.dumps(cut)) < 50_000
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(cut))["k"], cut["k"])


def test_missing_kernel_rows_are_never_read():
    present = np.ones((200, 2), dtype=bool)
    present[::9, 0] = False
    spoiled = K.copy()
    spoiled[::9] = spoiled[:, ::9] = np.nan
    kinds = {"k": "kernel", "other": "kernel"}
    data = MultiViewData({"k": spoiled, "other": K}, present=present, kinds=kinds)
    for model in (
        LateFusionClassifier(svc(), voting="hard"),
        BestViewClassifier(svc()),
        StackingFusionClassifier(svc()),
    ):
        assert model.fit(data, Y).score(data, Y) > 0.8


def test_kernels_must_be_finite():
    spoiled = K.copy()
    spoiled[5, 7] = np.inf
    data = MultiViewData({"k": spoiled}, kinds={"k": "kernel"})
    with pytest.raises(ValueError, match=r"infinity: view 'k', row 5, in the column of sample 7"):
        LateFusionClassifier(svc(), voting="hard").fit(data, Y)


def test_estimator_must_take_kernels():
    with pytest.raises(ValueError, match=r"view 'k' is a kernel view, which SVC would read"):
        LateFusionClassifier(SVC(), voting="hard").fit(ONE_KERNEL, Y)
    with pytest.raises(ValueError, match=r"view 'x' holds features, but SVC takes a precomputed"):
        LateFusionClassifier(svc(), voting="hard").fit({"x": X}, Y)


def test_kernels_are_not_concatenated():
    with pytest.raises(TypeError, match=r"'k'.*select\(\) the other views"):
        ONE_KERNEL.to_array()


def test_bootstrap_repeats_columns():
    rows = np.random.RandomState(0).randint(200, size=200)
    model = LateFusionClassifier(svc(), voting="hard").fit(ONE_KERNEL[rows], Y[rows])
    plain = svc().fit(K[np.ix_(rows, rows)], Y[rows])
    np.testing.assert_array_equal(model.predict(ONE_KERNEL), plain.predict(K[:, rows]))


def test_columns_of_dataframes_are_matched_by_label():
    pd = pytest.importorskip("pandas")
    names = [f"s{i}" for i in range(60)]
    order = np.random.RandomState(0).permutation(60)
    frame = pd.DataFrame(K[:60, :60], index=names, columns=names)

    def data(view, **kwargs):
        return MultiViewData({"k": view}, kinds={"k": "kernel"}, **kwargs)

    model = LateFusionClassifier(svc(), voting="hard").fit(data(frame), Y[:60])
    scores = model.decision_function(data(frame))
    for other in (frame.iloc[order], frame.iloc[:, order], frame.iloc[order, order[::-1]]):
        rows = [names.index(label) for label in other.index]
        np.testing.assert_array_equal(model.decision_function(data(other)), scores[rows])
    given = data(frame.iloc[:, order], sample_ids=np.arange(60) + 100).column_ids["k"]
    np.testing.assert_array_equal(given, order + 100)
    # files have numbers as texts in their first line
    numbered = pd.DataFrame(K[:3, :3], index=[7, 5, 9], columns=["9", "7", "5"])
    assert data(numbered).column_ids["k"].tolist() == [9, 7, 5]
    # other labels are an error where rows have labels, and ignored where they are numbered
    renamed = frame.rename(columns={"s3": "x"})
    with pytest.raises(ValueError, match="other labels than its rows, such as 'x'; give column_id"):
        data(renamed)
    assert data(renamed, column_ids={"k": names}).column_ids["k"].tolist() == names
    plain = data(renamed.reset_index(drop=True))
    assert plain.column_ids["k"].tolist() == list(range(60))
    assert data(frame.set_axis(range(60), axis=1)).column_ids["k"].tolist() == names
