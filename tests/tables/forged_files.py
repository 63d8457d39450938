"""Forged data files: random bytes changed, and precise edits of headers, arrays and sizes."""

import bz2
import gzip
import io
import itertools
import struct
import tempfile
import zipfile
from pathlib import Path

import anndata
import h5py
import mudata
import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from pyarrow import parquet

from common.omics import settled_mudata

N_ROWS, N_COLUMNS = 24, 6
LABELS = np.arange(N_ROWS) % 2


def _values(seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(N_ROWS, N_COLUMNS)) + LABELS[:, None]
    return values * (rng.random(values.shape) < 0.6)


# -- honest files ----------------------------------------------------------------------------------


def npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(array), allow_pickle=False)
    return buffer.getvalue()


def npz(members, compression=zipfile.ZIP_DEFLATED):
    """A zip of arrays, or of bytes as they are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content if isinstance(content, bytes) else npy(content))
    return buffer.getvalue()


def dense_arrays():
    return {"a.npy": _values(), "b.npy": _values(1).astype(np.float32), "y.npy": LABELS}


def sparse_arrays(storage="csr"):
    buffer = io.BytesIO()
    sp.save_npz(buffer, sp.csr_array(_values()).asformat(storage))
    with np.load(io.BytesIO(buffer.getvalue())) as file:
        return {f"{name}.npy": file[name] for name in file.files}


def svmlight():
    rows = sp.csr_array(_values())
    lines = []
    for i, label in enumerate(LABELS):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        cells = zip(rows.indices[part] + 1, rows.data[part], strict=True)
        lines.append(" ".join([str(label), *(f"{j}:{x:.6g}" for j, x in cells)]))
    return "\n".join(lines).encode() + b"\n"


def table():
    values = _values()
    columns = {f"x{j}": values[:, j] for j in range(N_COLUMNS)}
    site = pa.array(["north", "south"] * (N_ROWS // 2)).dictionary_encode()
    return pa.table({**columns, "count": np.arange(N_ROWS) % 5, "site": site, "y": LABELS})


def csv():
    lines = [",".join(table().column_names)]
    lines += [",".join(map(str, row.values())) for row in table().to_pylist()]
    return "\n".join(lines).encode() + b"\n"


def parquet_bytes(content, **options):
    sink = pa.BufferOutputStream()
    parquet.write_table(content, sink, **options)
    return sink.getvalue().to_pybytes()


def h5(folder, suffix):
    path = folder / f"honest.{suffix}"
    obs = pd.DataFrame({"y": LABELS.astype(str)}, index=[f"s{i}" for i in range(N_ROWS)])
    data = anndata.AnnData(sp.csr_matrix(_values()), obs=obs)
    if suffix == "h5mu":
        with settled_mudata():
            mudata.MuData({"a": data}).write(path)
    else:
        data.write_h5ad(path)
    return path.read_bytes()


def feather():
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table().schema) as writer:
        writer.write_table(table())
    return sink.getvalue().to_pybytes()


CELL = '<c r="{at}"><v>{value}</v></c>'
NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def sheet():
    """A sheet of two columns of numbers and the label, whose header is text."""
    rows = [["x", "w", "y"], *np.column_stack([_values()[:, :2], LABELS]).tolist()]
    lines = []
    for i, row in enumerate(rows, start=1):
        cells = [
            f'<c r="{letter}{i}" t="str"><v>{value}</v></c>'
            if i == 1
            else CELL.format(at=f"{letter}{i}", value=value)
            for letter, value in zip("ABC", row, strict=True)
        ]
        lines.append(f'<row r="{i}">{"".join(cells)}</row>')
    return (
        f'<worksheet xmlns="{NAMESPACE}/main"><sheetData>{"".join(lines)}</sheetData></worksheet>'
    )


def workbook_members():
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    return {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/>'
        "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{RELATION}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{NAMESPACE}/main" xmlns:r="{RELATION}"><sheets>'
        '<sheet name="one" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{RELATION}/worksheet" Target="worksheets/sheet1.xml"/>'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": sheet(),
    }


def workbook(**changes):
    members = {**workbook_members(), **{k: v for k, v in changes.items() if v is not None}}
    members = {name: text for name, text in members.items() if changes.get(name, "") is not None}
    return npz({name: text.encode() for name, text in members.items()})


def honest_files(folder):
    """Suffix and content of honest files in every format."""
    yield "xlsx", workbook()
    yield "feather", feather()
    yield "csv.gz", gzip.compress(csv(), mtime=0)
    yield "csv.bz2", bz2.compress(csv())
    yield "csv.zip", npz({"table.csv": csv()})
    yield "csv.zst", pa.compress(csv(), codec="zstd").to_pybytes()
    yield "npz", npz(dense_arrays())
    yield "npz", npz(dense_arrays(), zipfile.ZIP_STORED)
    for storage in ("csr", "csc", "coo", "bsr", "dia"):
        yield "sparse.npz", npz(sparse_arrays(storage), zipfile.ZIP_STORED)
    yield "svm", svmlight()
    yield "csv", csv()
    yield "parquet", parquet_bytes(table())
    yield "parquet", parquet_bytes(table(), compression="none", use_dictionary=False)
    yield "h5ad", h5(folder, "h5ad")
    yield "h5mu", h5(folder, "h5mu")


# -- random changes --------------------------------------------------------------------------------


def flip(content, rng):
    for _ in range(rng.integers(1, 8)):
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)


def overwrite(content, rng):
    start, length = rng.integers(len(content)), rng.integers(1, 9)
    content[start : start + length] = bytes([rng.choice([0x00, 0x7F, 0x80, 0xFF])]) * length


def truncate(content, rng):
    del content[rng.integers(1, len(content)) :]


def cut(content, rng):
    start = rng.integers(len(content))
    del content[start : start + rng.integers(1, 40)]


def insert(content, rng):
    start = rng.integers(len(content))
    content[start:start] = rng.bytes(rng.integers(1, 40))


def repeat(content, rng):
    start = rng.integers(len(content))
    content[start:start] = content[start : start + rng.integers(1, 200)]


def change_end(content, rng):
    """The directory of a zip file and the metadata of a parquet file are at the end."""
    for _ in range(rng.integers(1, 4)):
        content[-int(rng.integers(1, min(400, len(content))))] = rng.integers(256)


CHANGES = (flip, overwrite, truncate, cut, insert, repeat, change_end)


def mutated(honest, rng):
    """Endlessly many files with changed bytes."""
    for change, (suffix, content) in itertools.cycle(itertools.product(CHANGES, honest)):
        forged = bytearray(content)
        change(forged, rng)
        yield f"{change.__name__}.{suffix}", bytes(forged)


# -- precise edits ---------------------------------------------------------------------------------

NUMBERS = (-1, -(2**31), 2**30, 2**31 - 1, 2**40, 2**62, -(2**63))


def edited_sparse():
    for storage in ("csr", "csc", "coo", "bsr", "dia"):
        arrays = sparse_arrays(storage)
        for name in arrays:
            array = arrays[name]
            if array.dtype.kind in "iu":
                edits = [np.insert(array.astype(np.int64)[1:], 0, n) for n in NUMBERS]
                edits += [np.append(array.astype(np.int64)[:-1], n) for n in NUMBERS]
                edits += [array.astype(float), array.astype(str)]
            else:
                edits = [array.astype("S8"), np.resize(array, array.size * 3)]
            flat = np.atleast_1d(array)
            edits += [array[..., None], np.array(7), flat[:0], flat[:1], flat[::-1]]
            yield from ({**arrays, name: edit} for edit in edits)
            yield {other: arrays[other] for other in arrays if other != name}
    for text in (b"xxx", b"dok", b"lil", b"\xff\xfe"):
        yield {**sparse_arrays(), "format.npy": np.array(text)}
    yield {**sparse_arrays(), "shape.npy": np.array([N_ROWS, 0])}
    yield {**sparse_arrays("coo"), "shape.npy": np.array([10**9, N_COLUMNS])}
    yield {**sparse_arrays("coo"), "shape.npy": np.array([N_ROWS, 10**9])}
    yield {**sparse_arrays(), "data.npy": sparse_arrays()["data.npy"] * np.nan}
    yield {**sparse_arrays(), "data.npy": sparse_arrays()["data.npy"] * 1j}


def header(shape, descr="'<f8'", version=(1, 0), more=""):
    """An array header that declares what it likes."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, {more}}}\n".encode()
    length = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text


