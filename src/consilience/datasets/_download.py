"""Downloads: pooch over HTTP, checksums, a bar that shows how far it is."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from consilience.datasets._store import DatasetError

__all__ = ["RemoteFile", "check_checksum", "download"]

TIMEOUT = 30  # seconds without a byte
MIRROR_ADVICE = (
    "without a network, point data_home= or CONSILIENCE_DATA to a folder that has the data set"
)


@dataclass(frozen=True)
class RemoteFile:
    """A file on the network: its name, the addresses to try in turn, and its checksum if known."""

    name: str
    urls: tuple[str, ...]
    known_hash: str | None = None  # "sha256:…" or "md5:…"
    max_bytes: int = 1 << 30


class ProgressBar:
    """How much of a file has come, on standard error; what pooch expects of a progress bar."""

    def __init__(self, name, format_list, max_bytes):
        self.name, self.max_bytes = name, max_bytes
        self.format_list = sys.stderr.isatty() if format_list is None else bool(format_list)
        self.total, self.done, self.drawn = 0, 0, 0.0

    def update(self, n_bytes):
        """Count bytes; a file that does not end is cut off."""
        self.done += n_bytes
        if self.done > self.max_bytes:
            raise DatasetError(f"{self.name} is larger than it should be; the download was stopped")
        if self.format_list and time.monotonic() - self.drawn > 0.1:
            self.drawn = time.monotonic()
            self.draw()

    def draw(self, end=""):
        """Write the line anew."""
        of = f" of {self.total / 1e6:.1f}" if self.total else ""
        line = f"\r{self.name}: {min(self.done, self.total or self.done) / 1e6:.1f}{of} MB"
        print(line, end=end, file=sys.stderr, flush=True)

    def reset(self):
        """Begin anew; pooch does so before it fills the bar."""
        self.done = 0

    def close(self):
        """Leave the line."""
        if self.format_list:
            self.draw(end="\n")


def download(remote, folder, progress=None):
    """Fetch a file from the first address that has it; returns its path and that address."""
    try:
        import pooch
        import requests
    except ImportError as error:
        raise DatasetError(
            f"a download needs {error.name}: pip install 'consilience[data]'; {MIRROR_ADVICE}"
        ) from None
    path, failures, responses = folder / remote.name, [], []
    for url in remote.urls:
        fetch = pooch.HTTPDownloader(
            progressbar=ProgressBar(remote.name, progress, remote.max_bytes),
            chunk_size=1 << 16,
            timeout=TIMEOUT,
            # a server must not unpack what has a checksum
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
            for response in responses:  # pooch leaves them open when it is stopped
                response.close()
    raise DatasetError(
        f"{remote.name} could not be had from {'; '.join(failures)}; {MIRROR_ADVICE}"
    )


class ChecksumError(DatasetError):
    """A file is not the one that was expected."""


def check_checksum(path, known_hash):
    """Compare a file with its checksum; a file that differs is deleted."""
    if known_hash is None:
        return
    from pooch import file_hash

    algorithm, _, expected = known_hash.partition(":")
    result = file_hash(str(path), alg=algorithm)
    if result != expected:
        path.unlink()
        raise ChecksumError(
            f"wrong checksum of {path.name}: {algorithm} {result} instead of {expected}; it was "
            "changed by its publisher or on the way, and was not kept"
        )


def _reason(error):
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP {response.status_code}"
    kind = type(error).__name__
    if "Timeout" in kind:
        return f"no answer within {TIMEOUT} s"
    return "no connection" if kind == "ConnectionError" else f"broken off, {kind}"
