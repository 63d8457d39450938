"""The README's example runs as it stands."""

import re
from pathlib import Path

import pytest

from conftest import FULL
from consilience.datasets import load_digits_views

README = Path(__file__).parents[1] / "README.md"


def part_of_digits(**options):
    digits = load_digits_views(**options)
    digits.data, digits.target = digits.data[::5], digits.target[::5]
    return digits


def test_example(capsys, monkeypatch):
    if not README.exists():
        pytest.skip("the README is not part of an installed package")
    if not FULL:
        monkeypatch.setattr("consilience.datasets.load_digits_views", part_of_digits)
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)
    exec(compile(code, "README.md", "exec"), {})
    accuracy = float(capsys.readouterr().out.split("\n")[0])
    assert accuracy > 0.9