def edited_headers():
    data = _values().tobytes()
    shapes = [(2**40, 6), (24, 2**40), (2**62, 2**62), (-24, -6), (24,), (2**33,), (24, 6, 1), ()]
    shapes += [(2**40, 0), (0, 6), (24, 0), "24", "(24, 6.5)", "('a', 6)", "(True, 6)", "None"]
    for shape in shapes:
        yield header(shape) + data
    descriptions = ["'|O'", "'<U0'", "'|V0'", "'<f16'", "'>f8'", "'<c16'", "'<M8[s]'", "'xx'"]
    descriptions += ["[('a', '<f8')]", "('<f8', (2,))", "('<f8', (2**20,))", "8", "None", "'|S8'"]
    descriptions += ["[('a', '|O')]", "'<f8' * 3", "(" * 200 + ")" * 200, "__import__('os')"]
    for description in descriptions:
        yield header((24, 6), description) + data
        yield header((2**40,), description)
    for version in ((2, 0), (3, 0), (9, 9)):
        yield header((24, 6), version=version) + data
    yield header((24, 6), more="'other': 1") + data
    yield header((24, 6)) + data[:-8]
    yield header((24, 6)) + data + b"more"
    yield b"\x93NUMPY\x01\x00\xff\xff{"
    yield b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"
    yield b""
    yield b"no array"


