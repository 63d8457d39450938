"""Arrays of a wrong type or shape are named, not reported as std::bad_cast."""

import numpy as np
import pytest

from consilience._core import _core
from consilience._core.binned import BinnedView


def tree_arrays():
    view = BinnedView(np.arange(12.0).reshape(6, 2))
    return list(view.grow(np.arange(6) % 2, np.ones(6), n_classes=2, max_depth=2)._arrays())


NAMES = ["feature", "threshold", "left", "right", "bin", "missing_left"]


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("wrong", [None, "text", np.ones((2, 2)), np.array(["a"]), 1j])
def test_arrays_of_a_tree(place, wrong):
    arrays = tree_arrays()
    arrays[place] = wrong
    with pytest.raises(TypeError, match=f"{NAMES[place]} of a tree has a wrong type"):
        _core.apply_dense(tuple(arrays), np.ones((3, 2)), 0)


def test_number_of_arrays_of_a_tree():
    with pytest.raises(ValueError, match="6 arrays"):
        _core.apply_dense(tuple(tree_arrays()[:5]), np.ones((3, 2)), 0)


@pytest.mark.parametrize(
    ("place", "name"), [(0, "the store"), (1, "slots"), (2, "used"), (3, "the diagonal")]
)
def test_arrays_of_a_kernel(place, name):
    n = 4
    kernel = [np.eye(n), np.arange(n), np.zeros(n, dtype=np.int64), np.ones(n)]
    kernel[place] = "text"
    y, lam = np.array([1.0, -1.0, 1.0, -1.0]), np.zeros((1, n))
    with pytest.raises(TypeError, match=f"{name}.* has a wrong type"):
        _core.smo_joint(
            [tuple(kernel)], None, y, np.ones((1, n)), np.zeros(n), np.zeros(n), 0.0, lam,
            lam.copy(), 1e-6, 100, 8,
        )  # fmt: skip
