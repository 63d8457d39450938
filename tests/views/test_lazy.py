"""Chunks of views that are dask arrays."""

import numpy as np
import pytest

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
