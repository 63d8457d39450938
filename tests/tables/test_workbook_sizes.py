"""Workbooks are measured before they are read, whatever their archive says about its members."""

import re
import struct
import zlib

import pytest

from consilience.tables import read_file
from consilience.tables._table import TableError
from tables.forged_files import npz, sheet, workbook, workbook_members

SHEET = "xl/worksheets/sheet1.xml"


def understate(archive, member, content, size, crc_size):
    """Let the headers of a member say that it has ``size`` bytes, with the checksum of some."""
    crc = struct.pack("<I", zlib.crc32(content[:crc_size]))
    forged = bytearray(archive)
    for magic, name_at, length_at, crc_at, size_at in [
        (b"PK\x03\x04", 30, 26, 14, 22),
        (b"PK\x01\x02", 46, 28, 16, 24),
    ]:
        for header in re.finditer(re.escape(magic), archive):
            start = header.start()
            (length,) = struct.unpack_from("<H", archive, start + length_at)
            if archive[start + name_at :][:length] == member.encode():
                forged[start + crc_at : start + crc_at + 4] = crc
                forged[start + size_at : start + size_at + 4] = struct.pack("<I", size)
    return bytes(forged)


@pytest.mark.parametrize("member", ["xl/sharedStrings.xml", SHEET])
@pytest.mark.parametrize(("extra", "reason"), [(0, "Bad CRC-32"), (1, "is longer than it says")])
def test_members_that_are_longer_than_they_say(tmp_path, member, extra, reason):
    members = {name: text.encode() for name, text in workbook_members().items()}
    members["xl/sharedStrings.xml"] = b"<sst><si><t>" + b"a" * 10_000 + b"</t></si></sst>"
    path = tmp_path / "book.xlsx"
    path.write_bytes(npz(members))
    assert read_file(path)["book"].n_rows == 24
    path.write_bytes(understate(npz(members), member, members[member], 60, 60 + extra))
    with pytest.raises(TableError, match=f"book.xlsx cannot be read: .*{reason}"):
        read_file(path)


@pytest.mark.parametrize("folder", ["worksheets", "elsewhere"])
def test_cells_are_counted_wherever_the_sheet_is(tmp_path, folder):
    content = sheet().replace('r="A3"', 'r="XFD1048576"')
    members = {name: text.encode() for name, text in workbook_members().items()}
    relations = "xl/_rels/workbook.xml.rels"
    members[relations] = members[relations].replace(b"worksheets/", f"{folder}/".encode())
    members[f"xl/{folder}/sheet1.xml"] = content.encode()
    path = tmp_path / "book.xlsx"
    path.write_bytes(npz(members))
    with pytest.raises(TableError, match=r"book\.xlsx needs 512 GB of memory"):
        read_file(path)
    path.write_bytes(workbook())
    assert read_file(path)["book"].n_rows == 24
