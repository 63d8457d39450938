"""Mixin of estimators that can be fitted on data in blocks: a ``BlockSequence`` or dask arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from consilience.distributed._blocks import BlockTraining, comes_in_blocks, read_blocks

__all__ = ["BlockwiseFitMixin"]


class BlockwiseFitMixin:
    """Mixin for classifiers with ``_fit_blocks(training)``; must precede MultiViewClassifier.

    ``_check_blockwise_parameters`` raises an error for parameters that need all data in memory; it
    is called before the first block is read. ``_uses_groups`` says whether groups matter to the fit
    from blocks; they are not read otherwise.
    """

    _uses_groups = False

    if TYPE_CHECKING:

        def _fit_blocks(self, training: BlockTraining) -> None: ...
        def _check_blockwise_parameters(self) -> None: ...

    def _fit_input(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        if comes_in_blocks(X):
            self._check_blockwise_parameters()
            groups = groups if self._uses_groups else None
            self._fit_blocks(read_blocks(self, X, y, sample_weight, groups))
        else:
            super()._fit_input(X, y, sample_weight, groups)  # type: ignore[misc]
