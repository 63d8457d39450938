"""Trees on blocks of rows: bins, growth level by level, and small nodes finished from their rows.

All sums are integers, so a tree is that of all rows in memory, bit for bit, for any blocks. Each
level of all trees together is one pass over the blocks. A node with few rows, of a tree that may
still grow deep, is finished by itself: its binned rows are brought together and grown in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from consilience._core import _core
from consilience._core.binned import BinnedView, GrowingRows, RowTarget, Tree, tree_params
from consilience._core.exact import add_sums, as_float, cost_sum, exact_sums, weight_exponent
from consilience.distributed._binned_rows import BinnedRows, BinnedTraining, Limits
from consilience.distributed._kept import KeptBlocks
from consilience.distributed._states import BlockState, BlockStates

__all__ = ["TreeSpec", "grow_trees"]

# a tree with so many levels to go is finished from its rows, where these have so many bytes
LEVELS_BY_HISTOGRAM, FINISH_BYTES = 6, 128 * 2**20
# a lone tree is grown by histograms until its nodes have this share of the rows
LONE_TREE_SHARE, MANY_TREES = 1 / 8, 8

TREE_NUMBERS = count()

# (block, key) -> RowTarget
Targets = Callable[[Any, Any], RowTarget]


@dataclass(frozen=True, eq=False)
class TreeSpec:
    """A tree to grow: the view, the key of its target, and the parameters of ``BinnedView.grow``.

    ``min_weight_fraction_leaf`` is a share of the weight of the rows that have the view.
    """

    view: int
    target: Any
    n_classes: int
    params: dict[str, Any] = field(default_factory=dict)
    min_weight_fraction_leaf: float = 0.0
    cost: bool = False


# -- growth ------------------------------------------------------------------------------------


def row_target(rows: BinnedRows, key: Any) -> RowTarget:
    """The codes and weights of the training rows themselves."""
    return RowTarget(rows.codes, rows.weight)


def grow_trees(
    training: BinnedTraining,
    specs: Sequence[TreeSpec],
    targets: Targets = row_target,
    blocks: BlockStates | None = None,
) -> list[Tree]:
    """Grow several trees at the same time; each equals that of all rows in memory.

    Parameters
    ----------
    training : BinnedTraining
        Rows.
    specs : list of TreeSpec
        The trees.
    targets : function
        ``targets(block, spec.target)`` -> RowTarget of the rows of a block.
    blocks : BlockStates, optional
        The blocks of ``training`` with states.
    """
    passes: KeptBlocks | BlockStates = training.blocks if blocks is None else blocks
    growths = [Growth(spec, training) for spec in specs]
    unknown = [growth for growth in growths if growth.needs_total]
    keys = [(g.spec.view, g.spec.target, g.spec.cost) for g in unknown]
    totals = [0] * len(growths)
    if keys:
        sums = iter(add_sums(passes.collect(target_sums, targets, keys)))
        totals = [next(sums) if growth.needs_total else 0 for growth in growths]
    for growth, total in zip(growths, totals, strict=True):
        growth.start(total, many=len(growths) >= MANY_TREES)
    while any(growth.is_growing for growth in growths):
        growing = [growth for growth in growths if growth.is_growing]
        level = passes.sum(level_sums, targets, [growth.request() for growth in growing])
        for growth, sums_of_level, hist in zip(growing, level[::2], level[1::2], strict=True):
            growth.advance(sums_of_level, hist)
    _finish(passes, targets, growths)
    return [growth.tree() for growth in growths]


def rows_of(block: Any) -> BinnedRows:
    """The binned rows of a block, which may have a state."""
    return block.rows if isinstance(block, BlockState) else block


def target_sums(block: Any, targets: Targets, keys: Sequence[tuple[int, Any, bool]]) -> list[int]:
    """Exact sums of the weights, or of the largest costs, of the rows that have the view."""
    sums: dict[Any, int] = {}
    for key in keys:
        if key not in sums:
            v, target, cost = key
            present: Any = rows_of(block).views[v].present
            values: Any = targets(block, target)
            if cost:
                sums[key] = cost_sum(values.costs, present)
            else:
                weight = values.weight
                sums[key] = exact_sums(weight if present is None else weight[present])[0]
    return [sums[key] for key in keys]


@dataclass(frozen=True, eq=False)
class LevelRequest:
    """What a pass over the blocks computes for one tree, which has a number of its own."""

    number: int
    spec: TreeSpec
    params: dict[str, Any]
    tree: tuple[np.ndarray, ...]
    summed: np.ndarray
    built: np.ndarray
    first_bins: np.ndarray


def level_sums(
    block: Any, targets: Targets, requests: Sequence[LevelRequest]
) -> tuple[np.ndarray, ...]:
    """Sums and histograms of one level of several trees."""
    out: list[np.ndarray] = []
    spare = GrowingRows()
    for request in requests:
        rows = growing_rows(block, targets, request, spare)
        view = rows_of(block).views[request.spec.view]
        out += view.level_sums(
            rows, request.tree, request.summed, request.built, request.first_bins
        )
    return tuple(out)


def growing_rows(
    block: Any, targets: Targets, request: LevelRequest, spare: GrowingRows
) -> GrowingRows:
    """Where the rows of a block are in a tree.

    A block with a state keeps this from level to level, and the memory from tree to tree. If it
    has been lost, or the block has no state, the rows come from the root.
    """
    rows, spec = spare, request.spec
    if isinstance(block, BlockState):
        tree_number, rows = block.scratch.get(("growing", spec.view), (None, spare))
        if tree_number == request.number:
            return rows
        rows = GrowingRows() if rows is spare else rows
        block.scratch["growing", spec.view] = request.number, rows
    rows_of(block).views[spec.view].start_growing(
        rows, as_target(targets(block, spec.target)), spec.n_classes, request.params
    )
    return rows


def as_target(target: RowTarget) -> RowTarget:
    """The arrays in the dtypes that the compiled code expects."""
    if target.costs is not None:
        return RowTarget(None, None, np.ascontiguousarray(target.costs, dtype=np.float64))
    return RowTarget(
        np.ascontiguousarray(target.codes, dtype=np.int32),
        np.ascontiguousarray(target.weight, dtype=np.float64),
    )


class Growth:
    """A tree that is being grown."""

    def __init__(self, spec: TreeSpec, training: BinnedTraining) -> None:
        self.number = next(TREE_NUMBERS)
        self.spec, self.limits = spec, training.limits[spec.view]
        self.n_rows = int(training.n_present[spec.view])
        self.subtrees: dict[int, Tree] = {}
        self.sizes = {0: self.n_rows}
        self.n_totals = 0

    @property
    def needs_total(self) -> bool:
        """Whether something depends on the sum of the weights of the rows that have the view."""
        return "exponent" not in self.spec.params or self.spec.min_weight_fraction_leaf > 0

    def start(self, total: int, many: bool) -> None:
        """Set what depends on the sum of the weights."""
        self.params = {"exponent": weight_exponent(total), **self.spec.params}
        if self.spec.min_weight_fraction_leaf:
            minimum = self.spec.min_weight_fraction_leaf * as_float(total)
            self.params["min_weight_leaf"] = minimum
        n_features = len(self.limits[2]) - 1
        settings = tree_params(n_features, **self.params)
        self.grower = _core.LevelGrower(*self.limits, self.spec.n_classes, self.spec.cost, settings)
        self.few_rows = -1
        if settings[0] > LEVELS_BY_HISTOGRAM:
            row_bytes = 8 * -(-n_features // 8) + 16
            self.few_rows = FINISH_BYTES // row_bytes
            if not many:
                self.few_rows = min(self.few_rows, int(self.n_rows * LONE_TREE_SHARE))
        self.is_whole = self.n_rows <= self.few_rows

    @property
    def is_growing(self) -> bool:
        """Whether the next level is to be grown by histograms."""
        return not self.is_whole and len(self.grower.level()) > 0

    def request(self) -> LevelRequest:
        """What the next level needs."""
        arrays = self.grower.arrays()
        if len(arrays[0]) == 0:
            arrays = ROOT
        level, built = self.grower.level(), self.grower.built()
        # the sums of later levels follow from the splits, but not numbers of rows and least costs
        summed = level if level[0] == 0 or self.spec.cost or self.few_rows >= 0 else level[:0]
        tree, first_bins = arrays[:6], self.limits[2]
        return LevelRequest(self.number, self.spec, self.params, tree, summed, built, first_bins)

    def advance(self, totals: np.ndarray, hist: np.ndarray) -> None:
        """Split the nodes of the level."""
        level = self.grower.level()
        if len(totals):
            counts = totals.reshape(len(level), -1)[:, -2]
            self.sizes.update(zip(level.tolist(), counts.tolist(), strict=True))
        else:
            totals = np.zeros(len(level) * self.n_totals, dtype=np.int64)
        self.n_totals = len(totals) // len(level)
        self.grower.advance(hist, totals, self.few_rows)

    def node_groups(self) -> list[NodeGroup]:
        """Nodes that are finished from their rows, in groups with a limited number of rows."""
        if self.is_whole:
            return [NodeGroup(self.spec, self.limits, self.params, None, (0,), (None,), (0,))]
        arrays, keys = self.grower.arrays(), self.grower.keys()
        groups: list[list[int]] = []
        held = np.inf
        for node in self.grower.unfinished().tolist():
            if held + self.sizes[node] > self.few_rows:
                groups, held = [*groups, []], 0
            groups[-1].append(node)
            held += self.sizes[node]
        return [
            NodeGroup(
                self.spec,
                self.limits,
                self.params,
                arrays[:6],
                tuple(nodes),
                tuple(int(keys[node]) for node in nodes),
                tuple(int(arrays[6][node]) for node in nodes),
            )
            for nodes in groups
        ]

    def tree(self) -> Tree:
        """The tree with the nodes that were finished by themselves."""
        if self.is_whole:
            return self.subtrees[0]
        return graft(Tree(*self.grower.arrays()), self.subtrees)


def leaf_arrays() -> tuple[np.ndarray, ...]:
    """A tree that is a single leaf, as the compiled code reads it."""
    none, zero = np.full(1, -1, dtype=np.int32), np.zeros(1, dtype=np.uint8)
    return none, np.full(1, np.nan), none, none, zero, zero


ROOT = leaf_arrays()


# -- nodes finished from their rows -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NodeGroup:
    """Leaves of a tree (None for the root alone) whose subtrees are grown from their rows."""

    spec: TreeSpec
    limits: Limits
    params: dict[str, Any]
    tree: tuple[np.ndarray, ...] | None
    nodes: tuple[int, ...]
    keys: tuple[int | None, ...]
    depths: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class NodeRows:
    """Rows of some nodes."""

    view: BinnedView
    node: np.ndarray
    target: RowTarget


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Where rows come from: a target, and the nodes they belong to."""

    targets: Targets
    group: NodeGroup


