"""Multi-view classification for scikit-learn.

Every sample is described by several views: sources, modalities, sensors, languages, tables.
"""

import importlib

from consilience.views import MultiViewData, ViewTransformer, as_multiview

__version__ = "0.1.0"

# imported at first use, so that `import consilience` stays light
_SUBPACKAGES = ("benchmark", "boosting", "datasets", "fusion", "margin", "views", "vote")

__all__ = ["MultiViewData", "ViewTransformer", "as_multiview", *_SUBPACKAGES]


def __getattr__(name):
    if name in _SUBPACKAGES:
        return importlib.import_module(f"consilience.{name}")
    raise AttributeError(f"module 'consilience' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_SUBPACKAGES])
