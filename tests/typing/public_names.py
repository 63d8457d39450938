"""Checked by mypy (``make lint``), not run: public names have their types, none of them is Any."""

from typing import assert_type

from consilience import (
    BinnedTreeClassifier,
    ConsilienceClassifier,
    MultiViewData,
    ViewTransformer,
    as_multiview,
    compare,
    fusion,
)
from consilience.comparison import ComparisonResult
from consilience.margin import SMVMEDClassifier


def check_types() -> None:
    assert_type(ConsilienceClassifier(), ConsilienceClassifier)
    assert_type(ConsilienceClassifier().fit([[1.0]], [0]), ConsilienceClassifier)
    assert_type(BinnedTreeClassifier(max_depth=2), BinnedTreeClassifier)
    assert_type(ViewTransformer("passthrough").fit_transform([[1.0]]), MultiViewData)
    assert_type(as_multiview([[1.0]]), MultiViewData)
    assert_type(fusion.LateFusionClassifier(), fusion.LateFusionClassifier)
    assert_type(SMVMEDClassifier(), SMVMEDClassifier)
    assert_type(compare([[1.0]], [0]), ComparisonResult)
