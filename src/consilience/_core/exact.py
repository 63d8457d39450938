"""Exact sums of floats: the same for any order and any partition of the values.

A sum is a Python integer in units of 2^−1074, so sums of blocks add up without rounding;
``as_float`` rounds once, in the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from consilience._core import _core

__all__ = [
    "add_sums",
    "as_float",
    "cost_sum",
    "exact_sums",
    "exact_total",
    "read_limbs",
    "weight_exponent",
]

UNIT_EXPONENT = -1074
TOTAL_BITS = 50  # of the integers that trees sum


def exact_sums(
    values: np.ndarray, groups: np.ndarray | None = None, n_groups: int = 1
) -> list[int]:
    """Sum of the values of each group; values whose group is negative are left out."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    if groups is not None:
        groups = np.ascontiguousarray(groups, dtype=np.int32)
    return read_limbs(_core.exact_sums(values, groups, n_groups))


def read_limbs(limbs: np.ndarray) -> list[int]:
    """Sums from limbs of 32 bits, one sum a row."""
    return [int.from_bytes(row.tobytes(), "little", signed=True) for row in limbs.astype("<u4")]


def exact_total(values: np.ndarray) -> float:
    """Sum of the values, rounded once."""
    return as_float(exact_sums(values)[0])


def cost_sum(costs: np.ndarray, rows: np.ndarray | None) -> int:
    """Exact sum over the rows of the largest difference from the cost of class 0."""
    return read_limbs(_core.cost_total(np.ascontiguousarray(costs, dtype=np.float64), rows))[0]


def add_sums(parts: Iterable[list[int]]) -> list[int]:
    """Sums of several blocks of values."""
    return [sum(sums) for sums in zip(*parts, strict=True)]


def as_float(total: int) -> float:
    """The nearest float."""
    sign, size = (-1, -total) if total < 0 else (1, total)
    shift = max(0, size.bit_length() - 64)
    top = size >> shift
    # what is cut off only matters if it decides a tie
    top |= size != top << shift
    return sign * math.ldexp(float(top), shift + UNIT_EXPONENT)


def weight_exponent(total: int) -> int:
    """Power of two that turns weights with this sum into the integers that trees sum."""
    return TOTAL_BITS - (total.bit_length() + UNIT_EXPONENT) if total > 0 else 0
