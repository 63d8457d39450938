"""Downloads from a server on this machine: every original format, every way to fail."""

import bz2
import contextlib
import dataclasses
import errno
import gzip
import hashlib
import http.server
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from conftest import FULL
from consilience import datasets
from consilience.datasets import DatasetError
from consilience.datasets import _ads as ads
from consilience.datasets import _breast_tcga as breast_tcga
from consilience.datasets import _course as course
from consilience.datasets import _download as downloading
from consilience.datasets import _flower17 as flower17
from consilience.datasets import _mfeat as mfeat
from consilience.datasets import _mnist as mnist
from consilience.datasets import _nutrimouse as nutrimouse
from consilience.datasets import _reuters as reuters
from consilience.datasets import _source as source_module
from consilience.datasets import _ujiindoorloc as ujiindoorloc
from consilience.datasets import _uwave as uwave
from consilience.datasets._download import RemoteFile
from consilience.datasets._source import DatasetSource, DownloadRoute, fetch, load
from consilience.datasets._store import read_arrays
from reference import originals, small_sets

MIRROR = Path(__file__).parents[3] / "shared" / "data"
# name: source, where the module keeps it, writer of the originals, loader, its settings
SETS = {
    "mnist": (mnist.SOURCE, (mnist, "SOURCE"), originals.mnist, datasets.fetch_mnist_views, {}),
    "mfeat": (mfeat.SOURCE, (mfeat, "SOURCE"), originals.mfeat, datasets.fetch_mfeat, {}),
    "uwave": (uwave.SOURCE, (uwave, "SOURCE"), originals.uwave, datasets.fetch_uwave, {}),
    "ads": (ads.SOURCE, (ads, "SOURCE"), originals.ads, datasets.fetch_ads, {}),
    "ujiindoorloc": (
        ujiindoorloc.SOURCE,
        (ujiindoorloc, "SOURCE"),
        originals.ujiindoorloc,
        datasets.fetch_ujiindoorloc,
        {},
    ),
    "reuters_full": (
        reuters.SOURCES["full"],
        (reuters.SOURCES, "full"),
        originals.reuters_full,
        datasets.fetch_reuters_multilingual,
        {},
    ),
    "reuters_sample": (
        reuters.SOURCES["1200"],
        (reuters.SOURCES, "1200"),
        originals.reuters_sample,
        datasets.fetch_reuters_multilingual,
        {"subset": 1200},
    ),
    "flower17": (
        flower17.SOURCE,
        (flower17, "SOURCE"),
        originals.flower17,
        datasets.fetch_flower17,
        {},
    ),
    "course": (
        course.SOURCE,
        (course, "SOURCE"),
        originals.course,
        datasets.fetch_course,
        {"widths": (5, 3)},
    ),
    "breast_tcga": (
        breast_tcga.SOURCE,
        (breast_tcga, "SOURCE"),
        originals.breast_tcga,
        datasets.fetch_breast_tcga,
        {},
    ),
    "nutrimouse": (
        nutrimouse.SOURCE,
        (nutrimouse, "SOURCE"),
        originals.nutrimouse,
        datasets.fetch_nutrimouse,
        {},
    ),
}
# those whose whole size is written and read again; the larger ones take half a minute
LARGE = ["course", "breast_tcga", "nutrimouse"]
LARGE += ["ads", "mnist", "mfeat", "reuters_sample", "ujiindoorloc", "uwave"] if FULL else []


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and misbehaves for some names."""

    def do_GET(self):
        name = self.path.rpartition("/")[2]
        if name == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(b"x" * 500)
        elif name == "endless":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b"x" * 65536)
        elif name in ("drip", "drip-header"):
            if name == "drip":
                self.send_response(200)
                self.send_header("Content-Length", "100000")
                self.end_headers()
            else:
                self.wfile.write(b"HTTP/1.0 200 OK\r\nX-Long: ")
            with contextlib.suppress(OSError):
                while not self.server.released.wait(0.02):
                    self.wfile.write(b"1")
                    self.wfile.flush()
        elif name.startswith("length="):
            self.send_response(200)
            self.send_header("Content-Length", name.partition("=")[2])
            self.end_headers()
            self.wfile.write(b"1 2 3")
        elif name == "no-http":
            self.wfile.write(b"\0\1\2\r\n" * 9)
        elif name == "silent":
            self.server.released.wait(10)
        else:
            super().do_GET()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder that is served; ``server.url`` is its address."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    folder = tmp_path / "served"
    folder.mkdir()

    def handler(*arguments):
        return Handler(*arguments, directory=str(folder))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        running.daemon_threads = True
        running.folder, running.released = folder, threading.Event()
        running.url = f"http://127.0.0.1:{running.server_address[1]}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join(10)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def served(source, url, small=True):
    """The source with its addresses on this machine; small sets have other sizes and values."""

    def moved(remote):
        return dataclasses.replace(remote, urls=(f"{url}/{remote.name}",), known_hash=None)

    routes = tuple(
        dataclasses.replace(route, remotes=tuple(map(moved, route.remotes)), members={})
        for route in source.routes
    )
    others = {"rows": {}, "digests": {}} if small else {}
    return dataclasses.replace(source, routes=routes, **others)


def serve_instead(name, server, monkeypatch, small=True):
    source, (owner, key), *_ = SETS[name]
    put = monkeypatch.setitem if isinstance(owner, dict) else monkeypatch.setattr
    put(owner, key, served(source, server.url, small))


def write_originals(name, files, folder):
    """``files`` maps stems to arrays; all of them are made from one set of originals."""
    if name == "reuters_full":
        arrays = {stem[-2:].upper(): stored for stem, stored in files.items()}
    else:
        (arrays,) = files.values()
    SETS[name][2](arrays, folder)


def assert_same_arrays(result, expected):
    for key, values in expected.items():
        np.testing.assert_array_equal(result[key], values, err_msg=key)
        assert result[key].dtype.kind in (values.dtype.kind, "i", "u"), key


@pytest.mark.parametrize("name", SETS)
def test_from_the_original_format_to_the_bunch(name, server, home, monkeypatch):
    files = getattr(small_sets, name)()
    write_originals(name, files, server.folder)
    serve_instead(name, server, monkeypatch)
    loader, settings = SETS[name][3:]
    bunch = loader(data_home=home, **settings)
    assert len(bunch.data) == len(bunch.target)
    assert {"data", "target", "target_names", "splits", "DESCR"} <= set(bunch)
    folder = SETS[name][0].folder
    for stem, expected in files.items():
        stored = read_arrays(home / folder / f"{stem}.npz")
        assert_same_arrays(stored, expected)
        assert all(server.url in line and "sha256:" in line for line in stored["origin"])
    assert not list(home.glob(".fetch*"))
    assert not list((home / folder).glob(".*"))
    # the second time nothing is asked of the server
    for file in server.folder.iterdir():
        file.unlink()
    again = loader(data_home=home, download_if_missing=False, **settings)
    np.testing.assert_array_equal(again.target, bunch.target)


@pytest.mark.parametrize("name", LARGE if MIRROR.is_dir() else [])
def test_real_data_come_back_from_their_original_format(name, server, home, monkeypatch):
    """The mirror's arrays, written in the published form and fetched: sizes and digests hold."""
    folder = SETS[name][0].folder
    stems = {"course": "course_raw", "reuters_sample": "reuters1200"}
    path = MIRROR / folder / f"{stems.get(name, name)}.npz"
    expected = read_arrays(path)
    if name == "reuters_sample":  # the mirror's copy has no names
        for view, language in enumerate(originals.LANGUAGES, start=1):
            for part in ("data", "indices", "indptr", "shape"):
                expected[f"{language}_{part}"] = expected.pop(f"view{view}_{part}")
        expected["target_names"] = small_sets.CLASSES
    write_originals(name, {path.stem: expected}, server.folder)
    serve_instead(name, server, monkeypatch, small=False)
    loader, settings = SETS[name][3:]
    loader(data_home=home, **settings)
    known = set(expected) - {"subject", "day", "repetition"}
    stored = read_arrays(home / folder / path.name)
    assert_same_arrays(stored, {key: expected[key] for key in known})
    if name == "course":  # our count of words is the mirror's
        counts = read_arrays(MIRROR / "course" / "course_bow.npz")
        assert_same_arrays(read_arrays(home / "course" / "course_bow.npz"), counts)


