"""The scripts of the gallery run as they stand, without a warning."""

import re
import runpy
import zlib
from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
import pytest

from conftest import FULL
from consilience import datasets
from consilience.datasets import load_digits_views

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/plot_*.py"))
QUICK_SHARE = 3  # one script in three is run, chosen by its name, unless all tests are
OPTIONAL = ("optuna", "mudata", "dask", "skore")


def is_quick(script):
    return zlib.crc32(script.stem.encode()) % QUICK_SHARE == 0


def part_of_digits(**options):
    """Every other image; scripts that take a number of rows still find them."""
    loaded = load_digits_views(**options)
    if options.get("return_X_y"):
        data, y = loaded
        return data[::2], y[::2]
    loaded.data, loaded.target = loaded.data[::2], loaded.target[::2]
    return loaded


def test_there_is_a_gallery():
    if not EXAMPLES.exists():
        pytest.skip("the gallery is not part of an installed package")
    assert len(SCRIPTS) >= 20
    for script in SCRIPTS:
        title, line = script.read_text(encoding="utf-8").split("\n")[1:3]
        assert set(line) == {"="}, script.name
        assert len(line) == len(title), script.name


@pytest.mark.usefixtures("serially")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_runs(script, monkeypatch, tmp_path):
    if not FULL and not is_quick(script):
        pytest.skip("run with all tests")
    imported = re.findall(r"^(?:import|from) (\w+)", script.read_text(encoding="utf-8"), flags=re.M)
    for package in {*OPTIONAL} & {*imported}:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    if not FULL:
        monkeypatch.setattr(datasets, "load_digits_views", part_of_digits)
    runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums(), "the script draws nothing"
    plt.close("all")
