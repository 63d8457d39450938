"""Multi-view input: the container, conversion from other formats, per-view transformers."""

from consilience.views._convert import as_multiview
from consilience.views._data import MultiViewData
from consilience.views._preparation import ViewPreparer
from consilience.views._transform import ViewTransformer, flatten

__all__ = ["MultiViewData", "ViewPreparer", "ViewTransformer", "as_multiview", "flatten"]
