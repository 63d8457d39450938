"""BlockSequence: training data that are read block by block, as often as the solver asks."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping

from consilience.views import MultiViewData
from consilience.views._storage import n_rows, take_rows

__all__ = ["BlockSequence"]


class BlockSequence:
    """Training data in blocks of rows, of which one at a time is in memory.

    ``fit`` of ``MVLSVMClassifier`` and ``SMVMEDClassifier`` takes it in the place of X and y. Every
    pass over the data reads the blocks anew, so they have to come out the same each time.

    Parameters
    ----------
    blocks : sequence, or function without arguments that returns an iterator
        Each block is (X, y) or (X, y, sample_weight), with X as ``fit`` takes it: MultiViewData,
        a dict of matrices, or one matrix where the estimator has ``views``.

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

    def __init__(self, blocks):
        reads_once = iter(blocks) is blocks if hasattr(blocks, "__iter__") else False
        if reads_once or not (callable(blocks) or hasattr(blocks, "__iter__")):
            raise TypeError(
                "BlockSequence needs a sequence of blocks, or a function that returns an iterator "
                f"over them for every pass anew; got {type(blocks).__name__}"
                + (", which can be read once only" if reads_once else "")
            )
        self.blocks = blocks

    @classmethod
    def cut(cls, X, y, sample_weight=None, *, rows=100_000):
        """Cut arrays, e.g. memory-mapped ones, into blocks of rows.

        Parameters
        ----------
        X : MultiViewData, dict of view -> matrix, or matrix
            Samples.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            Weights.
        rows : int, default=100_000
            Rows of a block.

        Returns
        -------
        BlockSequence
        """
        if not isinstance(rows, numbers.Integral) or rows < 1:
            raise ValueError(f"rows must be a whole number >= 1, got {rows!r}")
        others = [part for part in (y, sample_weight) if part is not None]

        def read():
            for start in range(0, len(y), rows):
                part = slice(start, start + rows)
                yield (_take(X, part), *(other[part] for other in others))

        n = _length(X)
        for name, other in (("y", y), ("sample_weight", sample_weight)):
            if other is not None and len(other) != n:
                raise ValueError(f"X has {n} samples, but {name} has {len(other)}")
        return cls(read)

    def open(self) -> Iterator:
        """The blocks that have rows, from the first."""
        for number, block in enumerate(self.blocks() if callable(self.blocks) else self.blocks):
            if not isinstance(block, tuple) or len(block) not in (2, 3):
                raise TypeError(
                    f"block {number} must be a tuple (X, y) or (X, y, sample_weight), got "
                    f"{type(block).__name__}"
                )
            X, y, weight = (*block, None)[:3]
            if y is None or len(y):
                yield number, X, y, weight


def _length(X):
    if isinstance(X, MultiViewData):
        return len(X)
    lengths = {n_rows(view) for view in (X.values() if isinstance(X, Mapping) else [X])}
    if len(lengths) != 1:
        raise ValueError(f"the views have different numbers of rows: {sorted(lengths)}")
    return lengths.pop()


def _take(X, part):
    if isinstance(X, MultiViewData):
        return X[part]
    if isinstance(X, Mapping):
        return {name: take_rows(view, part) for name, view in X.items()}
    return take_rows(X, part)