def test_openml_is_the_second_way_to_mnist(server, home, monkeypatch):
    (arrays,) = small_sets.mnist().values()
    arrays["n_train"] = np.int64(60_000)
    originals.mnist_openml(arrays, server.folder)
    serve_instead("mnist", server, monkeypatch)
    datasets.fetch_mnist_views(data_home=home)
    assert_same_arrays(read_arrays(home / "mnist" / "mnist.npz"), arrays)


def test_every_address_is_secure_and_every_file_is_checked():
    for source, *_ in SETS.values():
        for route in source.routes:
            for remote in route.remotes:
                assert all(url.startswith("https://") for url in remote.urls)
                checked = remote.known_hash or route.members or source.digests
                assert checked or remote.trust_first_use, remote.name
                assert not (remote.known_hash and remote.trust_first_use), remote.name


# -- failures ------------------------------------------------------------------------------------


def numbers_source(urls, known_hash=None, **settings):
    def convert(folder):
        values = np.loadtxt(source_module.find_file(folder, "numbers.txt"))
        yield "numbers", {"y": values}

    remote = RemoteFile("numbers.txt", tuple(urls), known_hash, max_bytes=1 << 20)
    return DatasetSource("numbers", (DownloadRoute((remote,), convert),), **settings)


def numbers(home, source, **settings):
    return load(source, "numbers", lambda arrays: arrays["y"], home, **settings)


