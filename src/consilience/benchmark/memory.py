"""Memory of a worker: its peak during a fit, and a limit for it.

Both read and set what Linux keeps for a process; elsewhere the peak is not measured and a limit is
refused rather than ignored.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["can_limit_memory", "limited", "peak"]

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET_PEAK = "5"


def _kilobytes(field: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise OSError(f"{STATUS} has no {field}")


def _give_back() -> None:
    """Return free memory to the system, so that a new peak is not hidden in what lies idle."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextlib.contextmanager
def peak(metrics: dict[str, float]) -> Iterator[None]:
    """Note in ``peak_memory`` how many bytes the work took above what was in use before."""
    try:
        _give_back()
        CLEAR.write_text(RESET_PEAK)
        before = _kilobytes("VmRSS")
    except OSError:
        yield
        return
    yield
    metrics["peak_memory"] = max(0, _kilobytes("VmHWM") - before) * 1024.0


def can_limit_memory() -> bool:
    """Whether a memory limit can be kept here."""
    return sys.platform == "linux" and STATUS.exists()


@contextlib.contextmanager
def limited(limit: int | None) -> Iterator[None]:
    """Let the work take ``limit`` bytes more than are in use now; more is a MemoryError."""
    if limit is None:
        yield
        return
    import resource

    old = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = _kilobytes("VmData") * 1024 + limit
    hard = old[1] if old[1] != resource.RLIM_INFINITY else allowed
    resource.setrlimit(resource.RLIMIT_DATA, (min(allowed, hard), old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, old)
