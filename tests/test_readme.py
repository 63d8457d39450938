"""The README's example runs as it stands."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest

from conftest import FULL
from consilience._estimators import last_step
from consilience.datasets import load_digits_views
from consilience.methods import METHODS

README = Path(__file__).parents[1] / "README.md"
METHODS_PAGE = README.parent / "docs" / "guide" / "methods.md"


def part_of_digits(**options):
    digits = load_digits_views(**options)
    digits.data, digits.target = digits.data[::5], digits.target[::5]
    return digits


def test_example(capsys, monkeypatch):
    if not README.exists():
        pytest.skip("the README is not part of an installed package")
    if not FULL:
        monkeypatch.setattr("consilience.datasets.load_digits_views", part_of_digits)
    code, _ = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)
    exec(compile(code, "README.md", "exec"), {})
    accuracy = float(capsys.readouterr().out.split("\n")[0])
    assert accuracy > 0.9


@pytest.mark.usefixtures("serially")
def test_comparison(capsys, monkeypatch, tmp_path):
    if not README.exists():
        pytest.skip("the README is not part of an installed package")
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    _, code = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)
    if not FULL:
        code = code.replace(":300]", ":100]").replace("300:310", "100:110")
    exec(compile(code, "README.md", "exec"), {})
    assert "GradientBoostingClassifier" in capsys.readouterr().out
    assert (tmp_path / "report.html").exists()


def test_guide_names_the_class_of_every_method():
    if not METHODS_PAGE.exists():
        pytest.skip("the documentation is not part of an installed package")
    page = METHODS_PAGE.read_text(encoding="utf-8")
    for method in METHODS.values():
        assert f"`{type(last_step(method.build(None))).__name__}`" in page, method.name