def edited_npz():
    for arrays in edited_sparse():
        yield "sparse.npz", npz(arrays, zipfile.ZIP_STORED)
    for content in edited_headers():
        yield "header.npz", npz({"a.npy": content, "y.npy": LABELS})
    honest = dense_arrays()
    for name, array in {
        "three.npy": np.zeros((N_ROWS, 2, 2)),
        "text.npy": np.array([["u", "v"]] * N_ROWS),
        "number.npy": np.array(3.0),
        "short.npy": np.zeros((3, 2)),
        "inf.npy": np.full((N_ROWS, 2), np.inf),
        "nan.npy": np.full((N_ROWS, 2), np.nan),
        "readme.txt": b"hello",
        "../../a.npy": _values(),
        "y/.npy": LABELS,
        "dates.npy": np.array(["NaT", "2020-01-01"] * (N_ROWS // 2), dtype="M8[s]"),
        "big.npy": np.full(N_ROWS, 2**64 - 1, dtype=np.uint64),
        "bytes.npy": np.array([b"\xff", b"a"] * (N_ROWS // 2)),
        "complex.npy": np.zeros(N_ROWS, dtype=complex),
        "records.npy": np.zeros(N_ROWS, dtype=[("a", "f8")]),
    }.items():
        yield "member.npz", npz({**honest, name: array})
    yield "empty.npz", npz({})
    yield "array.npz", npy(_values())
    zeros = header((2**31, 8)) + bytes(2**20)  # declares 137 GB
    yield "bomb.npz", npz({"a.npy": zeros, "y.npy": LABELS})
    for offset, value in ((8, 99), (8, 12), (6, 1), (26, 200)):  # method, flags, length of name
        content = bytearray(npz(honest))
        content[offset] = value
        start = content.rindex(b"PK\x01\x02")
        content[start + offset + 2] = value
        yield "zip.npz", bytes(content)
    for field in (20, 24, 42):  # sizes and position in the directory
        content = bytearray(npz(honest, zipfile.ZIP_STORED))
        start = content.index(b"PK\x01\x02")
        content[start + field : start + field + 4] = b"\xfe\xff\xff\xff"
        yield "directory.npz", bytes(content)


def edited_svmlight():
    good = svmlight().decode()
    tokens = ["100000000000:1", "2147483647:1", "2147483648:1", "1000000000:1", "-4:1", "1:1e999"]
    tokens += [f"{10**30}:1", "qid:99999999999999999999 1:1", "qid:x 1:1", "1:nan", "1:inf", "1:"]
    tokens += [":1", "1:1 1:2", "3:1 2:1", "1:1:1", "1", "\0", "é:1", "1:" + "9" * 5000, "0x1:1"]
    for token in tokens:
        yield f"1 {token}\n{good}"
        yield f"{good}0 {token}\n"
    for label in ("inf", "nan", "1e400", "a", "1,2", "", "-", "9" * 400):
        yield f"{label} 1:1\n{good}"
    yield "\n\n\n"
    yield "# only a comment\n"
    yield good.replace("\n", "\r")


def edited_csv():
    good = csv().decode()
    rows = [
        "1,2,3",
        "é,,,,,,,,",
        '"' + "x" * 100,
        "1e999,0,0,0,0,0,0,north,1",
        "\0,0,0,0,0,0,0,a,1",
    ]
    rows += ["nan,inf,-inf,0,0,0,0,north,1", f"{10**400},0,0,0,0,0,0,north,1", '""","",,"'] + [","]
    for row in rows:
        yield f"{good}{row}\n".encode()
        yield good.replace("\n", f"\n{row}\n", 1).encode()
    for encoding in ("utf-16", "utf-32", "utf-7", "cp037"):
        yield good.encode(encoding)
    yield b"\xef\xbb\xbf" + good.encode()
    yield good.replace("\n", "\r").encode()
    yield good.replace(",", "\x1f").encode()
    yield good.replace("x0", "y", 1).encode()
    yield (good + "x" * 2**22).encode()
    yield b'"' * 1001
    yield b"," * 10_000
    yield b"y\n" + b"0\n1\n" * 9
    yield ("y," + ",".join(f"x{j}" for j in range(20_000)) + "\n1\n").encode()
    yield b"\0" * 5000


def edited_parquet():
    n = N_ROWS
    labels = {"y": LABELS}
    for column in (
        pa.array([[1, 2]] * n),
        pa.array([{"a": 1}] * n),
        pa.array([b"\xff"] * n),
        pa.nulls(n),
        pa.array([None, float("inf")] * (n // 2)),
        pa.array([10**30] * n, type=pa.decimal256(60)),
        pa.array([2**62, -(2**62)] * (n // 2), type=pa.timestamp("us")),
        pa.array([1, 2] * (n // 2), type=pa.duration("ns")),
        pa.array([1, 2] * (n // 2), type=pa.time64("ns")),
        pa.array([-(10**6), 10**6] * (n // 2), type=pa.date32()),
        pa.array(np.arange(n, dtype=np.float16)),
        pa.array([2**64 - 1, 0] * (n // 2), type=pa.uint64()),
        pa.array([None] * n, type=pa.dictionary(pa.int8(), pa.string())),
        pa.array(["x" * 100_000, "\0"] * (n // 2)),
        pa.array([True, None] * (n // 2)),
        pa.array(["é", "\u202e"] * (n // 2)).dictionary_encode(),
    ):
        yield parquet_bytes(pa.table({"x": column, **labels}))
        yield parquet_bytes(pa.table({"x": LABELS, "y": column}))
    # 100 GB of text in a file of a megabyte
    bomb = pa.DictionaryArray.from_arrays(np.zeros(10**5, dtype=np.int32), ["x" * 10**6])
    yield parquet_bytes(pa.table({"x": bomb, "y": np.arange(10**5) % 2}), store_schema=False)
    yield parquet_bytes(pa.table({}))
    yield parquet_bytes(pa.table({"x": [], "y": []}))
    yield parquet_bytes(pa.table([LABELS, LABELS], names=["y", "y"]))
    yield parquet_bytes(pa.table([LABELS, LABELS], names=["", "y"]))
    good = parquet_bytes(table())
    (length,) = struct.unpack("<I", good[-8:-4])
    for wrong in (0, 1, length - 1, length + 1, 2**31, 2**32 - 1):
        yield good[:-8] + struct.pack("<I", wrong) + b"PAR1"
    yield b"PAR1"
    yield b"PAR1" * 100
    yield b"PARE" + good[4:]
    footer = len(good) - 8 - length
    for position in range(footer, footer + 60):  # version, schema and number of rows
        forged = bytearray(good)
        forged[position] ^= 0x7F
        yield bytes(forged)


def edited_workbooks():
    good = sheet()
    for name in workbook_members():
        yield workbook(**{name: None})
        yield workbook(**{name: "<x"})
        yield workbook(**{name: ""})
    path = "xl/worksheets/sheet1.xml"
    for at in ("XFD1048576", "A99999999999", "ZZZZZZZ1", "A0", "1A", "", "A-1"):
        yield workbook(**{path: good.replace("A3", at)})
    for value in ("1e999", "nan", "x", "9" * 5000, "&#0;", "&lol;", ""):
        yield workbook(**{path: good.replace("<v>0.0</v>", f"<v>{value}</v>", 1)})
    yield workbook(**{path: good.replace('r="2"', 'r="1048577"', 1)})
    yield workbook(
        **{path: good.replace("<sheetData>", '<dimension ref="A1:XFD1048576"/><sheetData>')}
    )
    lol = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    yield workbook(**{path: lol + good.replace("<v>x</v>", "<v>&b;</v>")})
    yield workbook(**{path: "<worksheet>" + " " * 2**26 + "</worksheet>"})
    yield b"PK\x03\x04"
    yield b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)  # as an old .xls file begins


def _set_shape(file, shape):
    file["X"].attrs["shape"] = shape


def _replace(file, name, value):
    del file[name]
    file[name] = value


H5_EDITS = (
    *(lambda f, n=n: f["X/indptr"].__setitem__(1, n) for n in NUMBERS[:4]),
    *(lambda f, n=n: f["X/indices"].__setitem__(0, n) for n in NUMBERS[:4]),
    *(lambda f, s=s: _set_shape(f, s) for s in ([2**40, 6], [24, 2**40], [-1, 6], [24], [0, 0])),
    *(lambda f, n=n: f.__delitem__(n) for n in ("X", "obs", "var", "X/data", "X/indptr", "obs/y")),
    lambda f: _replace(f, "X", np.zeros((24, 2, 2))),
    lambda f: _replace(f, "X", np.zeros((3, 6))),
    lambda f: _replace(f, "X", 1.0),
    lambda f: _replace(f, "X/data", np.array([b"x"] * 4)),
    lambda f: _replace(f, "X/data", np.zeros(1)),
    lambda f: _replace(f, "obs", np.zeros(24)),
    lambda f: f["X"].attrs.__setitem__("encoding-type", "nonsense"),
    lambda f: f["X"].attrs.__setitem__("encoding-version", "99"),
    lambda f: f["obs"].attrs.__setitem__("_index", "nowhere"),
    lambda f: f["obs"].attrs.__setitem__("column-order", np.array(["a", "b"], dtype=object)),
    lambda f: f.create_dataset("obsm/big", shape=(24, 2**40), dtype="f4", chunks=(1, 1024)),
    lambda f: (
        f.__delitem__("X"),
        f.create_dataset("X", shape=(24, 2**36), dtype="f4", chunks=(1, 1024)),
    ),
    lambda f: (f.__delitem__("X"), f.__setitem__("X", h5py.ExternalLink("elsewhere.h5", "/X"))),
    lambda f: (f.__delitem__("X"), f.__setitem__("X", h5py.SoftLink("/X"))),
)


def edited_h5():
    """Edits of an h5ad file; every other one of the modality of an h5mu file."""
    with tempfile.TemporaryDirectory() as folder:
        content = {suffix: h5(Path(folder), suffix) for suffix in ("h5ad", "h5mu")}
        for number, edit in enumerate(H5_EDITS):
            suffix = "h5mu" if number % 2 else "h5ad"
            path = Path(folder) / f"edited.{suffix}"
            path.write_bytes(content[suffix])
            with h5py.File(path, "r+") as file:
                edit(file["mod/a"] if suffix == "h5mu" else file)
            yield f"edited.{suffix}", path.read_bytes()


def precise_edits():
    """Every precise edit, formats in turn so that the first few contain all of them."""
    parts = [
        edited_npz(),
        (("edited.svm", content.encode()) for content in edited_svmlight()),
        (("edited.csv", content) for content in edited_csv()),
        (("edited.parquet", content) for content in edited_parquet()),
        (("edited.xlsx", content) for content in edited_workbooks()),
        edited_h5(),
    ]
    for round_of_files in itertools.zip_longest(*parts):
        yield from (file for file in round_of_files if file is not None)


def write_labels(folder):
    """Labels of the files of sparse matrices, which have none."""
    (folder / "labels.csv").write_text("y\n" + "".join(f"{label}\n" for label in LABELS))


def arguments_for(path):
    """Files and the target of a comparison of one data file."""
    more = [str(path.with_name("labels.csv"))] if "sparse" in path.name else []
    return [str(path), *more], "label" if path.suffix == ".svm" else "y"


def write_forged_files(folder, n_edits=None, n_mutated=0, stride=1, seed=0):
    """Write files numbered from 0; every ``stride``-th of the edits, at most ``n_edits``."""
    edits = itertools.islice(precise_edits(), 0, None, stride)
    random = mutated(list(honest_files(folder)), np.random.default_rng(seed))
    files = itertools.chain(itertools.islice(edits, n_edits), itertools.islice(random, n_mutated))
    write_labels(folder)
    paths = []
    for number, (name, content) in enumerate(files):
        paths.append(folder / f"f{number}_{name}")
        paths[-1].write_bytes(content)
    return paths
