"""Every mistake is one sentence on standard error, exit code 2, and leaves nothing behind."""
# ruff: noqa: E501 (a case a line)

import os
import resource
import stat
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

from consilience.cli import main
from consilience.fusion import LateFusionClassifier
from consilience.io import save

A = "id,x,y\n1,0.5,a\n2,1.5,b\n3,0.1,a\n4,1.9,b\n"
B = "id,z\n1,3\n2,4\n3,5\n4,6\n"


def parquet_bytes(table):
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def npz_bytes(tmp_path, **arrays):
    np.savez(tmp_path / "_.npz", **arrays)
    content = (tmp_path / "_.npz").read_bytes()
    (tmp_path / "_.npz").unlink()
    return content


NESTED = parquet_bytes(pa.table({"y": ["a", "b"], "x": [[1], [2]]}))
# name: files, arguments after them, part of the sentence
BAD = {
    "no such file": ({}, ["a.csv", "--target", "y"], "there is no file 'a.csv'"),
    "no target": ({"a.csv": A}, ["a.csv"], "--target COLUMN is required"),
    "target absent": ({"a.csv": A}, ["a.csv", "--target", "w"], "no file has a column 'w'"),
    "key absent": ({"a.csv": A, "b.csv": "k,z\n1,2\n"}, ["a.csv", "b.csv", "--on", "id", "--target", "y"], "b.csv has no column 'id' to join on"),
    "key nowhere": ({"a.csv": A}, ["a.csv", "--on", "key", "--target", "y"], "no file has a column 'key'"),
    "key empty": ({"a.csv": A + ",1,a\n"}, ["a.csv", "--on", "id", "--target", "y"], "a.csv has no 'id' in row 5"),
    "duplicate ids": ({"a.csv": A + "2,1,a\n"}, ["a.csv", "--on", "id", "--target", "y"], "several rows with 'id' = '2'"),
    "no common ids": ({"a.csv": A, "b.csv": "id,z\n7,3\n8,4\n"}, ["a.csv", "b.csv", "--on", "id", "--target", "y"], "no 'id' of"),
    "different lengths": ({"a.csv": A, "b.csv": "z\n1\n"}, ["a.csv", "b.csv", "--target", "y"], "different numbers of rows (a.csv has 4, b.csv has 1)"),
    "labels that disagree": ({"a.csv": A, "b.csv": "id,z,y\n1,3,b\n2,4,b\n"}, ["a.csv", "b.csv", "--on", "id", "--target", "y"], "the files disagree"),
    "one class": ({"a.csv": "x,y\n1,a\n2,a\n"}, ["a.csv", "--target", "y"], "has only one class, 'a'"),
    "no labels": ({"a.csv": "x,y\n1,\n2,\n"}, ["a.csv", "--target", "y"], "no sample has both a view and a label"),
    "a number to predict": ({"a.csv": "x,y\n" + "".join(f"{i % 7},{i}.5\n" for i in range(30))}, ["a.csv", "--target", "y"], "different fractional numbers; labels must be"),
    "rare class": ({"a.csv": A + "5,1,c\n"}, ["a.csv", "--target", "y"], "class 'c' has only one sample"),
    "more folds than samples": ({"a.csv": A}, ["a.csv", "--target", "y"], "cv must be between 2 and 2"),
    "empty file": ({"a.csv": ""}, ["a.csv", "--target", "y"], "a.csv is empty"),
    "header only": ({"a.csv": "x,y\n"}, ["a.csv", "--target", "y"], "a.csv has no rows"),
    "no header": ({"a.csv": ",,\n1,2,3\n"}, ["a.csv", "--target", "y"], "has no header"),
    "unnamed column": ({"a.csv": "x,,y\n1,2,3\n"}, ["a.csv", "--target", "y"], "no name for column 2"),
    "repeated column": ({"a.csv": "x,x,y\n1,2,3\n"}, ["a.csv", "--target", "y"], "several columns named 'x'"),
    "wrong delimiter": ({"a.csv": A.replace(",", ";")}, ["a.csv", "--target", "y", "--delimiter", ","], "no file has a column 'y'"),
    "bad delimiter": ({"a.csv": A}, ["a.csv", "--target", "y", "--delimiter", "::"], "must be one character"),
    "ragged": ({"a.csv": A + "5,1\n"}, ["a.csv", "--target", "y"], "Expected 3 columns, got 2"),
    "huge header": ({"a.csv": "x" * 200_000 + ",y\n1,2\n"}, ["a.csv", "--target", "y"], "field larger than field limit"),
    "mixed types": ({"a.csv": A + "5,much,a\n"}, ["a.csv", "--target", "y"], "column 'x' contains numbers, but 'much' in row 5"),
    "infinite": ({"a.csv": A + "5,inf,a\n6,-inf,b\n"}, ["a.csv", "--target", "y"], "column 'x' is infinite in row 5"),
    "not UTF-8": ({"a.csv": A.encode() + b"5,1,\xff\xfe\n"}, ["a.csv", "--target", "y", "--encoding", "utf-8"], "give its encoding with --encoding"),
    "header not UTF-8": ({"a.csv": b"x,\xe4\n1,2\n"}, ["a.csv", "--target", "y", "--encoding", "utf-8"], "is not encoded in utf-8"),
    "nothing but the target": ({"a.csv": "y\na\nb\n"}, ["a.csv", "--target", "y"], "no file has a column besides"),
    "unknown kind": ({"a.docx": "x"}, ["a.docx", "--target", "y"], "has an unknown format"),
    "column that clears the screen": ({"a.csv": "x\x1b[2J,y\n1,0\n2,1\n"}, ["a.csv", "--target", "y"], r"'a.csv' has a column named 'x\x1b[2J'; rename it"),
    "file that clears the screen": ({"a\x1b[2J.csv": "x,y\n1,0\n2,1\n"}, ["a\x1b[2J.csv", "--target", "y"], r"has a table named 'a\x1b[2J'; rename it"),
    "broken workbook": ({"a.xlsx": "x"}, ["a.xlsx", "--target", "y"], "a.xlsx cannot be read"),
    "broken h5ad": ({"a.h5ad": "x"}, ["a.h5ad", "--target", "y"], "a.h5ad cannot be read"),
    "broken parquet": ({"a.parquet": b"PAR1garbage"}, ["a.parquet", "--target", "y"], "a.parquet cannot be read"),
    "nested parquet": ({"a.parquet": NESTED}, ["a.parquet", "--target", "y"], "neither numbers nor text"),
    "broken npz": ({"a.npz": b"PK\x03\x04"}, ["a.npz", "--target", "y"], "a.npz cannot be read"),
    "broken svmlight": ({"a.svm": "1 1:x\n"}, ["a.svm", "--target", "label"], "a.svm cannot be read"),
    "two views of one name": ({"d/a.csv": A, "a.csv": A}, ["a.csv", "d/a.csv", "--on", "id", "--target", "y"], "two views are called 'a'"),
    "view range": ({"a.csv": A}, ["a.csv", "--target", "y", "--views", "v=x:nope"], "no column or range 'x:nope'"),
    "view without name": ({"a.csv": A}, ["a.csv", "--target", "y", "--views", "x"], "before the first name"),
    "view with the target": ({"a.csv": A}, ["a.csv", "--target", "y", "--views", "v=x:y"], "which is not a feature"),
    "column in two views": ({"a.csv": A}, ["a.csv", "--target", "y", "--views", "v=x,w=x"], "more than once"),
    "views of two files": ({"a.csv": A, "b.csv": B}, ["a.csv", "b.csv", "--target", "y", "--views", "v=x"], "--views divides the columns of one table"),
    "groups absent": ({"a.csv": A}, ["a.csv", "--target", "y", "--groups", "g"], "no file has a column 'g'"),
    "too few groups": ({"a.csv": "x,y,g\n" + "1,a,u\n2,b,v\n" * 3}, ["a.csv", "--target", "y", "--groups", "g", "--cv", "3"], "needs at least 3 groups"),
    "decimal commas": ({"a.csv": "x;y\n1,5;a\n2,5;b\n3,5;a\n4,5;b\n"}, ["a.csv", "--target", "y", "--decimal", "."], "column 'x' has numbers with a decimal comma, such as '1,5' in row 1; add --decimal ,"),
    "same keys in another order": ({"a.csv": A, "b.csv": "id,z\n2,3\n1,4\n3,5\n4,6\n"}, ["a.csv", "b.csv", "--target", "y"], "have the same 'id' in a different order; join them with --on id"),
    "constant": ({"a.csv": "x,z,y\n" + "1,,a\n1,,b\n" * 5}, ["a.csv", "--target", "y"], "no column of view 'a' has two different values"),
    "constant text": ({"a.csv": "x,y\n" + "u,a\nu,b\n" * 5}, ["a.csv", "--target", "y"], "no column of view 'a' has two different values"),
    "constant sparse": ({"a.svm": "1 1:2\n0 1:2\n" * 5}, ["a.svm", "--target", "label"], "no column of view 'a' has two different values"),
    "a view without a cell": ({"a.csv": "x,z,y\n" + ",1,a\n,2,b\n" * 5}, ["a.csv", "--target", "y", "--views", "v=x,w=z"], "no column of view 'v'"),
    "the target as key": ({"a.csv": A}, ["a.csv", "--target", "y", "--on", "y"], "--target y cannot be the key or the groups"),
    "the target as groups": ({"a.csv": A}, ["a.csv", "--target", "y", "--groups", "y"], "--target y cannot be the key or the groups"),
    "a view without columns": ({"a.csv": A}, ["a.csv", "--target", "y", "--views", "v="], "is not followed by a column"),
    "a data set among files": ({"a.csv": A}, ["digits", "a.csv", "--target", "y"], "digits is a data set; give either that name or files"),
    "a folder without a table": ({"d/a.md": A}, ["d", "--target", "y"], "the folder d contains no table"),
    "metric": ({"a.csv": A}, ["a.csv", "--target", "y", "--metric", "luck"], "--metric must be one of"),
    "auc of three": ({"a.csv": A + "5,1,c\n6,1,c\n"}, ["a.csv", "--target", "y", "--cv", "2", "--metric", "roc_auc"], "roc_auc needs two classes"),
    "budget": ({"a.csv": A}, ["a.csv", "--target", "y", "--time-budget", "soon"], "must be like 90s"),
    "repeats": ({"a.csv": A}, ["a.csv", "--target", "y", "--cv", "2", "--repeats", "0"], "repeats must be at least 1"),
    "a data set with a target": ({}, ["digits", "--target", "y"], "--target can be used with files only"),
}  # fmt: skip


