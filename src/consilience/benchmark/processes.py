"""Identity of processes, to tell whether the one that claimed a task is still running.

Process ids are reused, and whatever a module computes when it is imported is shared by all forks.
On Linux a process is therefore identified by its id and start time, which others can look up; on
other systems, where only the process itself knows its identity, by a random number.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from uuid import NAMESPACE_OID, uuid4, uuid5

__all__ = ["is_alive", "own_uuid"]

PROC = Path("/proc")
BOOT_ID_FILE = PROC / "sys" / "kernel" / "random" / "boot_id"
ENDED_STATES = ("Z", "X")  # of a process that has ended, but which its parent has not noticed
STALE_SECONDS = 60.0  # a process without a heartbeat for this long is considered dead
_random_uuids: dict[int, str] = {}  # by process id
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random_uuids.clear)


def own_uuid() -> str:
    """Identity of this process, different from that of the process it was forked from."""
    pid = os.getpid()
    return _lookup_uuid(pid) or _random_uuids.setdefault(pid, uuid4().hex)


def _lookup_uuid(pid: int) -> str | None:
    """Identity of the process that has this id now; empty if it has ended, None if unknown."""
    try:
        # the name of the program, in brackets, may contain anything
        fields = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        boot_id = BOOT_ID_FILE.read_text().strip()
        state, start_time = fields[0], fields[19]
    except (OSError, IndexError):
        return None
    return (
        "" if state in ENDED_STATES else uuid5(NAMESPACE_OID, f"{boot_id} {start_time} {pid}").hex
    )


def is_alive(host: str, pid: int, process_uuid: str, heartbeat: float) -> bool:
    """Whether a process is still running, as far as this one can tell."""
    if process_uuid == own_uuid():
        return True
    if time.time() - heartbeat > STALE_SECONDS:
        return False
    if host != socket.gethostname() or not hasattr(os, "killpg"):
        return True  # on another machine, or on a system where signal 0 would kill the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return pid != os.getpid() and _lookup_uuid(pid) in (process_uuid, None)
