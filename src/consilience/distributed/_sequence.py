"""BlockSequence: training data that is read block by block in every pass of a solver."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from typing import Any

from consilience.views import MultiViewData
from consilience.views._storage import n_rows, take_rows

__all__ = ["BlockSequence"]


class BlockSequence:
    """Training data in blocks of rows, only one of which is in memory at a time.

    Pass it to ``fit`` of ``ConsilienceClassifier``, ``MVLSVMClassifier``, ``SMVMEDClassifier``,
    ``MwMvC2Classifier``, ``BinnedTreeClassifier`` or a boosting or fusion classifier in place of X
    and y. Every pass over the data reads the blocks again, so they must be the same each time.
    They are validated in the first pass.

    Parameters
    ----------
    blocks : sequence, or function without arguments that returns an iterator
        Each block is (X, y) or (X, y, sample_weight), with X in any format that ``fit`` accepts:
        MultiViewData, a dict of matrices, or a single matrix for an estimator with ``views``.

    Examples
    --------
    >>> import numpy as np
    >>> from consilience.distributed import BlockSequence
    >>> from consilience.margin import SMVMEDClassifier
    >>> def read():
    ...     for seed in range(20):
    ...         rng = np.random.RandomState(seed)
    ...         y = rng.randint(2, size=100)
    ...         yield {"a": rng.randn(100, 3) + y[:, None], "b": rng.randn(100, 2)}, y
    >>> model = SMVMEDClassifier().fit(BlockSequence(read))
    >>> sorted(model.coef_)
    ['a', 'b']
    """

    def __init__(self, blocks: Any) -> None:
        reads_once = iter(blocks) is blocks if hasattr(blocks, "__iter__") else False
        if reads_once or not (callable(blocks) or hasattr(blocks, "__iter__")):
            raise TypeError(
                "BlockSequence requires a sequence of blocks, or a function that returns a new "
                f"iterator over them for every pass; got {type(blocks).__name__}"
                + (", which can only be read once" if reads_once else "")
            )
        self.blocks = blocks

    @classmethod
    def cut(
        cls, X: Any, y: Any, sample_weight: Any = None, *, rows: int = 100_000
    ) -> BlockSequence:
        """Split arrays, e.g. memory-mapped ones, into blocks of rows.

        Parameters
        ----------
        X : MultiViewData, dict of view -> matrix, or matrix
            Samples.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            Weights.
        rows : int, default=100_000
            Number of rows per block.

        Returns
        -------
        BlockSequence
        """
        if not isinstance(rows, numbers.Integral) or rows < 1:
            raise ValueError(f"rows must be an integer >= 1, got {rows!r}")
        others = [part for part in (y, sample_weight) if part is not None]

        def read() -> Iterator[tuple]:
            for start in range(0, len(y), rows):
                part = slice(start, start + rows)
                yield (_take(X, part), *(getattr(other, "iloc", other)[part] for other in others))

        n = _length(X)
        for name, other in (("y", y), ("sample_weight", sample_weight)):
            if other is not None and len(other) != n:
                raise ValueError(f"X has {n} samples, but {name} has {len(other)}")
        return cls(read)

    def open(self) -> Iterator[tuple[int, Any, Any, Any]]:
        """Iterate over the blocks that have rows, as (number, X, y, sample_weight)."""
        for number, block in enumerate(self.blocks() if callable(self.blocks) else self.blocks):
            if not isinstance(block, tuple) or len(block) not in (2, 3):
                raise TypeError(
                    f"block {number} must be a tuple (X, y) or (X, y, sample_weight), got "
                    f"{type(block).__name__}"
                )
            X, y, weight = (*block, None)[:3]
            if y is None or len(y) or _has_rows(X):
                yield number, X, y, weight


def _has_rows(X: Any) -> bool:
    """Whether a block without labels has rows; these would be lost."""
    views = X.values() if isinstance(X, Mapping) else X if isinstance(X, (list, tuple)) else [X]
    return any(len(view) if not hasattr(view, "shape") else view.shape[0] for view in views)


def _length(X: Any) -> int:
    if isinstance(X, MultiViewData):
        return len(X)
    lengths = {n_rows(view) for view in (X.values() if isinstance(X, Mapping) else [X])}
    if len(lengths) != 1:
        raise ValueError(f"the views have different numbers of rows: {sorted(lengths)}")
    return lengths.pop()


def _take(X: Any, part: slice) -> Any:
    if isinstance(X, MultiViewData):
        return X[part]
    if isinstance(X, Mapping):
        return {name: take_rows(view, part) for name, view in X.items()}
    return take_rows(X, part)
