"""Files as people have them are read as a person would expect, or refused in one helpful sentence.

Every case runs the command line up to the point where the fits would start.
"""
# ruff: noqa: E501 (a case a line)

import bz2
import gzip
import io
import zipfile

import anndata
import mudata
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import feather

from common.omics import settled_mudata
from consilience.cli import compare as cli_compare
from consilience.cli import main

N = 8
IDS = [f"P{i:03}" for i in range(1, N + 1)]
GENE = [0.5, 1.5, 0.25, 1.75, -0.5, 2.5, 0.125, 1.25]
DOSE = [3, 1, 3, 2, 3, 1, 2, 1]
LABELS = ["basal", "luminal"] * (N // 2)


def table(delimiter=",", decimal=".", names=("patient", "gene", "dose", "subtype"), end="\n"):
    """The same eight patients, written in one way or another."""
    rows = zip(IDS, GENE, DOSE, LABELS, strict=True)
    lines = [[i, str(g).replace(".", decimal), str(d), label] for i, g, d, label in rows]
    return end.join(delimiter.join(line) for line in [list(names), *lines]) + end


PLAIN = table()
LABEL_FILE = "patient,subtype\n" + "".join(f"{i},{c}\n" for i, c in zip(IDS, LABELS, strict=True))
# genes in rows and patients in columns
TURNED = (
    "gene,"
    + ",".join(IDS)
    + "\n"
    + "".join(f"g{j}," + ",".join(f"{g + j:.3f}" for g in GENE) + "\n" for j in range(3))
)
OTHER_KEYS = "sample,protein\n" + "".join(f"{i},{g * 2}\n" for i, g in zip(IDS, GENE, strict=True))
SPELLED = "patient,protein\n" + "".join(
    f"p {int(i[1:])},{g * 2}\n" for i, g in zip(IDS, GENE, strict=True)
)


def zipped(text, name="rna.csv"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, text)
        archive.writestr("__MACOSX/._rna.csv", "system")
    return buffer.getvalue()


def encrypted():
    """A zip whose directory says that its file needs a password."""
    content = bytearray(zipped(PLAIN))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    return bytes(content)


def with_column(name, cells):
    first, *lines = PLAIN.splitlines()
    rows = [f"{line},{cell}" for line, cell in zip(lines, cells, strict=True)]
    return "\n".join([f"{first},{name}", *rows]) + "\n"


def zstd(text):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(text.encode())
    return sink.getvalue().to_pybytes()


def workbook(title=False, sheets=1):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number in range(sheets):
        sheet = book.create_sheet(f"sheet{number + 1}")
        if title:
            sheet.append(["Table 1: patients"])
            sheet.append([])
        sheet.append(["patient", f"gene{number}", "dose", "subtype"])
        for row in zip(IDS, GENE, ["n.d.", *DOSE[1:]], LABELS, strict=True):
            sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def feather_bytes():
    sink = io.BytesIO()
    feather.write_feather(pd.read_csv(io.StringIO(PLAIN)), sink)
    return sink.getvalue()


def annotated(prefix="g", n_columns=3, sparse=True):
    values = np.column_stack([np.array(GENE) * (j + 1) for j in range(n_columns)])
    obs = pd.DataFrame(
        {"subtype": pd.Categorical(LABELS), "site": ["u", "v"] * (N // 2)}, index=IDS
    )
    var = pd.DataFrame(index=[f"{prefix}{j}" for j in range(n_columns)])
    data = anndata.AnnData(sp.csr_matrix(values) if sparse else values, obs=obs, var=var)
    data.layers["counts"] = values * 10
    data.obsm["X_pca"] = values[:, :2]
    return data


def h5(data, folder):
    path = folder / "written.h5"
    data.write(path)
    content = path.read_bytes()
    path.unlink()
    return content


def h5mu(folder):
    with settled_mudata():
        data = mudata.MuData({"rna": annotated(), "protein": annotated("p", 2)[:6].copy()})
        data.obs["response"] = ["yes", "no"] * (N // 2)
        return h5(data, folder)


BATCHES = {
    "b1.csv": "\n".join(PLAIN.splitlines()[:5]) + "\n",
    "b2.csv": "\n".join([PLAIN.splitlines()[0], *PLAIN.splitlines()[5:]]) + "\n",
}
SUBTYPE = ["--target", "subtype"]
# files, arguments, views with their numbers of columns, samples, part of the output
READ = {
    "plain": ({"rna.csv": PLAIN}, ["rna.csv", *SUBTYPE], {"rna": 2}, ""),
    "gzip": ({"rna.csv.gz": gzip.compress(PLAIN.encode())}, ["rna.csv.gz", *SUBTYPE], {"rna": 2}, ""),
    "gzip of tabs": ({"rna.tsv.gz": gzip.compress(table("\t").encode())}, ["rna.tsv.gz", *SUBTYPE], {"rna": 2}, ""),
    "bzip2 of tabs": ({"rna.tsv.bz2": bz2.compress(table("\t").encode())}, ["rna.tsv.bz2", *SUBTYPE], {"rna": 2}, ""),
    "zstandard": ({"rna.csv.zst": zstd(PLAIN)}, ["rna.csv.zst", *SUBTYPE], {"rna": 2}, ""),
    "zip with the files of a system": ({"rna.csv.zip": zipped(PLAIN)}, ["rna.csv.zip", *SUBTYPE], {"rna": 2}, ""),
    "workbook": ({"rna.xlsx": workbook()}, ["rna.xlsx", *SUBTYPE], {"rna": 2}, ""),
    "workbook with a title": ({"rna.xlsx": workbook(title=True)}, ["rna.xlsx", *SUBTYPE], {"rna": 2}, "lines above the header skipped"),
    "two sheets": ({"book.xlsx": workbook(sheets=2)}, ["book.xlsx", *SUBTYPE, "--on", "patient"], {"sheet1": 2, "sheet2": 2}, ""),
    "one sheet of two": ({"book.xlsx": workbook(sheets=2)}, ["rna=book.xlsx#sheet2", *SUBTYPE], {"rna": 2}, ""),
    "feather": ({"rna.feather": feather_bytes()}, ["rna.feather", *SUBTYPE], {"rna": 2}, ""),
    "h5ad with labels in obs": ({"rna.h5ad": lambda f: h5(annotated(), f)}, ["rna.h5ad", *SUBTYPE], {"rna": 3}, ""),
    "layer of an h5ad file": ({"rna.h5ad": lambda f: h5(annotated(), f)}, ["rna.h5ad#counts", *SUBTYPE], {"rna": 3}, ""),
    "obsm of an h5ad file": ({"rna.h5ad": lambda f: h5(annotated(), f)}, ["pca=rna.h5ad#obsm/X_pca", *SUBTYPE], {"pca": 2}, ""),
    "h5mu with missing samples": ({"omics.h5mu": h5mu}, ["omics.h5mu", "--target", "response"], {"rna": 3, "protein": 2}, ""),
    "h5ad joined with a table": ({"rna.h5ad": lambda f: h5(annotated(), f), "labels.csv": LABEL_FILE.replace("subtype", "outcome")}, ["rna.h5ad", "labels.csv", "--target", "outcome", "--on", "patient", "--key", "rna=index"], {"rna": 3}, ""),
    "semicolons": ({"rna.csv": table(";")}, ["rna.csv", *SUBTYPE], {"rna": 2}, "delimiter semicolon"),
    "decimal comma": ({"rna.csv": table(";", ",")}, ["rna.csv", *SUBTYPE], {"rna": 2}, "decimal comma"),
    "decimal comma in quotes": ({"rna.csv": "patient,gene,subtype\n" + "".join(f'{i},"{str(g).replace(".", ",")}",{c}\n' for i, g, c in zip(IDS, GENE, LABELS, strict=True))}, ["rna.csv", *SUBTYPE], {"rna": 1}, "decimal comma"),
    "as many decimal commas in every row": ({"rna.csv": "patient;gene;dose;note;subtype\n" + "".join(f"{i};{g};{d},5;so, well;{c}\n".replace(".", ",") for i, g, d, c in zip(IDS, GENE, DOSE, LABELS, strict=True))}, ["rna.csv", *SUBTYPE], {"rna": 3}, "delimiter semicolon, decimal comma"),
    "bars": ({"rna.txt": table("|")}, ["rna.txt", *SUBTYPE], {"rna": 2}, "delimiter |"),
    "blanks": ({"rna.txt": table("   ")}, ["rna.txt", *SUBTYPE], {"rna": 2}, "delimiter blank"),
    "tabs in a csv file": ({"rna.csv": table("\t")}, ["rna.csv", *SUBTYPE], {"rna": 2}, "delimiter tab"),
    "another delimiter in each file": ({"rna.csv": PLAIN, "protein.txt": OTHER_KEYS.replace("sample", "patient").replace(",", "\t")}, ["rna.csv", "protein.txt", *SUBTYPE, "--on", "patient"], {"rna": 2, "protein": 1}, ""),
    "Latin-1": ({"rna.csv": PLAIN.replace("gene", "Größe").encode("latin-1")}, ["rna.csv", *SUBTYPE], {"rna": 2}, "encoding cp1252"),
    "a letter of Latin-1 at the end": ({"rna.csv": (PLAIN + "".join(f"Q{i},{i}.5,1,luminal\n" for i in range(20_000)) + "Zoë,1.5,2,basal\n").encode("latin-1")}, ["rna.csv", *SUBTYPE, "--on", "patient"], {"rna": 2}, "encoding cp1252"),
    "UTF-16 of a spreadsheet": ({"rna.txt": table("\t").encode("utf-16")}, ["rna.txt", *SUBTYPE], {"rna": 2}, "encoding utf-16"),
    "UTF-8 with a mark": ({"rna.csv": PLAIN.encode("utf-8-sig")}, ["rna.csv", *SUBTYPE], {"rna": 2}, ""),
    "line ends of Windows": ({"rna.csv": table(end="\r\n")}, ["rna.csv", *SUBTYPE], {"rna": 2}, ""),
    "line ends of old Macs": ({"rna.csv": table(end="\r")}, ["rna.csv", *SUBTYPE], {"rna": 2}, ""),
    "comments": ({"rna.csv": "# exported 2024\n# by a machine\n" + PLAIN}, ["rna.csv", *SUBTYPE], {"rna": 2}, "lines that start with '#' skipped"),
    "own comments": ({"rna.csv": "% exported\n" + PLAIN}, ["rna.csv", *SUBTYPE, "--comment", "%"], {"rna": 2}, "'%'"),
    "a title": ({"rna.csv": "Table 1. Patients\n\n" + PLAIN}, ["rna.csv", *SUBTYPE], {"rna": 2}, "1 line above the header skipped"),
    "a dash for missing": ({"rna.csv": PLAIN.replace(",0.25,", ",-,")}, ["rna.csv", *SUBTYPE], {"rna": 2}, ""),
    "n.d. and #DIV/0!": ({"rna.csv": PLAIN.replace(",0.25,", ",n.d.,").replace(",1.75,", ",#DIV/0!,")}, ["rna.csv", *SUBTYPE], {"rna": 2}, ""),
    "-999 for missing": ({"rna.csv": PLAIN.replace(",0.25,", ",-999,")}, ["rna.csv", *SUBTYPE, "--na", "-999"], {"rna": 2}, ""),
    "a strand is a category": ({"rna.csv": PLAIN.replace("dose", "strand").replace(",3,", ",+,").replace(",1,", ",-,").replace(",2,", ",-,")}, ["rna.csv", *SUBTYPE], {"rna": 2}, ""),
    "row names of R": ({"rna.txt": "gene\tdose\tsubtype\n" + "".join(f'"{i}"\t{g}\t{d}\t"{c}"\n' for i, g, d, c in zip(IDS, GENE, DOSE, LABELS, strict=True))}, ["rna.txt", *SUBTYPE], {"rna": 2}, "row names"),
    "transposed": ({"rna.csv": TURNED, "labels.csv": LABEL_FILE}, ["rna.csv", "labels.csv", *SUBTYPE, "--on", "patient", "--transpose", "rna"], {"rna": 3}, ""),
    "transposed with its labels": ({"rna.csv": TURNED + "subtype," + ",".join(LABELS) + "\n"}, ["rna.csv", *SUBTYPE, "--transpose", "rna"], {"rna": 3}, ""),
    "keys of different names": ({"rna.csv": PLAIN, "protein.csv": OTHER_KEYS}, ["rna.csv", "protein.csv", *SUBTYPE, "--on", "patient", "--key", "protein=sample"], {"rna": 2, "protein": 1}, ""),
    "keys spelled differently": ({"rna.csv": PLAIN, "protein.csv": SPELLED}, ["rna.csv", "protein.csv", *SUBTYPE, "--on", "patient", "--normalise-keys"], {"rna": 2, "protein": 1}, "16 rows join that did not before"),
    "batches": (BATCHES, ["rna=b1.csv", "rna=b2.csv", *SUBTYPE], {"rna": 2}, "2 files stacked, 8 rows"),
    "batches as groups": (BATCHES, ["rna=b1.csv", "rna=b2.csv", *SUBTYPE, "--groups", "batch", "--cv", "2"], {"rna": 2}, "2 files stacked"),
    "batches as a covariate": (BATCHES, ["rna=b1.csv", "rna=b2.csv", *SUBTYPE, "--keep", "batch"], {"rna": 3}, ""),
    "a folder": ({"data/rna.csv": PLAIN, "data/protein.tsv": OTHER_KEYS.replace("sample", "patient").replace(",", "\t"), "data/README.md": "x"}, ["data", *SUBTYPE, "--on", "patient"], {"rna": 2, "protein": 1}, "README.md"),
    "a folder of batches": ({f"data/rna/{name}": text for name, text in BATCHES.items()}, ["data", *SUBTYPE], {"rna": 2}, "2 files stacked"),
    "wildcards": ({"all.csv": PLAIN.replace("gene", "mean_gene").replace("dose", "mean_dose")}, ["all.csv", *SUBTYPE, "--views", "mean=mean_*"], {"mean": 2}, ""),
    "dates": ({"rna.csv": with_column("day", [f"{k + 10}.12.2024" for k in range(N)])}, ["rna.csv", *SUBTYPE], {"rna": 2}, "'day' (date); to use one as a feature, name it in --keep"),
    "dates to use": ({"rna.csv": with_column("day", [f"{k + 10}.12.2024" for k in range(N)])}, ["rna.csv", *SUBTYPE, "--keep", "day"], {"rna": 3}, ""),
    "free text": ({"rna.csv": with_column("note", [f"patient {k} has {'fever' if k % 2 else 'no fever'}" for k in range(N)])}, ["rna.csv", *SUBTYPE], {"rna": 2, "note": 4}, "'note' is free text; its 4 words are a view"),
    "many categories": ({"rna.csv": with_column("site", [f"site {k // 2}" for k in range(N)])}, ["rna.csv", *SUBTYPE], {"rna": 3}, ""),
    "a column to drop": ({"rna.csv": PLAIN}, ["rna.csv", *SUBTYPE, "--drop", "dose"], {"rna": 1}, ""),
    "a rare class": ({"rna.csv": PLAIN + "P099,1.5,2,odd\n"}, ["rna.csv", *SUBTYPE, "--drop-rare", "2"], {"rna": 2}, "fewer than 2 samples: 'odd (1)'"),
    "blanks around cells": ({"rna.csv": PLAIN.replace(",", " , ")}, ["rna.csv", *SUBTYPE], {"rna": 2}, ""),
    "wide": ({"wide.csv": "id,y," + ",".join(f"g{j}" for j in range(1200)) + "\n" + "".join(f"S{i},{'ab'[i % 2]}," + ",".join(f"{(i * 7 + j) % 11 / 3:.3f}" for j in range(1200)) + "\n" for i in range(N))}, ["wide.csv", "--target", "y", "--on", "id"], {"wide": 1200}, ""),
}  # fmt: skip
# files, arguments, parts of the sentence
REFUSED = {
    "a target of another case": ({"rna.csv": PLAIN}, ["rna.csv", "--target", "Subtype"], "did you mean 'subtype'?"),
    "a misspelled key": ({"rna.csv": PLAIN}, ["rna.csv", *SUBTYPE, "--on", "patinet"], "did you mean 'patient'?"),
    "a misspelled file": ({"rna.csv": PLAIN}, ["rn.csv", *SUBTYPE], "did you mean 'rna.csv'?"),
    "a misspelled data set": ({}, ["digit"], "did you mean 'digits'?"),
    "samples in columns": ({"rna.csv": TURNED, "labels.csv": LABEL_FILE}, ["rna.csv", "labels.csv", *SUBTYPE, "--on", "patient"], "add --transpose rna"),
    "keys that differ in spelling": ({"rna.csv": PLAIN, "protein.csv": SPELLED}, ["rna.csv", "protein.csv", *SUBTYPE, "--on", "patient"], "add --normalise-keys"),
    "keys that become the same": ({"rna.csv": PLAIN.replace("P002", "P1"), "protein.csv": SPELLED}, ["rna.csv", "protein.csv", *SUBTYPE, "--on", "patient", "--normalise-keys"], "'P001' and 'P1' in 'patient' would be the same sample"),
    "a key of another name": ({"rna.csv": PLAIN, "protein.csv": OTHER_KEYS}, ["rna.csv", "protein.csv", *SUBTYPE, "--on", "patient"], "--key VIEW=COLUMN"),
    "thousands or decimals": ({"rna.csv": table(";").replace("0.5", "1,500").replace("1.5", "2,500")}, ["rna.csv", *SUBTYPE], "add --decimal ,"),
    "one sample of a class": ({"rna.csv": PLAIN + "P099,1.5,2,odd\n"}, ["rna.csv", *SUBTYPE], "--drop-rare 2"),
    "dates of either order": ({"rna.csv": with_column("day", [f"0{k + 1}/02/2024" for k in range(N)])}, ["rna.csv", *SUBTYPE, "--keep", "day"], "may have the day or the month first; write them like 2024-12-31"),
    "a misspelled column to drop": ({"rna.csv": PLAIN}, ["rna.csv", *SUBTYPE, "--drop", "Dose"], "did you mean 'dose'?"),
    "no such sheet": ({"book.xlsx": workbook(sheets=2)}, ["book.xlsx#sheet3", *SUBTYPE], "has no sheet 'sheet3' (did you mean"),
    "no such layer": ({"rna.h5ad": lambda f: h5(annotated(), f)}, ["rna.h5ad#count", *SUBTYPE], "it has 'X', 'layers/counts', 'obsm/X_pca'"),
    "an encrypted zip": ({"rna.csv.zip": encrypted()}, ["rna.csv.zip", *SUBTYPE], "is encrypted"),
    "a zip of two files": ({"all.csv.zip": zipped(PLAIN, "a/rna.csv").replace(b"__MACOSX/._rna.csv", b"a_second_table.csv")}, ["all.csv.zip", *SUBTYPE], "a zip file must contain one table"),
    "a compressed matrix": ({"a.npz.gz": gzip.compress(b"x")}, ["a.npz.gz", *SUBTYPE], "unpack it"),
    "a damaged gzip": ({"rna.csv.gz": gzip.compress(PLAIN.encode())[:-20]}, ["rna.csv.gz", *SUBTYPE], "rna.csv.gz cannot be read"),
    "a picture": ({"rna.csv": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 50}, ["rna.csv", *SUBTYPE], "not a text file"),
    "detection limits": ({"rna.csv": PLAIN.replace(",0.25,", ",<0.3,")}, ["rna.csv", *SUBTYPE], "column 'gene' contains numbers, but '<0.3' in row 3"),
    "an unknown encoding": ({"rna.csv": PLAIN}, ["rna.csv", *SUBTYPE, "--encoding", "latin9000"], "--encoding 'latin9000' is unknown"),
    "a wildcard without a match": ({"rna.csv": PLAIN}, ["rna.csv", *SUBTYPE, "--views", "m=mean_*"], "no column matches 'mean_*'"),
    "batches of different columns": ({"b1.csv": PLAIN, "b2.csv": "w\n1\n2\n"}, ["rna=b1.csv", "rna=b2.csv", *SUBTYPE], "no column in common"),
    "a view to transpose that is none": ({"rna.csv": PLAIN}, ["rna.csv", *SUBTYPE, "--transpose", "rn"], "did you mean 'rna'?"),
    "repeated rows to transpose": ({"rna.csv": TURNED.replace("g1,", "g0,"), "labels.csv": LABEL_FILE}, ["rna.csv", "labels.csv", *SUBTYPE, "--on", "patient", "--transpose", "rna"], "several rows named 'g0'"),
}  # fmt: skip


class ReadEnd(Exception):
    """The input has been read."""


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Run the command line until the files are read; the input, or the exit code."""
    original = cli_compare.plan_comparison
    caught = []

    def stop(data, *arguments):
        caught.append((data, original(data, *arguments)))
        raise ReadEnd

    def run(files, arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(cli_compare, "plan_comparison", stop)
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            content = content(tmp_path) if callable(content) else content
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        try:
            main(["compare", *arguments, *([] if "--cv" in arguments else ["--cv", "2"])])
        except ReadEnd:
            return caught[-1][0]
        raise AssertionError("the study was not planned")

    return run


@pytest.mark.parametrize("name", READ)
@pytest.mark.filterwarnings("ignore:.*:FutureWarning", "ignore:.*:UserWarning")
def test_messy_files_are_read(read, name):
    files, arguments, columns, part = READ[name]
    data = read(files, arguments)
    views = {view.name: view.columns for view in data.summary.views}
    assert views == columns
    n_expected = N + 20_001 if name == "a letter of Latin-1 at the end" else N
    assert data.summary.samples == n_expected
    assert len(data.summary.classes) == 2
    assert part in "\n".join(data.summary.notes)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore:.*:FutureWarning", "ignore:.*:UserWarning")
def test_what_cannot_be_read_is_refused_in_a_sentence(read, capsys, name):
    files, arguments, part = REFUSED[name]
    with pytest.raises(SystemExit) as end:
        read(files, arguments)
    message = capsys.readouterr().err
    assert end.value.code == 2, message
    assert message.count("\n") == 1
    assert part in message


@pytest.mark.parametrize(
    "name",
    [
        "gzip",
        "decimal comma",
        "UTF-16 of a spreadsheet",
        "workbook",
        "blanks",
        "line ends of old Macs",
        "batches",
        "feather",
    ],
)
def test_values_are_those_of_the_plain_file(read, name):
    files, arguments, _, _ = READ[name]
    data = read(files, arguments).problem
    values = np.asarray(data.data["rna"])
    np.testing.assert_array_equal(values[:, 0], GENE)
    np.testing.assert_array_equal(values[1:, 1], DOSE[1:])
    assert data.target.tolist() == LABELS


def test_there_are_enough_cases():
    assert len(READ) + len(REFUSED) >= 40
