"""Multi-view data sets: bundled and synthetic."""

from consilience.datasets._digits import load_digits_views
from consilience.datasets._synthetic import make_multiview_classification

__all__ = ["load_digits_views", "make_multiview_classification"]
