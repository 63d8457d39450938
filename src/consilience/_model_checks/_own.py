"""Checks of our own types, by their public names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._model_checks._arrays import check_binary_tree, check_length, require

__all__ = ["CHECKS", "NON_FINITE_ATTRIBUTES"]

# attributes of our types in which NaN or infinity have a meaning; all others must be finite
NON_FINITE_ATTRIBUTES = {
    *("threshold", "_fill", "_fills", "out_of_fold_probabilities_"),
    "view_scores_",  # of a single view, which needs none
    "views",  # of left-out rows, see check_left_out_rows
}
MAX_DIMENSIONS = 32
MEANINGS = ("thousands", "decimals", "points", "commas")  # of points and commas in columns
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
    """Check a forest of the default: the inner nodes of its trees, one tree after the other."""
    dtypes = {
        "feature": ("u2", "i4"), "threshold": ("f4", "f8"), "left": ("i2", "i4"),
        "right": ("i2", "i4"), "missing_left": ("u1",), "left_share": ("f4",), "starts": ("i8",),
        "roots": ("i4",), "leaf_shares": ("f4",),
    }  # fmt: skip
    arrays = {name: getattr(forest, name) for name in dtypes}
    for name, allowed in dtypes.items():
        array = arrays[name]
        is_table = isinstance(array, np.ndarray) and array.ndim == 1 + (name == "leaf_shares")
        is_valid = is_table and array.dtype.str[1:] in allowed and array.flags.c_contiguous
        require(is_valid, f"{name} of a forest must be an array of {' or '.join(allowed)}")
    is_share = (forest.left_share >= 0) & (forest.left_share <= 1)
    require(is_share.all(), "left_share must be shares")
    starts, sizes = forest.starts, np.diff(forest.starts)
    n_nodes = len(forest.feature)
    require(len(starts) > 1, "a forest has no trees")
    is_partition = starts[0] == 0 and (sizes >= 0).all() and starts[-1] == n_nodes
    require(is_partition, "the trees of a forest overlap")
    for name in ("threshold", "left", "right", "missing_left", "left_share"):
        check_length(arrays[name], n_nodes, name)
    check_length(forest.roots, len(sizes), "roots")
    require((forest.feature >= 0).all(), "a forest splits on an unknown column")
    require((forest.missing_left <= 1).all(), "missing_left must be 0 or 1")
    n_leaves = len(forest.leaf_shares)
    require((forest.roots <= 0).all(), "a tree must begin with its root")
    require((sizes[forest.roots == 0] > 0).all(), "a tree has no nodes")
    # children are numbered within their tree; those below 0 are leaves
    number = np.arange(n_nodes) - np.repeat(starts[:-1], sizes)
    for child in (forest.left, forest.right):
        is_after = (child > number) & (child < np.repeat(sizes, sizes))
        require((is_after | (child < 0)).all(), "children in a tree must follow their parents")
    for child in (forest.left, forest.right, forest.roots):
        require((child >= -n_leaves).all(), "a tree ends in an unknown leaf")


def check_boosted_member(member: Any) -> None:
    """Check boosted trees: all nodes of one tree after the other."""
    dtypes = {
        "feature": "i4", "threshold": "f8", "left": "i4", "right": "i4", "missing_left": "f4",
        "value": "f4",
    }  # fmt: skip
    nodes, starts = member.nodes, member.starts
    is_vector = isinstance(starts, np.ndarray) and starts.ndim == 1 and starts.dtype == np.int64
    require(is_vector and len(starts) > 0 and starts[0] == 0, "boosted trees lack their starts")
    sizes = np.diff(starts)
    require((sizes > 0).all(), "boosted trees overlap")
    require(isinstance(nodes, dict) and set(nodes) == set(dtypes), "boosted trees lack arrays")
    for name, dtype in dtypes.items():
        check_length(nodes[name], int(starts[-1]), name)
        require(nodes[name].dtype == np.dtype(dtype), f"{name} of boosted trees must be {dtype}")
    is_base = isinstance(member.base, np.ndarray) and member.base.ndim == 1 and len(member.base)
    require(is_base and member.base.dtype == np.float64, "boosted trees lack their base scores")
    require(len(sizes) % len(member.base) == 0, "boosted trees must be complete rounds")
    is_share = (nodes["missing_left"] >= 0) & (nodes["missing_left"] <= 1)
    require(is_share.all(), "missing_left must be shares")
    number = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
    is_split = nodes["feature"] >= 0
    for name in ("left", "right"):
        is_after = (nodes[name] > number) & (nodes[name] < np.repeat(sizes, sizes))
        require(is_after[is_split].all(), "children in a tree must follow their parents")


def check_table_view(view: Any) -> None:
    """Check the columns of a table."""
    for name in ("columns", "text_columns", "date_columns", "left_out", "words", "percents"):
        columns = getattr(view, name)
        if columns is not None:
            is_list = isinstance(columns, (list, tuple))
            require(is_list and all(isinstance(c, str) for c in columns), f"{name} must be names")
    require(view.text_columns is not None, "text_columns must be names")
    require(isinstance(view.date_formats, tuple), "date_formats must be those of columns")
    for name, pattern in view.date_formats:
        is_known = name in view.date_columns and isinstance(pattern, str)
        require(is_known, "date_formats must be those of columns")
    require(isinstance(view.categories, tuple), "categories must be those of columns")
    for name, categories in view.categories:
        require(name in view.text_columns, "categories must be those of columns")
        require({type(category) for category in categories} == {str}, "categories must be text")
    is_text = view.words is not None and view.columns is not None and len(view.columns) == 1
    require(view.words == () or is_text, "words must be those of one column")
    require(isinstance(view.source, str), "source must be the name of a view")
    require(type(view.width) is int and view.width > 0, f"a table is {view.width!r} wide")
    require(type(view.sparse) is bool, "sparse must be True or False")
    require(type(view.spells_alike) is bool, "spells_alike must be True or False")
    require(view.decimal in ("", ".", ","), "decimal must be a point or a comma")
    require(isinstance(view.points, tuple), "points must be those of columns")
    for name, meaning in view.points:
        is_known = isinstance(name, str) and meaning in MEANINGS
        require(is_known, "points must be those of columns")
    has_index = view.first_index is None or type(view.first_index) is int
    require(has_index and view.first_index in (None, 0, 1), "features begin at index 0 or 1")
    require(view.kind in KINDS, f"a view cannot be a {view.kind!r} view")


def check_table_model(model: Any) -> None:
    """Check how new files are read and predictions are scored."""
    is_text = isinstance(model.na, tuple) and all(isinstance(cell, str) for cell in model.na)
    require(is_text, "na must be text")
    for name in ("metric", "positive"):
        require(isinstance(getattr(model, name), str), f"{name} must be text")
    if model.costs is not None:
        is_of_views = isinstance(model.costs, dict) and set(model.costs) == set(model.views)
        require(is_of_views, "costs must be those of the views")
        are_costs = all(isinstance(c, float) and 0 < c < np.inf for c in model.costs.values())
        require(are_costs, "costs must be positive numbers")
    steps = getattr(model.estimator, "steps", None) or [("", model.estimator)]
    fitted = getattr(steps[0][1], "view_names_", None)
    if fitted is not None:
        require(set(model.views) == set(fitted), "tables must be those of the fitted views")


def check_column_role(role: Any) -> None:
    """Check the role of a column of a dataframe."""
    values = (role.view, role.column, role.role, role.reason, role.date_format)
    require(all(isinstance(value, str) for value in values), "roles of columns must be text")


def check_left_out_rows(rows: Any) -> None:
    """Cells of left-out rows may be empty, but not infinite."""
    for view in (rows.views or {}).values():
        values = getattr(view, "data", view) if sp.issparse(view) else view
        if isinstance(values, np.ndarray) and values.dtype.kind in "fc":
            require(not np.isinf(values).any(), "a value of the left-out rows is infinite")


CHECKS: dict[str, Callable[[Any], None]] = {
    "consilience.core.Tree": check_core_tree,
    "consilience.default.BoostedMember": check_boosted_member,
    "consilience.default.Forest": check_default_forest,
    "consilience.tables.ColumnRole": check_column_role,
    "consilience.tables.TableModel": check_table_model,
    "consilience.tables.TableView": check_table_view,
    "consilience.trust.LeftOutRows": check_left_out_rows,
    "consilience.views.ViewLayout": check_layout,
}
