"""Sparse linear classifiers with a panel of columns for each view."""

from consilience._method import Method
from consilience.sparse._block_splsda import BlockSPLSDAClassifier
from consilience.sparse._block_splsda_cv import BlockSPLSDAClassifierCV
from consilience.sparse._cooperative import CooperativeClassifier, CooperativeClassifierCV
from consilience.sparse._sparse_group import (
    SparseGroupLogisticClassifier,
    SparseGroupLogisticClassifierCV,
)
from consilience.sparse._stacked import StackedPenalisedClassifier

__all__ = [
    "BlockSPLSDAClassifier",
    "BlockSPLSDAClassifierCV",
    "CooperativeClassifier",
    "CooperativeClassifierCV",
    "SparseGroupLogisticClassifier",
    "SparseGroupLogisticClassifierCV",
    "StackedPenalisedClassifier",
]

METHODS = (
    Method(
        "DIABLO",
        "block sparse PLS-DA: components of few columns that covary with classes and views",
        "Singh et al. 2019",
        lambda random_state: BlockSPLSDAClassifierCV(),
        {"design": [0.0, 0.1, 1.0]},
    ),
    Method(
        "Cooperative",
        "elastic net on all views whose contributions agree; penalty and rho cross-validated",
        "Ding et al. 2022",
        lambda random_state: CooperativeClassifierCV(),
        {"l1_ratio": [0.5, 0.9, 1.0]},
    ),
    Method(
        "Sparse group lasso",
        "logistic regression that selects views and columns; penalties cross-validated",
        "Simon et al. 2013",
        lambda random_state: SparseGroupLogisticClassifierCV(),
        {"adaptive": [0.0, 1.0]},
    ),
    Method(
        "StaPLR",
        "ridge regressions of the views, combined by non-negative sparse weights",
        "van Loon et al. 2020",
        lambda random_state: StackedPenalisedClassifier(),
        {"l1_ratio": [0.0, 0.5, 1.0]},
    ),
)