def _finish(blocks: KeptBlocks | BlockStates, targets: Targets, growths: Sequence[Growth]) -> None:
    groups: list[RowGroup] = []
    tasks: list[list[NodeGroup]] = []
    owners: list[list[Growth]] = []
    whole: dict[Any, int] = {}
    for growth in growths:
        for group in growth.node_groups():
            # trees that are grown from all rows share these
            key = (group.spec.view, group.spec.target) if group.tree is None else None
            if key is None or key not in whole:
                whole[key] = len(groups)
                groups.append(RowGroup(targets, replace(group, keys=(), depths=())))
                tasks.append([])
                owners.append([])
            tasks[whole[key]].append(group)
            owners[whole[key]].append(growth)
    if not groups:
        return
    results = blocks.gather(take_node_rows, merge_node_rows, grow_nodes, groups, tasks)
    for own, task, result in zip(owners, tasks, results, strict=True):
        for growth, group, subtrees in zip(own, task, result, strict=True):
            growth.subtrees.update(zip(group.nodes, subtrees, strict=True))


def take_node_rows(block: Any, rows: RowGroup) -> NodeRows:
    """The rows of a block that belong to the nodes."""
    group = rows.group
    view = rows_of(block).views[group.spec.view]
    target = rows.targets(block, group.spec.target)
    if group.tree is None and view.present is None:
        return NodeRows(view, np.zeros(view.n_rows, dtype=np.int32), target)
    index, node = view.rows_in(ROOT if group.tree is None else group.tree, np.array(group.nodes))
    parts = (None if values is None else values[index] for values in target)
    return NodeRows(view.take(index), node, RowTarget(*parts))


