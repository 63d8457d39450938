"""Multi-view classification for scikit-learn.

Every sample is described by several views: sources, modalities, sensors, languages, tables.
"""

import importlib

from consilience.views import MultiViewData, ViewTransformer, as_multiview

__version__ = "0.1.0"

# imported at first use, so that `import consilience` stays light
_SUBPACKAGES = (
    "benchmark",
    "boosting",
    "datasets",
    "distributed",
    "fusion",
    "inspection",
    "io",
    "kernel",
    "landmark",
    "margin",
    "tables",
    "views",
    "vote",
)

_CLASSES = {
    "BinnedTreeClassifier": "consilience._binned_tree",
    "ConsilienceClassifier": "consilience._default",
}

__all__ = ["MultiViewData", "ViewTransformer", "as_multiview", *_CLASSES, *_SUBPACKAGES]


def __getattr__(name):
    if name in _SUBPACKAGES:
        return importlib.import_module(f"consilience.{name}")
    if name in _CLASSES:
        return getattr(importlib.import_module(_CLASSES[name]), name)
    raise AttributeError(f"module 'consilience' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_CLASSES, *_SUBPACKAGES])
