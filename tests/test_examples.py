"""The scripts of the gallery run as they stand, without a warning."""

import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from conftest import FULL
from consilience import datasets
from consilience.datasets import load_digits_views

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/plot_*.py"))
OPTIONAL = ("optuna", "mudata", "dask", "skore")


def part_of_digits(**options):
    """Half of the images; scripts that take a number of rows still find them.

    Drawn at random: images are stored in runs from 0 to 9, of which every other one would leave out
    classes where a script takes every fifth row itself.
    """
    loaded = load_digits_views(**options)
    data, y = loaded if options.get("return_X_y") else (loaded.data, loaded.target)
    rows = np.sort(np.random.RandomState(0).permutation(len(y))[: len(y) // 2])
    if options.get("return_X_y"):
        return data[rows], y[rows]
    loaded.data, loaded.target = data[rows], y[rows]
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
@pytest.mark.one_in(3)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_runs(script, monkeypatch, tmp_path):
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
