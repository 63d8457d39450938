"""Training data in blocks of rows: streams larger than memory, and dask arrays on a cluster."""

from consilience.distributed._sequence import BlockSequence

__all__ = ["BlockSequence"]
