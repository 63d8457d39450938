"""Files are written completely or not at all, and nothing but a regular file is replaced."""

import errno
import os
import socket
import stat

import pytest

from consilience._atomic_write import write_atomically
from consilience.fusion import LateFusionClassifier
from consilience.io import save


def save_model(path, _):
    save(LateFusionClassifier(), path)


WRITERS = [write_atomically, save_model]


def special_file(folder, kind):
    path = folder / "special"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    elif kind == "device":
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))  # /dev/full
        except PermissionError:
            pytest.skip("needs the right to create devices")
    else:
        path.mkdir()
    return path


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "directory"])
def test_only_regular_files_are_replaced(tmp_path, kind, linked, write):
    path = target = special_file(tmp_path, kind)
    if linked:
        path = tmp_path / "link"
        path.symlink_to(target)
    before = os.lstat(target)
    expected = "it is a directory" if kind == "directory" else "it is not a regular file"
    with pytest.raises(OSError, match=f"{path.name} cannot be written: {expected}"):
        write(path, b"content")
    after = os.lstat(target)
    assert (after.st_mode, after.st_ino, after.st_rdev) == (
        before.st_mode,
        before.st_ino,
        before.st_rdev,
    )
    assert len(list(tmp_path.iterdir())) == 1 + linked


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize(("umask", "mode"), [(0o000, 0o666), (0o022, 0o644)])
def test_permissions_are_those_of_any_new_file(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", "content")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(tmp_path / "file").st_mode) == mode


def test_a_link_remains_and_its_target_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    link.symlink_to(target)
    for content in (b"first", "second \u2713"):
        write_atomically(link, content)
        assert link.is_symlink()
        expected = content.encode() if isinstance(content, str) else content
        assert target.read_bytes() == expected
    assert [p.name for p in (tmp_path / "folder").iterdir()] == ["target"]


def test_an_interrupted_write_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, "before")

    def fail(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_errors_name_the_file_and_not_a_temporary_one(tmp_path, monkeypatch):
    path = tmp_path / "nowhere" / "file"
    with pytest.raises(FileNotFoundError) as missing:
        write_atomically(path, "content")
    assert missing.value.filename == str(path)

    def fail(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "file"
    write_atomically(path, "before")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left on device") as full:
        write_atomically(path, "after")
    assert full.value.filename == str(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_long_names_and_permissions(tmp_path):
    old = os.umask(0o027)
    try:
        path = tmp_path / ("x" * 255)
        write_atomically(path, b"")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(old)


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_of_another_process_is_not_replaced(tmp_path, monkeypatch, has_links):
    def fail(*_):
        raise PermissionError("no hard links")

    if not has_links:
        monkeypatch.setattr(os, "link", fail)
    path = tmp_path / "f"
    write_atomically(path, "mine", replace=False)
    with pytest.raises(FileExistsError):
        write_atomically(path, "yours", replace=False)
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]
    write_atomically(path, "yours")
    assert path.read_text() == "yours"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_full_disk_names_the_file_and_leaves_nothing(tmp_path, monkeypatch):
    original = os.open
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    opened = []

    def full(path, flags, mode=0o777):
        os.close(original(path, flags, mode))
        opened.append(path)
        return original("/dev/full", os.O_WRONLY)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(tmp_path / "report.html", "page")
    assert caught.value.filename == str(tmp_path / "report.html")
    assert len(opened) == 1
    assert list(tmp_path.iterdir()) == []