def nothing_left(home):
    return not home.exists() or not [p for p in home.rglob("*") if p.is_file()]


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_checksum_and_mirrors(server, home):
    (server.folder / "numbers.txt").write_bytes(b"1 2 3")
    (server.folder / "changed.txt").write_bytes(b"1 2 4")
    urls = [f"{server.url}/{name}.txt" for name in ("absent", "changed", "numbers")]
    source = numbers_source(urls, sha256(b"1 2 3"))
    np.testing.assert_array_equal(numbers(home, source), [1, 2, 3])
    origin = str(read_arrays(home / "numbers" / "numbers.npz")["origin"][0])
    assert origin == f"{urls[2]} {sha256(b'1 2 3')}"


def test_wrong_checksum(server, home):
    (server.folder / "numbers.txt").write_bytes(b"1 2 4")
    with pytest.raises(DatasetError, match=r"wrong checksum of numbers\.txt") as caught:
        numbers(home, numbers_source([f"{server.url}/numbers.txt"], sha256(b"1 2 3")))
    assert hashlib.sha256(b"1 2 4").hexdigest() in str(caught.value)
    assert nothing_left(home)


def test_wrong_checksum_inside_the_archive(server, home):
    (server.folder / "numbers.txt").write_bytes(b"1 2 4")
    source = numbers_source([f"{server.url}/numbers.txt"])
    route = dataclasses.replace(source.routes[0], members={"numbers.txt": sha256(b"1 2 3")})
    with pytest.raises(DatasetError, match=r"wrong checksum of numbers\.txt"):
        numbers(home, dataclasses.replace(source, routes=(route,)))
    assert nothing_left(home)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", r"absent \(HTTP 404\)"),
        ("cut", "interrupted"),
        ("endless", "larger than it should be"),
        ("silent", "no answer within 0.3 s"),
        ("drip", "too slow, 0 bytes in"),
        ("drip-header", "too slow, 0 bytes in"),
        ("length=many", "invalid answer, ValueError"),
        ("length=100000000000", "interrupted"),
        ("no-http", "no connection"),
    ],
)
def test_servers_that_fail(name, message, server, home, monkeypatch):
    monkeypatch.setattr(downloading, "TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(downloading, "GRACE_SECONDS", 0.5)
    with pytest.raises(DatasetError, match=message):
        numbers(home, numbers_source([f"{server.url}/{name}"]))
    assert nothing_left(home)


def test_slow_servers_have_a_total_deadline(server, home, monkeypatch):
    monkeypatch.setattr(downloading, "MAX_SECONDS", 0.4)
    start = time.monotonic()
    with pytest.raises(DatasetError, match="too slow"):
        numbers(home, numbers_source([f"{server.url}/drip"]))
    assert time.monotonic() - start < 5
    assert nothing_left(home)


@pytest.mark.parametrize("length", ["", "-1", "4", "+5"])
def test_lengths_that_are_wrong(length, server, home):
    """What arrives is used, if it is what it should be, whatever the server said about it."""
    url = f"{server.url}/length={length}"
    try:
        values = numbers(home, numbers_source([url], sha256(b"1 2 3"))).tolist()
    except DatasetError:
        assert nothing_left(home)
    else:
        assert values == [1, 2, 3]


def damaged(content, rng):
    content = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        # after the first bytes, which tell the kind of an archive
        content[rng.integers(6, len(content))] ^= 1 << rng.integers(8)
    return bytes(content[: rng.integers(len(content) // 2, len(content) + 1)])


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zip", "tar.gz", "tar.bz2"])
def test_damaged_archives(kind, server, home, tmp_path):
    """One sentence about the file, none about the disk, and nothing is left in the folder."""
    text = tmp_path / "numbers.txt"
    text.write_text(" ".join(map(str, np.random.default_rng(0).random(300))))
    if kind in ("gz", "bz2", "xz"):
        packed = {"gz": gzip, "bz2": bz2, "xz": lzma}[kind].compress(text.read_bytes())
    else:
        form = {"zip": "zip", "tar.gz": "gztar", "tar.bz2": "bztar"}[kind]
        packed = Path(
            shutil.make_archive(tmp_path / "a", form, tmp_path, "numbers.txt")
        ).read_bytes()
    rng = np.random.default_rng(1)
    remote = RemoteFile(f"numbers.txt.{kind}", (f"{server.url}/packed",))
    route = dataclasses.replace(numbers_source([]).routes[0], remotes=(remote,))
    source = DatasetSource("numbers", (route,), rows={"numbers": 300})
    n_failed = 0
    for _ in range(100 if FULL else 15):
        (server.folder / "packed").write_bytes(damaged(packed, rng))
        message = ""
        try:
            numbers(home, source)
        except DatasetError as error:
            message = str(error)
        assert "cannot be stored" not in message
        assert "\n" not in message
        assert nothing_left(home) == bool(message)
        n_failed += bool(message)
        shutil.rmtree(home)
    assert n_failed


def test_first_download_is_trusted_and_later_ones_must_agree(server, home):
    (server.folder / "numbers.txt").write_bytes(b"1 2 3")
    source = numbers_source([f"{server.url}/numbers.txt"])
    remote = dataclasses.replace(source.routes[0].remotes[0], trust_first_use=True)
    source = DatasetSource("numbers", (dataclasses.replace(source.routes[0], remotes=(remote,)),))
    numbers(home, source)
    record = home / "numbers" / "first-use.sha256"
    assert record.read_text() == f"{sha256(b'1 2 3').partition(':')[2]}  numbers.txt\n"
    stored = home / "numbers" / "numbers.npz"
    stored.unlink()
    (server.folder / "numbers.txt").write_bytes(b"1 2 4")
    with pytest.raises(DatasetError, match=r"numbers\.txt differs from its first download"):
        numbers(home, source)
    assert not stored.exists()
    record.unlink()
    np.testing.assert_array_equal(numbers(home, source), [1, 2, 4])


def test_offline(home, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as closed:
        url = f"http://127.0.0.1:{closed.server_address[1]}/numbers.txt"
    with pytest.raises(DatasetError, match=r"no connection.*CONSILIENCE_DATA") as caught:
        numbers(home, numbers_source([url]))
    assert url in str(caught.value)
    assert nothing_left(home)


def test_second_route(server, home):
    (server.folder / "numbers.txt").write_bytes(b"1 2 3")
    first, second = (numbers_source([f"{server.url}/{n}.txt"]) for n in ("absent", "numbers"))
    both = dataclasses.replace(first, routes=first.routes + second.routes)
    np.testing.assert_array_equal(numbers(home, both), [1, 2, 3])
    none = dataclasses.replace(first, routes=first.routes * 2)
    with pytest.raises(DatasetError, match=r"404.* \| .*404"):
        numbers(home / "other", none)


def test_changed_by_the_publisher(server, home):
    (server.folder / "numbers.txt").write_bytes(b"one two three")
    urls = [f"{server.url}/numbers.txt"]
    with pytest.raises(DatasetError, match=r"numbers\.txt cannot be read .*may have changed"):
        numbers(home, numbers_source(urls))
    (server.folder / "numbers.txt").write_bytes(b"1 2 3")
    with pytest.raises(DatasetError, match="has 3 samples instead of 4"):
        numbers(home, numbers_source(urls, rows={"numbers": 4}))
    with pytest.raises(DatasetError, match="values of y have an unexpected checksum"):
        numbers(home, numbers_source(urls, digests={"numbers": {"y": "0" * 64}}))
    assert nothing_left(home)


def test_no_download_wanted_or_possible(home):
    with pytest.raises(DatasetError, match="does not exist, and download_if_missing is False"):
        numbers(home, numbers_source(["http://127.0.0.1:9/x"]), download_if_missing=False)
    with pytest.raises(DatasetError, match="cannot be downloaded: set data_home="):
        datasets.fetch_reuters_multilingual(subset="600", data_home=home)
    for settings in ({"kind": "descriptors"},):
        with pytest.raises(DatasetError, match="cannot be downloaded"):
            datasets.fetch_flower17(data_home=home, **settings)
    with pytest.raises(DatasetError, match="cannot be downloaded"):
        datasets.fetch_course(kind="tfidf", data_home=home)
    assert not home.exists()


def test_without_the_extra(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DatasetError, match=r"needs pooch: pip install 'consilience\[data\]'"):
        numbers(home, numbers_source(["http://127.0.0.1:9/x"]))
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    monkeypatch.delenv("CONSILIENCE_DATA", raising=False)
    with pytest.raises(DatasetError, match=r"pass data_home=.*consilience\[data\]"):
        datasets.fetch_mfeat()
    assert "digits" in datasets.available()
    assert "mfeat" not in datasets.available()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.ENOSPC, "no space left"),
        (errno.EDQUOT, "no space left"),
        (errno.EROFS, "cannot be written"),
        (errno.EACCES, "cannot be written"),
    ],
)
@pytest.mark.parametrize("where", ["fetch", "write"])
def test_folder_that_cannot_be_written(code, message, where, server, home, monkeypatch):
    def fail(*arguments, **settings):
        raise OSError(code, os.strerror(code))

    (server.folder / "numbers.txt").write_bytes(b"1 2 3")
    if where == "fetch":
        monkeypatch.setattr(tempfile, "TemporaryDirectory", fail)
    else:
        monkeypatch.setattr(np, "savez_compressed", fail)
    source = numbers_source([f"{server.url}/numbers.txt"])
    with pytest.raises(DatasetError, match=f"{message}.*data_home= or set CONSILIENCE_DATA"):
        numbers(home, dataclasses.replace(source, routes=source.routes * 2))
    assert nothing_left(home)


def test_no_space_left_for_real(server, home):
    """The system lets no file grow beyond a limit: in the download, or in the file made of it."""
    rng = np.random.default_rng(0)
    (server.folder / "numbers.txt").write_text(" ".join(map(str, rng.random(10_000))))
    script = f"""
import resource
import numpy as np
from pathlib import Path
from consilience.datasets import DatasetError
from consilience.datasets._download import RemoteFile
from consilience.datasets._source import DownloadRoute, DatasetSource, fetch

def convert(folder):
    print("converting")
    yield "numbers", {{"y": np.random.default_rng(0).random(100_000)}}

remote = RemoteFile("numbers.txt", ("{server.url}/numbers.txt",))
for limit in (2_000, 300_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        fetch(DatasetSource("numbers", (DownloadRoute((remote,), convert),)), Path({str(home)!r}))
    except DatasetError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    first, converting, second = done.stdout.splitlines()
    assert "there is no space left" in first
    assert converting == "converting"
    assert "there is no space left" in second
    assert nothing_left(home)


def test_folder_is_a_file(server, home):
    (server.folder / "numbers.txt").write_bytes(b"1 2 3")
    home.write_text("not a folder")
    with pytest.raises(DatasetError, match=r"cannot be written \("):
        numbers(home, numbers_source([f"{server.url}/numbers.txt"]))


def test_matlab_file_of_another_version(server, home, monkeypatch):
    write_originals("flower17", small_sets.flower17(), server.folder)
    serve_instead("flower17", server, monkeypatch)
    for content in (b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + bytes(400), b"", b"<html>"):
        (server.folder / "datasplits.mat").write_bytes(content)
        with pytest.raises(DatasetError, match=r"datasplits\.mat cannot be read"):
            datasets.fetch_flower17(data_home=home)
    assert nothing_left(home)


def test_interrupted(server, home):
    (server.folder / "numbers.txt").write_bytes(b"1 2 3")

    def convert(folder):
        raise KeyboardInterrupt

    remote = RemoteFile("numbers.txt", (f"{server.url}/numbers.txt",))
    with pytest.raises(KeyboardInterrupt):
        fetch(DatasetSource("numbers", (DownloadRoute((remote,), convert),)), home)
    assert nothing_left(home)
    assert list(home.iterdir()) == []


def test_many_at_once(server, home):
    (server.folder / "numbers.txt").write_bytes(b"1 2 3")
    source = numbers_source([f"{server.url}/numbers.txt"])
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: numbers(home, source), range(16)))
    assert all(values.tolist() == [1, 2, 3] for values in results)
    assert [p.name for p in home.rglob("*") if p.is_file()] == ["numbers.npz"]


def test_progress(server, home, capsys):
    (server.folder / "numbers.txt").write_bytes(b"1 " * 200_000)
    source = numbers_source([f"{server.url}/numbers.txt"])
    numbers(home, source)
    assert capsys.readouterr().err == ""
    numbers(home / "other", source, progress=True)
    format_list = capsys.readouterr().err
    assert "numbers.txt: 0.1 of 0.4 MB" in format_list
    assert format_list.endswith("0.4 of 0.4 MB\n")


def test_stories_of_all_languages_are_stacked(server, home, monkeypatch):
    files = small_sets.reuters_full()
    write_originals("reuters_full", files, server.folder)
    serve_instead("reuters_full", server, monkeypatch)
    load = datasets.fetch_reuters_multilingual
    parts = [load(source=source, data_home=home) for source in reuters.LANGUAGES]
    everything = load(source="all", data_home=home)
    assert len(everything.data) == sum(len(part.data) for part in parts)
    np.testing.assert_array_equal(everything.target, np.concatenate([p.target for p in parts]))
    for name in reuters.LANGUAGES:
        stacked = np.vstack([part.data[name].toarray() for part in parts])
        np.testing.assert_array_equal(everything.data[name].toarray(), stacked)
    arrays = [{"y": np.zeros(1), "target_names": np.array([name])} for name in ("a", "b")]
    with pytest.raises(ValueError, match="different classes"):
        reuters.stack_sources(arrays)
