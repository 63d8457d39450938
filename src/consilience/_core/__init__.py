"""Compiled kernels behind one nanobind module: loops only, plain arrays in and out."""

from consilience._core._core import (
    MarginRows,
    MarginWay,
    StopFlag,
    combined_rbf,
    gaussian_rows,
    local_patterns,
    pack_panels,
    rbf_epilogue,
    smo_joint,
    smo_pair,
    solve_penalised,
    sparse_gram,
)

__all__ = [
    "MarginRows",
    "MarginWay",
    "StopFlag",
    "combined_rbf",
    "gaussian_rows",
    "local_patterns",
    "pack_panels",
    "rbf_epilogue",
    "smo_joint",
    "smo_pair",
    "solve_penalised",
    "sparse_gram",
]
