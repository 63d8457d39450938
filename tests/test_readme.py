"""The README's example runs as it stands."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_example(capsys):
    if not README.exists():
        pytest.skip("the README is not part of an installed package")
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)
    exec(compile(code, "README.md", "exec"), {})
    accuracy = float(capsys.readouterr().out.split("\n")[0])
    assert accuracy > 0.9