def compare(capsys, tmp_path, arguments):
    with pytest.raises(SystemExit) as end:
        main(["compare", *arguments])
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


def one_sentence(code, out, err, part):
    assert code == 2, err
    assert out == ""
    assert err.startswith("consilience: ")
    assert err.count("\n") == 1
    assert part in err


@pytest.mark.parametrize("name", BAD)
def test_bad_input(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    files, arguments, part = BAD[name]
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content.encode() if isinstance(content, str) else content)
    one_sentence(*compare(capsys, tmp_path, [*arguments, "--out", "study"]), part)
    assert not (tmp_path / "study").exists()


def test_arrays_that_cannot_be_views(capsys, tmp_path):
    bad = {
        "3 dimensions": npz_bytes(tmp_path, a=np.zeros((2, 2, 2))),
        "different numbers of rows": npz_bytes(tmp_path, a=np.zeros((2, 2)), y=np.zeros(3)),
        "not numbers": npz_bytes(tmp_path, a=np.array([["u", "v"]])),
        "Object arrays cannot be loaded": npz_bytes(tmp_path, a=np.array([{}], dtype=object)),
    }
    for part, content in bad.items():
        (tmp_path / "a.npz").write_bytes(content)
        one_sentence(*compare(capsys, tmp_path, [str(tmp_path / "a.npz"), "--target", "y"]), part)


