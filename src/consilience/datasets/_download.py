"""Downloads over HTTP with pooch, checksums, and a progress bar."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from consilience.datasets._store import DatasetError

__all__ = ["RemoteFile", "check_checksum", "download"]

TIMEOUT_SECONDS = 30  # without receiving any data
MAX_SECONDS = 4 * 3600.0  # for a whole file
GRACE_SECONDS = 60.0  # after which the average speed counts
MIN_BYTES_PER_SECOND = 2000
POLL_SECONDS = 0.1
MIRROR_ADVICE = (
    "without a network, set data_home= or CONSILIENCE_DATA to a folder that has the data set"
)


@dataclass(frozen=True)
class RemoteFile:
    """A file to download: its name, the URLs to try in turn, and its checksum if known.

    ``trust_first_use`` is for files whose checksum nobody has published and that could not be
    had: the checksum of the first download is recorded, and later downloads must have the same.
    """

    name: str
    urls: tuple[str, ...]
    known_hash: str | None = None  # "sha256:…" or "md5:…"
    max_bytes: int = 1 << 30
    trust_first_use: bool = False


class ProgressBar:
    """Progress of a download on standard error, with the interface that pooch expects."""

    def __init__(self, name: str, visible: bool | None, max_bytes: int) -> None:
        self.name, self.max_bytes = name, max_bytes
        self.visible = sys.stderr.isatty() if visible is None else bool(visible)
        self.total, self.n_received, self.last_drawn = 0, 0, 0.0

    def update(self, n_bytes: int) -> None:
        """Count received bytes; raise an error if the file is too large."""
        self.n_received += n_bytes
        if self.n_received > self.max_bytes:
            raise DatasetError(f"{self.name} is larger than it should be; the download was stopped")
        if self.visible and time.monotonic() - self.last_drawn > 0.1:
            self.last_drawn = time.monotonic()
            self.draw()

    def draw(self, end: str = "") -> None:
        """Redraw the line."""
        total = f" of {self.total / 1e6:.1f}" if self.total else ""
        received = min(self.n_received, self.total or self.n_received)
        line = f"\r{self.name}: {received / 1e6:.1f}{total} MB"
        print(line, end=end, file=sys.stderr, flush=True)

    def reset(self) -> None:
        """Start over; pooch calls this before it sets the bar to the total."""
        self.n_received = 0

    def close(self) -> None:
        """Finish the line."""
        if self.visible:
            self.draw(end="\n")


def download(remote: RemoteFile, folder: Path, progress: bool | None = None) -> tuple[Path, str]:
    """Download a file from the first URL that works; return its path and that URL."""
    try:
        import pooch
        import requests
    except ImportError as error:
        raise DatasetError(
            f"a download needs {error.name}: pip install 'consilience[data]'; {MIRROR_ADVICE}"
        ) from None
    path = folder / remote.name
    failures: list[str] = []
    responses: list[Any] = []
    for url in remote.urls:
        bar = ProgressBar(remote.name, progress, remote.max_bytes)
        fetch = pooch.HTTPDownloader(
            progressbar=bar,
            chunk_size=1 << 16,
            timeout=TIMEOUT_SECONDS,
            # the checksum is that of the file itself, without any transfer encoding
            headers={"Accept-Encoding": "identity"},
            hooks={"response": lambda response, *_, **__: responses.append(response)},
        )
        try:
            _run_with_deadline(partial(fetch, url, str(path), None), bar, responses)
            check_checksum(path, remote.known_hash)
        except requests.RequestException as error:
            failures.append(f"{url} ({_reason(error)})")
        except (ChecksumError, SlowServerError) as error:
            failures.append(f"{url} ({error})")
        except OSError:  # of the disk
            raise
        except Exception as error:  # an answer that is not HTTP, such as a bad Content-Length
            failures.append(f"{url} (invalid answer, {type(error).__name__})")
        else:
            return path, url
    raise DatasetError(
        f"{remote.name} could not be downloaded from {'; '.join(failures)}; {MIRROR_ADVICE}"
    )


class SlowServerError(DatasetError):
    """A server sends data too slowly for the download ever to end."""


def _run_with_deadline(fetch: Callable[[], None], bar: ProgressBar, responses: list[Any]) -> None:
    """Run a download in a thread, since a server that sends single bytes never times out."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            fetch()
        except BaseException as error:
            errors.append(error)
        finally:
            for response in responses:  # pooch leaves them open after an error
                response.close()

    thread = threading.Thread(target=run, daemon=True)
    start = time.monotonic()
    thread.start()
    while thread.is_alive():
        thread.join(POLL_SECONDS)
        seconds = time.monotonic() - start
        is_slow = seconds > GRACE_SECONDS and bar.n_received < seconds * MIN_BYTES_PER_SECOND
        if thread.is_alive() and (is_slow or seconds > MAX_SECONDS):
            _end_thread(responses)
            raise SlowServerError(f"too slow, {bar.n_received} bytes in {seconds:.0f} s")
    if errors:
        raise errors[0]


def _end_thread(responses: list[Any]) -> None:
    """Let the thread that reads these responses see the end of the data, if urllib3 can do so."""
    for response in responses:
        with contextlib.suppress(AttributeError, OSError, ValueError):
            response.raw.shutdown()


class ChecksumError(DatasetError):
    """A file does not have the expected checksum."""


def check_checksum(path: Path, known_hash: str | None) -> None:
    """Verify the checksum of a file; a file that differs is deleted."""
    if known_hash is None:
        return
    from pooch import file_hash

    algorithm, _, expected = known_hash.partition(":")
    actual = file_hash(str(path), alg=algorithm)
    if actual != expected:
        path.unlink()
        raise ChecksumError(
            f"wrong checksum of {path.name}: {algorithm} {actual} instead of {expected}; the file "
            "was changed by its publisher or in transit, and has been deleted"
        )


def _reason(error: Exception) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP {response.status_code}"
    kind = type(error).__name__
    if "Timeout" in kind:
        return f"no answer within {TIMEOUT_SECONDS} s"
    return "no connection" if kind == "ConnectionError" else f"interrupted, {kind}"
