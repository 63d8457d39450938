"""Compiled kernels. Arrays are C-contiguous and never copied; inputs may be read-only."""

from typing import TypeVar

from numpy import float32, float64
from numpy.typing import NDArray

T = TypeVar("T", float32, float64)

def rbf_epilogue(
    products: NDArray[T], x_norms: NDArray[T], z_norms: NDArray[T], gamma: float
) -> None:
    """products[i, j] <- exp(-gamma * max(0, x_norms[i] + z_norms[j] - 2 * products[i, j]))."""
