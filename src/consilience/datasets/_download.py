"""Downloads over HTTP with pooch, checksums, and a progress bar."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consilience.datasets._store import DatasetError

__all__ = ["RemoteFile", "check_checksum", "download"]

TIMEOUT_SECONDS = 30  # without receiving any data
MIRROR_ADVICE = (
    "without a network, set data_home= or CONSILIENCE_DATA to a folder that has the data set"
)


@dataclass(frozen=True)
class RemoteFile:
    """A file to download: its name, the URLs to try in turn, and its checksum if known."""

    name: str
    urls: tuple[str, ...]
    known_hash: str | None = None  # "sha256:…" or "md5:…"
    max_bytes: int = 1 << 30


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
        fetch = pooch.HTTPDownloader(
            progressbar=ProgressBar(remote.name, progress, remote.max_bytes),
            chunk_size=1 << 16,
            timeout=TIMEOUT_SECONDS,
            # the checksum is that of the file itself, without any transfer encoding
            headers={"Accept-Encoding": "identity"},
            hooks={"response": lambda response, *_, **__: responses.append(response)},
        )
        try:
            fetch(url, str(path), None)
            check_checksum(path, remote.known_hash)
        except requests.RequestException as error:
            failures.append(f"{url} ({_reason(error)})")
        except ChecksumError as error:
            failures.append(f"{url} ({error})")
        else:
            return path, url
        finally:
            for response in responses:  # pooch leaves them open after an error
                response.close()
    raise DatasetError(
        f"{remote.name} could not be downloaded from {'; '.join(failures)}; {MIRROR_ADVICE}"
    )


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
