"""The connection to a dask scheduler, and what to say when it is gone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

__all__ = ["check_connected", "naming_lost_scheduler"]


@contextmanager
def naming_lost_scheduler(client: Any) -> Iterator[None]:
    """Say in one sentence that the scheduler is gone; other errors pass."""
    try:
        yield
    except (CancelledError, OSError, RuntimeError, ValueError) as error:
        if is_connected(client):
            raise
        raise RuntimeError(
            "the connection to the dask scheduler was lost during fit; connect a new client and "
            "fit again"
        ) from error


def check_connected(client: Any) -> None:
    """Raise an error if the scheduler does not answer."""
    if not is_connected(client):
        raise ConnectionError("the scheduler does not answer")


def is_connected(client: Any) -> bool:
    """Whether the scheduler answers."""
    if client.status != "running":
        return False
    try:
        client.nthreads()
    except Exception:  # whatever it is, there is no answer
        return False
    return True
