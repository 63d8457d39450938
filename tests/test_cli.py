import subprocess
import sys

import pytest

from consilience.cli import main
from consilience.datasets._store import write_arrays
from reference import small_sets


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


def test_compare_ranks_methods(capsys):
    arguments = ["compare", "digits", "--methods", "Mono,Early fusion", "--cv", "2"]
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert out.index("Early fusion") < out.index("Mono")
    assert "1797 samples, 4 views" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare", "nothing"], "unknown data set 'nothing'; known are digits"),
        (
            ["compare", "digits", "--methods", "Duo"],
            "unknown method 'Duo'; known are Consilience, Best view",
        ),
        (["compare", "digits", "--cv", "1"], "--cv must lie between 2 and 174"),
        (["compare", "digits", "--jobs", "0"], "--jobs must be at least 1"),
        (["compare", "digits", "--seed", "-1"], "--seed must lie between 0"),
        (["compare", "digits", "--cv", "many"], "Invalid value for '--cv'"),
        (["compare"], "Missing argument"),
        (["fetch", "nothing"], "unknown data set 'nothing'; known are digits"),
        (["dance"], "No such command 'dance'"),
    ],
)
def test_mistakes_are_one_sentence(capsys, arguments, sentence):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("consilience: ")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("command", "word"), [("methods", "MV-MV"), ("datasets", "digits")])
def test_lists(capsys, command, word):
    code, out, _ = run(capsys, command)
    assert code == 0
    assert word in out


def test_fetch(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("CONSILIENCE_DATA", str(tmp_path))
    for stem, arrays in small_sets.nutrimouse().items():
        write_arrays(tmp_path / "nutrimouse" / f"{stem}.npz", arrays)
    code, out, _ = run(capsys, "fetch", "nutrimouse", "--quiet")
    assert code == 0
    assert "10 samples, 2 views" in out
    assert "Licence" in out
    code, out, _ = run(capsys, "datasets")
    assert [line.split("│")[3].strip() for line in out.splitlines() if "genotype" in line] == [
        "yes"
    ]
    code, out, err = run(capsys, "fetch", "reuters-600")
    assert (code, out) == (1, "")
    assert err.startswith("consilience: ")
    assert "cannot be downloaded" in err
    assert err.count("\n") == 1


def test_without_the_extra():
    script = "import sys; sys.modules['typer'] = None; import consilience.cli"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("pip install 'consilience[cli]'")
