"""Chunks of views that are dask arrays."""

import numpy as np
import pytest

from consilience import MultiViewData
from consilience.fusion import BestViewClassifier, LateFusionClassifier
from consilience.views._lazy import align_blocks, chunk_rows, lazy_present, row_numbers

da = pytest.importorskip("dask.array")


def test_rows_have_the_chunks_of_the_first_dask_array():
    X = np.arange(12.0).reshape(6, 2)
    views = {"a": X, "b": da.from_array(X, chunks=(4, 1)), "c": da.from_array(X, chunks=(3, 2))}
    aligned = align_blocks(views)
    for view in aligned.values():
        assert view.chunks == ((4, 2), (2,))
        np.testing.assert_array_equal(view.compute(scheduler="sync"), X)
    assert align_blocks({"b": aligned["b"]})["b"] is aligned["b"]
    assert chunk_rows(X[:5], (4, 2), "a").shape == (5, 2)  # the container names the lengths
    present = np.ones((6, 3), dtype=bool)
    assert lazy_present(aligned, present).chunks == ((4, 2), (3,))
    assert lazy_present(aligned, None).chunks == ((4, 2), (3,))
    np.testing.assert_array_equal(
        row_numbers(lazy_present(aligned, None)).compute(scheduler="sync"), np.arange(6)
    )


def test_rows_of_nan_are_missing_in_a_dask_array():
    X = np.array([[np.nan, np.nan], [1.0, np.nan], [0.0, 1.0]])
    views = align_blocks({"a": da.from_array(X, chunks=(2, 2)), "b": np.zeros((3, 1))})
    present = lazy_present(views, None).compute(scheduler="sync")
    np.testing.assert_array_equal(present, [[False, True], [True, True], [True, True]])


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (np.zeros((4, 2, 2)), r"view 'a' must be two-dimensional beside or as .* \(4, 2, 2\)"),
        (np.zeros(4), r"view 'a' must be two-dimensional, got shape \(4,\)"),
        (np.array([["x"], ["y"]]), "view 'a' is a dask array of dtype <U1, expected numbers"),
    ],
)
def test_arrays_that_cannot_be_views(view, message):
    with pytest.raises(ValueError, match=message):
        align_blocks({"a": da.from_array(view)})


def test_row_labels_are_compared_as_in_memory():
    pd = pytest.importorskip("pandas")
    ids, y = list("abcdef"), np.arange(6) % 2
    X = np.arange(12.0).reshape(6, 2)
    lazy = {"a": da.from_array(X, chunks=(3, 2)), "b": X}
    data = MultiViewData(lazy, sample_ids=ids)
    right = pd.Series(y, index=ids)
    model = LateFusionClassifier().fit(data, right)
    message = "{} has the labels of the samples in a different order than X"
    wrong = right[::-1]
    for name, kwargs in {
        "y": {"y": wrong},
        "sample_weight": {"y": y, "sample_weight": wrong + 1.0},
        "groups": {"y": y, "groups": wrong},
    }.items():
        with pytest.raises(ValueError, match=message.format(name)):
            BestViewClassifier().fit(data, **kwargs)
    with pytest.raises(ValueError, match=message.format("y")):
        model.score(data, wrong)
    with pytest.raises(ValueError, match=message.format("groups")):
        MultiViewData(lazy, sample_ids=ids, groups=wrong)
    mask = pd.DataFrame(np.ones((6, 2), dtype=bool), index=ids)
    with pytest.raises(ValueError, match=message.format("present")):
        MultiViewData(lazy, sample_ids=ids, present=mask[::-1])
    frame = pd.DataFrame(X, index=ids)  # beside a dask array, a dataframe names the samples, too
    assert MultiViewData({**lazy, "b": frame}).sample_ids.tolist() == ids
    with pytest.raises(ValueError, match=message.format("y")):
        LateFusionClassifier().fit({**lazy, "b": frame}, wrong)


def test_sample_ids_beside_a_dask_array_have_the_order_of_an_index():
    pd = pytest.importorskip("pandas")
    views = {
        "a": da.ones((3, 2), chunks=2),
        "b": pd.DataFrame({"u": [1.0, 2.0, 3.0]}, index=["p", "q", "r"]),
    }
    assert list(MultiViewData(views, sample_ids=["p", "q", "r"]).sample_ids) == ["p", "q", "r"]
    with pytest.raises(ValueError, match="sample_ids and the index of view 'b' have the same"):
        MultiViewData(views, sample_ids=["r", "q", "p"])
