"""Checks of our own types, by their public names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from consilience._model_checks._arrays import check_binary_tree, check_length, require

__all__ = ["CHECKS", "NON_FINITE_ATTRIBUTES"]

# attributes of our types in which NaN or infinity have a meaning; all others must be finite
NON_FINITE_ATTRIBUTES = {"threshold", "_fill", "_fills"}
MAX_DIMENSIONS = 32
KINDS = ("features", "kernel", "distance")


def check_layout(layout: Any) -> None:
    """Check the names, widths, kinds and columns of the fitted views."""
    fields = (layout.names, layout.widths, layout.kinds, layout.columns)
    require(all(isinstance(field, tuple) for field in fields), "a layout must hold tuples")
    require(len({len(field) for field in fields}) == 1, "the fields of a layout differ in length")
    names = layout.names
    require(all(isinstance(name, str) for name in names), "names of views must be strings")
    require(len(set(names)) == len(names) > 0, "names of views must be different")
    for kind, width, columns in zip(layout.kinds, layout.widths, layout.columns, strict=True):
        require(isinstance(kind, str) and kind in KINDS, f"a view cannot be a {kind!r} view")
        is_size = all(type(n) is int and n > 0 for n in _shape(width))
        require(is_size if kind == "features" else width is None, f"a view is {width!r} wide")
        if columns is not None:
            require(isinstance(columns, tuple), "columns must be a tuple")
            require(len(columns) == width, "a view must have a name for each column")


def _shape(width: Any) -> tuple[Any, ...]:
    """The number of columns, or the shape of the samples of a view with more dimensions."""
    return width if isinstance(width, tuple) and 1 < len(width) <= MAX_DIMENSIONS else (width,)


def check_core_tree(tree: Any) -> None:
    """Check a tree on binned columns."""
    n_nodes = len(tree.feature) if isinstance(tree.feature, np.ndarray) else 0
    require(n_nodes > 0, "a tree has no nodes")
    dtypes = {
        "feature": np.int32, "threshold": np.float64, "left": np.int32, "right": np.int32,
        "bin": np.uint8, "missing_left": np.uint8, "depth": np.int32, "decision": np.int32,
        "gain": np.float64,
    }  # fmt: skip
    for name, dtype in dtypes.items():
        check_length(getattr(tree, name), n_nodes, name)
        require(getattr(tree, name).dtype == dtype, f"{name} of a tree must be {dtype.__name__}")
    is_table = isinstance(tree.value, np.ndarray) and tree.value.ndim == 2
    require(is_table and len(tree.value) == n_nodes, "value must have a row for each node")
    check_binary_tree(tree.left, tree.right, tree.feature >= 0)
    is_class = (tree.decision >= 0) & (tree.decision < tree.value.shape[1])
    require(is_class.all(), "a tree predicts an unknown class")
    require((tree.depth >= 0).all() and tree.depth[-1] < n_nodes, "a tree has an impossible depth")


def check_default_forest(forest: Any) -> None:
    """Check a forest of the default: the inner nodes of its trees one after the other."""
    starts, roots = forest.starts, forest.roots
    is_vector = isinstance(roots, np.ndarray) and roots.ndim == 1 and roots.dtype == np.int32
    require(is_vector and len(roots) > 0, "a forest has no trees")
    check_starts(starts, len(roots))
    n_nodes = int(starts[-1])
    kinds = {
        "feature": "iu", "threshold": "f", "left": "i", "right": "i", "missing_left": "u",
        "left_share": "f",
    }  # fmt: skip
    for name, kind in kinds.items():
        check_length(getattr(forest, name), n_nodes, name)
        require(getattr(forest, name).dtype.kind in kind, f"{name} of a forest has a wrong dtype")
    require(forest.missing_left.dtype == np.uint8, "missing_left must be uint8")
    is_share = (forest.left_share >= 0) & (forest.left_share <= 1)
    require(is_share.all() and forest.left_share.dtype == np.float32, "left_share must be shares")
    shares = forest.leaf_shares
    is_table = isinstance(shares, np.ndarray) and shares.ndim == 2 and shares.dtype == np.float32
    require(is_table and len(shares) > 0, "a forest must have the class shares of its leaves")
    require((forest.feature >= 0).all(), "columns must not be negative")
    sizes = np.diff(starts)
    position, size = numbers_in_trees(starts)
    for name in ("left", "right"):
        child = getattr(forest, name).astype(np.int64)
        is_leaf = child < 0
        require((-1 - child[is_leaf] < len(shares)).all(), "a tree has an unknown leaf")
        is_after = (child > position) & (child < size)
        require(is_after[~is_leaf].all(), "children in a tree must follow their parents")
    is_root = np.where(sizes > 0, roots == 0, (roots < 0) & (-1 - roots < len(shares)))
    require(is_root.all(), "the roots of a forest do not fit its trees")


def check_starts(starts: Any, n_trees: int) -> None:
    """Check where the trees of a forest begin in its arrays."""
    require(isinstance(starts, np.ndarray) and starts.dtype == np.int64, "starts must be int64")
    require(starts.shape == (n_trees + 1,), "starts must have an entry for each tree")
    require(starts[0] == 0 and (np.diff(starts) >= 0).all(), "the trees of a forest overlap")


def numbers_in_trees(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of each node within its tree, and the number of nodes of that tree."""
    sizes = np.diff(starts)
    return np.arange(starts[-1]) - np.repeat(starts[:-1], sizes), np.repeat(sizes, sizes)


def check_table_view(view: Any) -> None:
    """Check the columns of a table."""
    for name in ("columns", "text_columns", "date_columns", "left_out"):
        columns = getattr(view, name)
        if columns is not None:
            is_list = isinstance(columns, (list, tuple))
            require(is_list and all(isinstance(c, str) for c in columns), f"{name} must be names")
    require(view.text_columns is not None, "text_columns must be names")
    require(type(view.width) is int and view.width > 0, f"a table is {view.width!r} wide")
    require(type(view.sparse) is bool, "sparse must be True or False")
    require(view.kind in KINDS, f"a view cannot be a {view.kind!r} view")


CHECKS: dict[str, Callable[[Any], None]] = {
    "consilience.core.Tree": check_core_tree,
    "consilience.default.Forest": check_default_forest,
    "consilience.tables.TableView": check_table_view,
    "consilience.views.ViewLayout": check_layout,
}
