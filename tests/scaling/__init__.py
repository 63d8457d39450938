"""Tests of ``consilience.distributed``; a folder of that name would hide the package of dask."""