def merge_node_rows(parts: Sequence[NodeRows]) -> NodeRows:
    """The rows of all blocks."""
    columns = zip(*(part.target for part in parts), strict=True)
    target = [None if column[0] is None else np.concatenate(column) for column in columns]
    view = BinnedView.concatenate([part.view for part in parts], None)
    return NodeRows(view, np.concatenate([part.node for part in parts]), RowTarget(*target))


def grow_nodes(rows: NodeRows, group: NodeGroup) -> list[Tree]:
    """The subtrees of the nodes."""
    view = BinnedView.concatenate([rows.view], group.limits)
    out = []
    for node, key, depth in zip(group.nodes, group.keys, group.depths, strict=True):
        params = {**group.params, "key": key, "depth": depth}
        mask = None if group.tree is None else rows.node == node
        target: tuple[Any, ...] = rows.target
        codes, weight, costs = target
        if costs is not None:
            out.append(view.grow_cost(costs, rows=mask, **params))
        else:
            out.append(
                view.grow(codes, weight, n_classes=group.spec.n_classes, rows=mask, **params)
            )
    return out


def graft(tree: Tree, subtrees: dict[int, Tree]) -> Tree:
    """The tree with leaves replaced by subtrees, its nodes in breadth-first order."""
    if not subtrees:
        return tree
    names = list(Tree.__dataclass_fields__)
    arrays = {name: [getattr(tree, name)] for name in names}
    moved, size = np.arange(len(tree.feature)), len(tree.feature)
    for node, subtree in subtrees.items():
        moved[node] = size
        for name in names:
            values = getattr(subtree, name)
            is_child = name in ("left", "right")
            arrays[name].append(np.where(values >= 0, values + size, -1) if is_child else values)
        size += len(subtree.feature)
    joined = {name: np.concatenate(parts) for name, parts in arrays.items()}
    left, right, feature = joined["left"], joined["right"], joined["feature"]
    order, level = [], moved[:1]
    while len(level):
        order.append(level)
        inner = level[feature[level] >= 0]
        children = np.stack([left[inner], right[inner]], axis=1).ravel()
        level = np.where(
            children < len(moved), moved[np.minimum(children, len(moved) - 1)], children
        )
    nodes = np.concatenate(order)
    number = np.full(size, -1, dtype=np.int32)
    number[nodes] = np.arange(len(nodes))
    number[: len(moved)] = number[moved]
    values = {name: joined[name][nodes] for name in names}
    for name in ("left", "right"):
        child = values[name]
        values[name] = np.where(child >= 0, number[child], -1).astype(np.int32)
    return Tree(**values)
