"""Importance of features written to ``.var`` of copies of h5ad and h5mu files."""

import csv
import hashlib

import numpy as np
import pytest

from common.omics import settled_mudata
from consilience.cli import main

anndata = pytest.importorskip("anndata")
mudata = pytest.importorskip("mudata")
pd = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*:FutureWarning", "ignore:.*:UserWarning"),
    pytest.mark.usefixtures("serially", "undrawn"),
]
QUICK = ["--methods", "Late fusion", "--cv", "2", "--repeats", "1", "--jobs", "1"]
N = 40


def annotated(prefix, n_columns, rows=slice(None)):
    rng = np.random.default_rng(n_columns)
    y = np.arange(N) % 2
    values = rng.normal(size=(N, n_columns))
    values[:, 1] += 3 * y
    obs = pd.DataFrame({"ill": np.where(y, "yes", "no")}, index=[f"S{i}" for i in range(N)])
    var = pd.DataFrame({"chromosome": "7"}, index=[f"{prefix}{j}" for j in range(n_columns)])
    data = anndata.AnnData(values, obs=obs, var=var)
    data.layers["counts"] = np.exp(values)
    data.obsm["X_pca"] = values[:, :2]
    return data[rows].copy()


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def importance_of(folder, view):
    with open(folder / "features.csv", newline="") as file:
        return {
            row["feature"]: float(row["importance"])
            for row in csv.DictReader(file)
            if row["view"] == view
        }


def test_h5ad_copy_has_the_importance_of_its_features(tmp_path, capsys):
    source, out = tmp_path / "rna.h5ad", tmp_path / "study"
    annotated("g", 4).write_h5ad(source)
    before = digest(source)
    command = ["compare", source, "--target", "ill", "--write-var", "--out", out, *QUICK]
    code, printed, _ = run(capsys, *command)
    assert code == 0
    assert f"var:    {out / 'rna.h5ad'}" in printed
    assert digest(source) == before
    copy = anndata.read_h5ad(out / "rna.h5ad")
    original = anndata.read_h5ad(source)
    np.testing.assert_array_equal(copy.X, original.X)
    assert copy.var["chromosome"].tolist() == ["7"] * 4
    expected = importance_of(out, "rna")
    assert copy.var["consilience_importance"].to_dict() == pytest.approx(expected, rel=1e-5)
    assert copy.var["consilience_importance"].idxmax() == "g1"
    assert copy.var.loc["g1", "consilience_q_value"] < 0.05
    assert copy.var.loc["g1", "consilience_higher_in"] == "yes"
    assert not list(out.glob(".*.tmp"))


def test_h5mu_copy_and_views_of_one_modality(tmp_path, capsys):
    source, out = tmp_path / "omics.h5mu", tmp_path / "study"
    with settled_mudata():
        mudata.MuData({"rna": annotated("g", 4), "protein": annotated("p", 3)}).write(source)
    second = tmp_path / "more.h5ad"
    annotated("m", 5).write_h5ad(second)
    files = [source, f"raw={second}", f"counts={second}#counts", f"pca={second}#obsm/X_pca"]
    code, _, err = run(capsys, "compare", *files, "--target", "ill", "--on", "index", "--write-var",
                       "--out", out, *QUICK)  # fmt: skip
    assert code == 0, err
    with settled_mudata():
        copy = mudata.read_h5mu(out / "omics.h5mu")
    for view in ("rna", "protein"):
        column = copy.mod[view].var["consilience_importance"]
        assert column.to_dict() == pytest.approx(importance_of(out, view), rel=1e-5)
    var = anndata.read_h5ad(out / "more.h5ad").var
    for view in ("raw", "counts"):
        assert var[f"consilience_importance_{view}"].to_dict() == pytest.approx(
            importance_of(out, view), rel=1e-5
        )


def test_columns_that_are_no_feature_get_no_number(tmp_path):
    from consilience.tables._var_columns import VarColumns, VarCopy, write_var_copy

    source = tmp_path / "rna.h5ad"
    annotated("g", 3).write_h5ad(source)
    values = {"importance": np.array([0.5, 0.25]), "higher_in": np.array(["a", "b"])}
    copy = VarCopy(source, tmp_path / "copy.h5ad", (("", "rna"), ("", "absent")))
    write_var_copy(copy, {"rna": VarColumns(["g2", "g0"], values)})
    var = anndata.read_h5ad(copy.target).var
    np.testing.assert_array_equal(var["consilience_importance_rna"], [0.25, np.nan, 0.5])
    assert var["consilience_higher_in_rna"].tolist() == ["b", "", "a"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{tmp}/rna.h5ad"], "--write-var needs --out FOLDER"),
        (["{tmp}/t.csv", "--out", "{tmp}/o"], "--write-var needs an h5ad or h5mu file"),
        (["digits", "--out", "{tmp}/o"], "--write-var needs an h5ad or h5mu file"),
        (["p={tmp}/rna.h5ad#obsm/X_pca", "--out", "{tmp}/o"], "needs an h5ad or h5mu file"),
        (["{tmp}/rna.h5ad", "--out", "{tmp}"], "would replace it; choose another --out"),
        (
            ["{tmp}/rna.h5ad", "b={tmp}/b/rna.h5ad", "--on", "index", "--out", "{tmp}/o"],
            "several files are called 'rna.h5ad'",
        ),
    ],
)
def test_what_cannot_be_written_is_said_first(tmp_path, capsys, arguments, sentence):
    annotated("g", 4).write_h5ad(tmp_path / "rna.h5ad")
    (tmp_path / "b").mkdir()
    annotated("h", 4).write_h5ad(tmp_path / "b" / "rna.h5ad")
    (tmp_path / "t.csv").write_text("x,ill\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(20)))
    texts = [text.format(tmp=tmp_path) for text in arguments]
    target = [] if texts[0] == "digits" else ["--target", "ill"]
    before = {path.name for path in tmp_path.iterdir()}
    code, out, err = run(capsys, "compare", *texts, *target, "--write-var", *QUICK)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == before


def test_full_disk_leaves_no_half_copy(tmp_path, monkeypatch):
    from consilience.tables import TableError
    from consilience.tables._var_columns import VarColumns, VarCopy, write_var_copy

    def full(_, temporary):
        temporary.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    source = tmp_path / "rna.h5ad"
    annotated("g", 3).write_h5ad(source)
    monkeypatch.setattr("consilience.tables._var_columns.shutil.copyfile", full)
    copy = VarCopy(source, tmp_path / "copy.h5ad", (("", "rna"),))
    with pytest.raises(TableError, match=r"copy\.h5ad cannot be written: No space left on device"):
        write_var_copy(copy, {"rna": VarColumns(["g0"], {"importance": np.array([1.0])})})
    assert [path.name for path in tmp_path.iterdir()] == ["rna.h5ad"]
