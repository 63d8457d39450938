"""How multi-view data come in: the container, column groups, conversions, the per-view step."""

from consilience.views._convert import as_multiview
from consilience.views._data import MultiViewData
from consilience.views._transform import ViewTransformer

__all__ = ["MultiViewData", "ViewTransformer", "as_multiview"]
