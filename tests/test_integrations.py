"""Other tools: the Galaxy wrapper, the MLflow model, the R vignette."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import consilience
from consilience.cli import app
from consilience.datasets import make_multiview_classification
from consilience.fusion import LateFusionClassifier

FOLDER = Path(__file__).parents[1] / "integrations"

pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason="the integrations are not part of an installed package"
)


@pytest.fixture(scope="module")
def galaxy_tool():
    return ET.parse(FOLDER / "galaxy" / "consilience_compare.xml").getroot()


def test_the_galaxy_tool_has_the_version_of_the_package(galaxy_tool):
    assert galaxy_tool.find("macros/token").text == consilience.__version__


def test_the_galaxy_command_runs_on_its_test_data(galaxy_tool, tmp_path, monkeypatch):
    options = re.findall(r"--[a-z]+", galaxy_tool.find("command").text)
    values = {"--target": "class", "--on": "sample", "--methods": "Late fusion,Best view"}
    values |= {"--metric": "balanced_accuracy", "--cv": "2", "--repeats": "1", "--seed": "0"}
    values |= {"--jobs": "1", "--out": "out"}
    assert set(options) == {*values, "--groups"}
    tables = {p.stem: p for p in (FOLDER / "galaxy" / "test-data").glob("*.csv")}
    monkeypatch.chdir(tmp_path)
    inputs = [f"{name}={path}" for name, path in tables.items()]
    arguments = [word for option in values.items() for word in option]
    result = CliRunner().invoke(app, ["compare", *inputs, *arguments])
    assert result.exit_code == 0, result.output
    outputs = [output.get("from_work_dir") for output in galaxy_tool.iterfind("outputs/data")]
    assert len(outputs) == 3
    assert all(Path(output).exists() for output in outputs)


def test_planemo_finds_nothing():
    planemo = shutil.which("planemo")
    if planemo is None:
        pytest.skip("planemo is not installed")
    tool = FOLDER / "galaxy" / "consilience_compare.xml"
    subprocess.run([planemo, "lint", str(tool)], check=True, timeout=300)


@pytest.fixture
def mlflow_module(monkeypatch):
    pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.syspath_prepend(FOLDER / "mlflow")
    import consilience_mlflow

    return consilience_mlflow


@pytest.mark.filterwarnings("default")  # of mlflow
def test_mlflow_model(mlflow_module, tmp_path):
    import mlflow

    X, y = make_multiview_classification(60, n_views=2, n_features=3, random_state=0)
    frame = pd.DataFrame(np.hstack([X["view0"], X["view1"]]), columns=list("abcdef"))
    columns = {"view0": ["a", "b", "c"], "view1": ["d", "e", "f"]}
    data = consilience.MultiViewData({name: frame[own] for name, own in columns.items()})
    model = LateFusionClassifier().fit(data, y)
    mlflow_module.save_model(model, tmp_path / "saved", columns=columns)
    assert not list((tmp_path / "saved").rglob("*.pkl"))
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    predicted = loaded.predict(frame)
    assert (predicted["label"] == model.predict(data)).all()
    np.testing.assert_allclose(predicted.iloc[:, 1:], model.predict_proba(data))

    left_out = loaded.predict(frame[["a", "b", "c"]])
    assert (left_out["label"] == model.predict(data.select(["view0"]))).all()
    frame.iloc[0, :3] = np.nan
    first = loaded.predict(frame).iloc[0]
    assert first["label"] == model.predict(data[:1].select(["view1"]))[0]
    with pytest.raises(ValueError, match="lacks the column 'c'"):
        loaded.predict(frame[["a", "b", "d", "e", "f"]])
    with pytest.raises(ValueError, match="no column of any view"):
        loaded.predict(frame[["a"]].rename(columns={"a": "z"}))


def test_the_r_vignette_runs(tmp_path):
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("R is not installed")
    check = [rscript, "-e", 'quit(status = !requireNamespace("reticulate", quietly = TRUE))']
    if subprocess.run(check, check=False, timeout=60).returncode:
        pytest.skip("reticulate is not installed")
    vignette = (FOLDER / "r" / "consilience.Rmd").read_text(encoding="utf-8")
    chunks = re.findall(r"```\{r\}\n(.*?)```", vignette, flags=re.S)
    assert len(chunks) == 3
    script = tmp_path / "vignette.R"
    script.write_text("\n".join(chunks), encoding="utf-8")
    environment = {**os.environ, "RETICULATE_PYTHON": sys.executable}
    result = subprocess.run(
        [rscript, script], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    accuracy = float(re.search(r"other patients: ([\d.]+)", result.stdout)[1])
    assert accuracy > 0.8
