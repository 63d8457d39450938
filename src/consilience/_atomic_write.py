"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replaced_atomically", "write_atomically"]

_BINARY = getattr(os, "O_BINARY", 0)  # Windows


def write_atomically(
    path: str | os.PathLike, content: bytes | str, *, replace: bool = True
) -> None:
    """Write a file completely or not at all; text is encoded as UTF-8.

    A symbolic link is followed, and the file that it points at is replaced. OSError if the path is
    a device, a pipe, a socket or a directory: only a regular file is ever replaced. Without
    ``replace`` FileExistsError if there is a file, also one of another process at the same time.
    """
    with _errors_name(path):
        _write(path, content, replace)


@contextmanager
def _errors_name(path: str | os.PathLike) -> Iterator[None]:
    """Let errors of the system name the file that is wanted, and not one that is temporary."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _write(path: str | os.PathLike, content: bytes | str, replace: bool) -> None:
    target = Path(os.path.realpath(path))
    _check_replaceable(target, path)
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    with _named_in_errors(path):
        # created, not opened: nobody else's file or link can be in the way
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
        try:
            with open(handle, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            _check_replaceable(target, path)
            if replace:
                os.replace(temporary, target)
            else:
                _move_to_new(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def _named_in_errors(path: str | os.PathLike) -> Iterator[None]:
    """Let errors of the system name the file that was to be written, not the temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            error.filename, error.filename2 = os.fspath(path), None
        raise


@contextmanager
def replaced_atomically(path: str | os.PathLike) -> Iterator[Path]:
    """Path to write a file to; it takes the place of ``path`` at the end, or is removed on errors.

    What ``path`` must be is the same as in ``write_atomically``.
    """
    target = Path(os.path.realpath(path))
    _check_replaceable(target, path)
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        _check_replaceable(target, path)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _move_to_new(temporary: Path, target: Path) -> None:
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if target.exists():
            raise FileExistsError(f"{target} exists") from None
        os.replace(temporary, target)
    else:
        temporary.unlink()


def _check_replaceable(target: Path, path: str | os.PathLike) -> None:
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{os.fspath(path)} cannot be written: it is a directory")
    if not stat.S_ISREG(mode):
        raise OSError(f"{os.fspath(path)} cannot be written: it is not a regular file")
