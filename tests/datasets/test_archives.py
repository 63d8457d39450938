"""Archives made to do harm: nothing is ever written outside the folder, and nothing floods it."""

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile

import pytest

from consilience.datasets import DatasetError
from consilience.datasets._archives import UnpackLimit, find_file, unpack

MEGABYTE = 1 << 20
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def tar_of(*members):
    """A tar archive; a member is a name with content, or a TarInfo."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for member, content in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            if info.isreg():
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def pax_tar(name):
    """The name in an extended header, which is read after the harmless one."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("harmless")
        info.pax_headers = {"path": name}
        archive.addfile(info)
    return buffer.getvalue()


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_of(*members):
    """A zip archive; a member is a name or a ZipInfo, with content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members:
            archive.writestr(member, content)
    return buffer.getvalue()


def zip_special(name, mode, content="/etc/passwd"):
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info, content


def encrypted_zip():
    content = bytearray(zip_of(("secret", b"text")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.index(signature) + offset
        struct.pack_into("<H", content, at, 1)
    return bytes(content)


def lying_zip():
    """A member that is longer than its header says."""
    content = bytearray(zip_of(("long", b"a" * 1000)))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", content, content.index(signature) + offset, 10)
    return bytes(content)


def sparse_tar():
    """A member that says it holds a terabyte of zeros."""
    info = special("hole", tarfile.GNUTYPE_SPARSE)
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"\x80" + (1 << 40).to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + b"\0" * 1024


def long_name_tar():
    """A header that wants 100 megabytes of memory for the name of a file."""
    info = special("././@LongLink", tarfile.GNUTYPE_LONGNAME)
    info.size = 100 * MEGABYTE
    return info.tobuf(tarfile.GNU_FORMAT) + b"a" * info.size


def nested(levels):
    content = zip_of(("zeros", bytes(30 * MEGABYTE)))
    for level in range(levels):
        content = zip_of((f"inner{level}.zip", content))
    return content


HOSTILE = {
    # names that lead elsewhere
    "tar parent": (tar_of(("../out", b"x")), "is called '../out'"),
    "tar parent inside": (tar_of(("a/../../out", b"x")), "is called"),
    "tar extended header": (pax_tar("../out"), "is called '../out'"),
    "tar extended header, absolute": (pax_tar("/out"), "is called '/out'"),
    "tar absolute": (tar_of(("/tmp/consilience-out", b"x")), "is called"),
    "tar backslash": (tar_of(("..\\out", b"x")), "is called"),
    "tar drive": (tar_of(("C:out", b"x")), "is called"),
    "tar newline": (tar_of(("a\nb", b"x")), "is called"),
    "tar parent folder": (tar_of((special("../out", tarfile.DIRTYPE), b"")), "is called"),
    "tar long name": (tar_of(("a/" * 600 + "b", b"x")), "is called"),
    "tar long part": (tar_of(("é" * 100, b"x")), "is called"),
    "zip parent": (zip_of(("../out", b"x")), "is called '../out'"),
    "zip parent inside": (zip_of(("a/../../out", b"x")), "is called"),
    "zip absolute": (zip_of(("/tmp/consilience-out", b"x")), "is called"),
    "zip backslash": (zip_of(("..\\out", b"x")), "is called"),
    "zip drive": (zip_of(("C:/out", b"x")), "is called"),
    "zip parent folder": (zip_of(("../out/", b"")), "is called"),
    "zip dots only": (zip_of(("./.", b"x")), "is called"),
    # what is not a file
    "tar symbolic link": (tar_of((special("out", tarfile.SYMTYPE, "/etc"), b"")), "not a regular"),
    "tar link to parent": (tar_of((special("out", tarfile.SYMTYPE, ".."), b"")), "not a regular"),
    "tar link then file": (
        tar_of((special("d", tarfile.SYMTYPE, "/tmp"), b""), ("d/consilience-out", b"x")),
        "not a regular",
    ),
    "tar hard link": (tar_of((special("p", tarfile.LNKTYPE, "/etc/passwd"), b"")), "not a regular"),
    "tar device": (tar_of((special("null", tarfile.CHRTYPE), b"")), "not a regular"),
    "tar disk": (tar_of((special("disk", tarfile.BLKTYPE), b"")), "not a regular"),
    "tar pipe": (tar_of((special("pipe", tarfile.FIFOTYPE), b"")), "not a regular"),
    "tar hole": (sparse_tar(), "not a regular"),
    "zip symbolic link": (zip_of(zip_special("out", stat.S_IFLNK | 0o777)), "not a regular"),
    "zip device": (zip_of(zip_special("null", stat.S_IFCHR | 0o666)), "not a regular"),
    "zip pipe": (zip_of(zip_special("pipe", stat.S_IFIFO | 0o666)), "not a regular"),
    "zip folder link": (zip_of(zip_special("out/", stat.S_IFLNK | 0o777)), "not a regular"),
    # one name twice
    "tar twice": (tar_of(("a", b"x"), ("a", b"y")), "two members"),
    "tar file then folder": (tar_of(("a", b"x"), ("a/b", b"y")), "two members"),
    "tar folder then file": (
        tar_of((special("a", tarfile.DIRTYPE), b""), ("./a", b"y")),
        "two members",
    ),
    "zip file then folder": (zip_of(("a", b"x"), ("a/b", b"y")), "two members"),
    "place of an inner archive": (
        zip_of(("a.zip", zip_of(("x", b"x"))), ("a.zip.unpacked", b"y")),
        "two members",
    ),
    # too much
    "zip bomb": (lambda: zip_of(("zeros", bytes(40 * MEGABYTE))), "far more"),
    "tar bomb": (lambda: gzip.compress(tar_of(("zeros", bytes(40 * MEGABYTE)))), "far more"),
    "bz2 bomb": (lambda: bz2.compress(tar_of(("zeros", bytes(40 * MEGABYTE)))), "far more"),
    "xz bomb": (lambda: lzma.compress(tar_of(("zeros", bytes(40 * MEGABYTE)))), "far more"),
    "gz bomb": (lambda: gzip.compress(bytes(40 * MEGABYTE)), "far more"),
    "tar name bomb": (lambda: gzip.compress(long_name_tar()), "far more"),
    "bomb in a zip": (lambda: nested(1), "far more"),
    "bomb in a zip in a zip": (lambda: nested(2), "far more"),
    "many tars in a zip": (lambda: zip_of(*(
        (f"{i}.tar.gz", gzip.compress(tar_of(("zeros", bytes(10 * MEGABYTE))))) for i in range(4)
    )), "far more"),
    # broken
    "encrypted": (encrypted_zip(), "not a readable archive"),
    "longer than it says": (lying_zip(), "not a readable archive"),
    "half a zip": (zip_of(("a", bytes(5000)))[:60], "not a readable archive"),
    "half a gz": (gzip.compress(bytes(range(256)) * 100)[:90], "not a readable archive"),
    "half a tar.xz": (lzma.compress(tar_of(("a", b"x" * 5000)))[:-20], "not a readable archive"),
    "checksum": (gzip.compress(b"text")[:-6] + b"\0" * 6, "not a readable archive"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_raise(name, tmp_path):
    content, message = HOSTILE[name]
    packed = tmp_path / "inside" / "archive"
    packed.parent.mkdir()
    packed.write_bytes(content() if callable(content) else content)
    with pytest.raises(DatasetError, match=message):
        unpack(packed, tmp_path / "inside" / "folder")
    # only the folder may have been written to, and only with plain files
    assert {p.name for p in tmp_path.iterdir()} == {"inside"}
    assert {p.name for p in packed.parent.iterdir()} <= {"archive", "folder"}
    written = list((tmp_path / "inside" / "folder").rglob("*"))
    assert all(p.is_dir() or p.is_file() for p in written)
    assert not any(p.is_symlink() for p in written)
    assert sum(p.stat().st_size for p in written if p.is_file()) < 25 * MEGABYTE
    assert not any(p.exists() for p in map(type(tmp_path), ["/tmp/consilience-out", "/out"]))


@pytest.mark.parametrize("suffix", PACK)
def test_tar(suffix, tmp_path):
    packed = tmp_path / f"data.tar{suffix}"
    members = [("./", b""), ("./d/", b""), ("./d/a.txt", b"one"), ("d/http:^^b?%", b"two")]
    packed.write_bytes(PACK[suffix](tar_of(*_with_folders(members))))
    unpack(packed, tmp_path / "folder")
    assert (tmp_path / "folder" / "d" / "a.txt").read_bytes() == b"one"
    assert find_file(tmp_path / "folder", "http:^^b?%").read_bytes() == b"two"
    assert find_file(tmp_path / "folder", "http:^^b?%").name == "http%3A^^b%3F%25"


def _with_folders(members):
    for name, content in members:
        yield (special(name, tarfile.DIRTYPE) if name.endswith("/") else name), content


def test_zip_with_an_archive_inside(tmp_path):
    packed = tmp_path / "data.zip"
    inner = bz2.compress(tar_of(("EN/Index", b"words")))
    packed.write_bytes(zip_of(("inner.tar.bz2", inner), ("d/", b""), ("d/read me", b"text")))
    unpack(packed, tmp_path / "folder")
    assert find_file(tmp_path / "folder", "Index").read_bytes() == b"words"
    assert find_file(tmp_path / "folder", "read me").read_bytes() == b"text"
    with pytest.raises(DatasetError, match="no file absent in the download"):
        find_file(tmp_path / "folder", "absent")


@pytest.mark.parametrize("suffix", PACK)
def test_single_file(suffix, tmp_path):
    packed = tmp_path / f"numbers.txt{suffix}"
    packed.write_bytes(PACK[suffix](b"1 2 3"))
    unpack(packed, tmp_path / "folder")
    assert (tmp_path / "folder" / "numbers.txt").read_bytes() == b"1 2 3"


def test_zips_nested_without_end_stop(tmp_path):
    packed = tmp_path / "a.zip"
    content = b"end"
    for level in range(6):
        content = zip_of((f"inner{level}.zip", content))
    packed.write_bytes(content)
    unpack(packed, tmp_path / "folder")
    assert len([p for p in (tmp_path / "folder").rglob("*") if p.is_file()]) == 3


def test_least_deep_file_is_found(tmp_path):
    packed = tmp_path / "mfeat.zip"
    packed.write_bytes(zip_of(("mfeat.tar", tar_of(("mfeat-fou", b"b"))), ("mfeat-fou", b"a")))
    unpack(packed, tmp_path / "folder")
    assert find_file(tmp_path / "folder", "mfeat-fou").read_bytes() == b"a"


def test_number_of_members_is_limited(tmp_path):
    packed = tmp_path / "many.tar"
    packed.write_bytes(tar_of(*((f"f{i}", b"") for i in range(20))))
    with pytest.raises(DatasetError, match="too many members"):
        unpack(packed, tmp_path / "folder", UnpackLimit(files=10))
    assert len(list((tmp_path / "folder").iterdir())) == 10


def test_limit_grows_with_the_archive(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(bytes(1000))
    assert UnpackLimit.for_archive(path).size == 16 * MEGABYTE + 200 * 1000
    assert UnpackLimit.for_archive(path, ratio=3, floor=5).size == 3005
    assert UnpackLimit.for_archive(path, ratio=1 << 30).size == UnpackLimit().size
