"""The rows that are tested, from whose number and weights the precision of scores follows."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from consilience.benchmark.bounds import MAX_ROWS, check_bounds
from consilience.benchmark.problems import Problem

__all__ = ["RowWeights", "sum_weights"]

MAX_WEIGHT_SUM = 1e300


class RowWeights(Struct, forbid_unknown_fields=True):
    """Rows that are tested: their number, groups, and sums of weights and squares by class."""

    rows: int = 0
    groups: int = 0  # 0 without groups
    sums: list[float] = []
    squares: list[float] = []

    @property
    def effective_rows(self) -> float:
        """Number of rows of equal weight that would be as precise: (Σw)² / Σw²."""
        return float(sum(self.sums) ** 2 / sum(self.squares))

    @property
    def effective_counts(self) -> np.ndarray:
        """The same for each class; 0 for a class without weight."""
        sums, squares = np.array(self.sums), np.array(self.squares)
        return np.divide(sums**2, squares, out=np.zeros(len(sums)), where=squares > 0)

    @property
    def independent_share(self) -> float:
        """Share of the rows that are independent of each other: one of each group."""
        return self.groups / self.rows if self.groups else 1.0

    def check(self, n_classes: int) -> None:
        """Check numbers that were read from a file."""
        check_bounds("data.tested.rows", self.rows, 0, MAX_ROWS)
        check_bounds("data.tested.groups", self.groups, 0, self.rows)
        for name, values in (("sums", self.sums), ("squares", self.squares)):
            if len(values) != (n_classes if self.rows else 0):
                raise ValueError(f"data.tested.{name} must have one number for each class")
            for value in values:
                check_bounds(f"data.tested.{name}", value, 0, MAX_WEIGHT_SUM)
        if self.rows and not (any(self.sums) and any(self.squares)):
            raise ValueError("data.tested must have a positive weight")


def sum_weights(problem: Problem, rows: np.ndarray | None = None) -> RowWeights:
    """Sum the weights of some rows, or of all."""
    rows = np.arange(len(problem.target)) if rows is None else rows
    classes, codes = np.unique(problem.target, return_inverse=True)
    weight = np.ones(len(codes)) if problem.sample_weight is None else problem.sample_weight
    if not weight[rows].any():
        raise ValueError("all rows that are tested have a weight of 0")
    weight = weight / weight.max()  # their scale does not matter, and squares must be finite
    sums, squares = (
        np.bincount(codes[rows], values[rows], minlength=len(classes)).tolist()
        for values in (weight, weight**2)
    )
    n_groups = 0 if problem.groups is None else len(set(problem.groups[rows].tolist()))
    return RowWeights(len(rows), n_groups, sums, squares)
