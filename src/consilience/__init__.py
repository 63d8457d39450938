"""Multi-view classification for scikit-learn.

Every sample is described by several views: sources, modalities, sensors, languages, tables.
"""

import importlib
from typing import TYPE_CHECKING, Any

from consilience.views import MultiViewData, ViewTransformer, as_multiview

if TYPE_CHECKING:  # at run time they are imported at first use, so `import consilience` stays light
    from consilience import (
        benchmark,
        boosting,
        comparison,
        datasets,
        distributed,
        fusion,
        inspection,
        io,
        kernel,
        landmark,
        margin,
        methods,
        sparse,
        tables,
        trust,
        views,
        vote,
    )
    from consilience._binned_tree import BinnedTreeClassifier
    from consilience._default import ConsilienceClassifier
    from consilience.comparison import compare

__version__ = "0.1.0"

__all__ = [
    "BinnedTreeClassifier",
    "ConsilienceClassifier",
    "MultiViewData",
    "ViewTransformer",
    "as_multiview",
    "benchmark",
    "boosting",
    "compare",
    "comparison",
    "datasets",
    "distributed",
    "fusion",
    "inspection",
    "io",
    "kernel",
    "landmark",
    "margin",
    "methods",
    "sparse",
    "tables",
    "trust",
    "views",
    "vote",
]

_LAZY = {
    "BinnedTreeClassifier": "consilience._binned_tree",
    "ConsilienceClassifier": "consilience._default",
    "compare": "consilience.comparison",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name in __all__:
        return importlib.import_module(f"consilience.{name}")
    raise AttributeError(f"module 'consilience' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