def test_folders_and_files_that_cannot_be_used(capsys, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,a\n2,b\n" * 5)
    good = [str(path), "--target", "y"]
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        one_sentence(*compare(capsys, tmp_path, [*good, "--out", str(out)]), "cannot be created")
    folder = tmp_path / "b.csv"
    folder.mkdir()
    one_sentence(*compare(capsys, tmp_path, [str(folder), "--target", "y"]), "contains no table")
    if os.geteuid() != 0:  # root reads and writes everything
        path.chmod(0)
        one_sentence(*compare(capsys, tmp_path, good), "Permission denied")
        path.chmod(0o600)
        tmp_path.chmod(0o500)
        one_sentence(*compare(capsys, tmp_path, [*good, "--out", str(tmp_path / "o")]), "cannot")
        tmp_path.chmod(0o700)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit of file sizes")
def test_full_disk(tmp_path):
    (tmp_path / "a.csv").write_text("x,z,y\n" + "1,2,a\n2,1,b\n" * 20)
    # no file may grow beyond this: what a full disk looks like to a process
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, BYTES)); "
        "from consilience.cli import main; main()"
    )
    command = ["compare", "a.csv", "--target", "y", "--views", "u=x,v=z", "--out", "study",
               "--methods", "Late fusion", "--cv", "2", "--repeats", "1"]  # fmt: skip
    for limit in (100, 50_000):  # in the way of the settings, and of the store
        done = subprocess.run(
            [sys.executable, "-c", script.replace("BYTES", str(limit)), *command],
            capture_output=True, text=True, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("consilience: ")
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "study" / "report.html").exists()
        assert not (tmp_path / "study" / "model.skops").exists()
        assert not [p for p in (tmp_path / "study").iterdir() if p.name.startswith(".")]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "one.csv").write_text(
        "id,x,c,y\n" + "".join(f"{i},{i % 2},u{i % 2},{'ab'[i % 2]}\n" for i in range(20))
    )
    (folder / "two.csv").write_text("id,z\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    from sklearn.pipeline import make_pipeline

    from consilience.tables import FileArgument, TableModel, read_tables
    from consilience.views import ViewPreparer

    files = [FileArgument(folder / f"{name}.csv", None) for name in ("one", "two")]
    read = read_tables(files, target="y", on="id")
    pipeline = make_pipeline(ViewPreparer(scale="standard"), LateFusionClassifier())
    pipeline.fit(read.data, read.target)
    model = TableModel(pipeline, read.views, "Late fusion", "y", key="id")
    save(model, folder / "model.skops")
    return folder / "model.skops"


PREDICT = {
    "no view": ({"new.csv": "id,q\n1,2\n"}, ["new.csv"], "new.csv is none of the views 'one', 'two'"),
    "lacks a column": ({"new.csv": "id,x\n1,2\n"}, ["new.csv"], "for 'one' it lacks the columns 'c'"),
    "named but lacking": ({"new.csv": "id,x\n1,2\n"}, ["one=new.csv"], "lacks the columns 'c'"),
    "unknown view": ({"new.csv": "id,x\n1,2\n"}, ["three=new.csv"], "the model has no view 'three'"),
    "several views": ({"new.csv": "id,x,c,z\n1,2,u,3\n"}, ["new.csv"], "has the columns of several views"),
    "twice the same view": ({"new.csv": "id,z\n1,2\n", "two.csv": "id,z\n1,2\n"}, ["new.csv", "two.csv"], "are both view 'two'"),
    "a word for a number": ({"two.csv": "id,z\n1,much\n"}, ["two.csv"], "column 'z' contains numbers, but 'much'"),
    "no key": ({"two.csv": "z\n1\n"}, ["two.csv", "--on", "id"], "has no column 'id' to join on"),
    "not there": ({}, ["two.csv"], "there is no file"),
    "one file without the key": ({"one.csv": "id,x,c\n1,2,u\n", "two.csv": "z\n1\n"}, ["one.csv", "two.csv"], "two.csv has no column 'id', by which the files of the comparison were joined"),
    "no rows": ({"two.csv": "z\n"}, ["two.csv"], "two.csv has no rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", PREDICT)
def test_bad_new_files(capsys, tmp_path, monkeypatch, model, name):
    monkeypatch.chdir(tmp_path)
    files, arguments, part = PREDICT[name]
    for path, content in files.items():
        (tmp_path / path).write_text(content)
    with pytest.raises(SystemExit) as end:
        main(["predict", str(model), *arguments, "--out", "p.csv"])
    captured = capsys.readouterr()
    one_sentence(end.value.code, captured.out, captured.err, part)
    assert not (tmp_path / "p.csv").exists()


def test_files_are_joined_as_in_the_comparison(capsys, tmp_path, model):
    (tmp_path / "one.csv").write_text("id,x,c\n7,0,u0\n8,1,u1\n")
    (tmp_path / "two.csv").write_text("id,z\n8,1\n9,0\n")
    files = [str(tmp_path / "one.csv"), str(tmp_path / "two.csv")]
    for path in (model, model.parent):  # the folder of a comparison is as good
        with pytest.raises(SystemExit) as end:
            main(["predict", str(path), *files])
        captured = capsys.readouterr()
        assert end.value.code == 0
        rows = [line.split(",")[:2] for line in captured.out.splitlines()]
        assert rows == [["id", "predicted"], ["7", "a"], ["8", "b"], ["9", "a"]]


def test_predictions_need_a_file(capsys, tmp_path, model):
    (tmp_path / "two.csv").write_text("id,z\n1,2\n")
    with pytest.raises(SystemExit) as end:
        main(["predict", str(model), str(tmp_path / "two.csv"), "--out", str(tmp_path)])
    captured = capsys.readouterr()
    one_sentence(end.value.code, captured.out, captured.err, "is a folder; --out must be a file")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs devices and pipes")
@pytest.mark.parametrize("kind", ["device", "pipe", "link to a device"])
def test_predictions_replace_regular_files_only(capsys, tmp_path, model, kind):
    (tmp_path / "two.csv").write_text("id,z\n1,2\n")
    out = tmp_path / "out.csv"
    if kind == "device" and os.geteuid() == 0:
        try:
            os.mknod(out, stat.S_IFCHR | 0o666, os.makedev(1, 7))  # as /dev/full
        except PermissionError:
            pytest.skip("no device can be made here")
    elif kind == "pipe":
        os.mkfifo(out)
    else:
        out.symlink_to("/dev/null")
    before = os.stat(out)
    with pytest.raises(SystemExit) as end:
        main(["predict", str(model), str(tmp_path / "two.csv"), "--out", str(out)])
    captured = capsys.readouterr()
    one_sentence(end.value.code, captured.out, captured.err, "it is not a regular file")
    after = os.stat(out)
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    assert {path.name for path in tmp_path.iterdir()} == {"two.csv", "out.csv"}


def test_unknown_columns_are_named(capsys, tmp_path, model):
    (tmp_path / "two.csv").write_text("id,z,more\n1,2,3\n")
    with pytest.raises(SystemExit) as end:
        main(["predict", str(model), str(tmp_path / "two.csv"), "--on", "id"])
    captured = capsys.readouterr()
    assert end.value.code == 0
    assert "ignored columns, unknown to the model: 'more'" in captured.err
    assert captured.out.startswith("id,predicted,p(a),p(b)\n1,")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["predict", "none.skops", "x.csv"], "none.skops cannot be read: No such file"),
        (["predict", "text.skops", "x.csv"], "text.skops cannot be loaded: it is not a model file"),
        (["predict", "plain.skops", "x.csv"], "without the tables it was fitted on"),
        (["report", "nowhere"], "nowhere contains no comparison"),
        (["report", "damaged"], "run.toml is damaged"),
    ],
)
def test_bad_models_and_folders(capsys, tmp_path, monkeypatch, arguments, part):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.skops").write_text("hello")
    rng = np.random.default_rng(0)
    X = {"a": rng.normal(size=(20, 2)), "b": sp.csr_array(rng.random((20, 3)))}
    save(LateFusionClassifier().fit(X, np.arange(20) % 2), tmp_path / "plain.skops")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.toml").write_text("version = ")
    with pytest.raises(SystemExit) as end:
        main(arguments)
    captured = capsys.readouterr()
    one_sentence(end.value.code, captured.out, captured.err, part)
