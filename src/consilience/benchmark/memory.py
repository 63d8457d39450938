"""Memory of a worker process: its peak during a fit, and a limit on it.

Both rely on the process accounting of Linux. On other systems the peak is not measured, and asking
for a limit is an error rather than silently ignored.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["can_limit_memory", "limit_memory", "measure_peak"]

STATUS_FILE, CLEAR_REFS_FILE = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET_PEAK = "5"


def _read_status_kib(field: str) -> int:
    for line in STATUS_FILE.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise OSError(f"{STATUS_FILE} has no {field}")


def _release_free_memory() -> None:
    """Return free memory to the system, which would otherwise hide part of the next peak."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextlib.contextmanager
def measure_peak(metrics: dict[str, float]) -> Iterator[None]:
    """Store in ``peak_memory`` how many bytes the block used beyond those in use before it."""
    try:
        _release_free_memory()
        CLEAR_REFS_FILE.write_text(RESET_PEAK)
        before = _read_status_kib("VmRSS")
    except OSError:
        yield
        return
    yield
    metrics["peak_memory"] = max(0, _read_status_kib("VmHWM") - before) * 1024.0


def can_limit_memory() -> bool:
    """Whether this system can enforce a memory limit."""
    return sys.platform == "linux" and STATUS_FILE.exists()


@contextlib.contextmanager
def limit_memory(n_bytes: int | None) -> Iterator[None]:
    """Raise MemoryError in the block once it uses ``n_bytes`` more than are in use now."""
    if n_bytes is None:
        yield
        return
    import resource

    old = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = _read_status_kib("VmData") * 1024 + n_bytes
    hard = old[1] if old[1] != resource.RLIM_INFINITY else allowed
    resource.setrlimit(resource.RLIMIT_DATA, (min(allowed, hard), old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, old)
