import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from conftest import FULL
from consilience.benchmark import suite_names
from consilience.benchmark.published import published_runs
from consilience.cli import main
from consilience.cli.common import n_cores
from consilience.cli.compare import _run
from consilience.datasets._store import write_arrays
from reference import small_sets


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


@pytest.mark.usefixtures("serially")
def test_compare_ranks_methods(capsys):
    arguments = ["compare", "digits", "--methods", "Mono,Concat", "--cv", "2"]
    arguments += ["--repeats", "1", "--jobs", "1"]
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert out.index("Concat") < out.index("Mono")
    assert "1797 samples, 4 views" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare", "nothing"], "unknown data set 'nothing'; known are digits"),
        (["compare", "digits", "--methods", "Duo"], "unknown method 'Duo'; known are Consilience"),
        (["compare", "digits", "--methods", "late fusoin"], "did you mean 'Late fusion'?"),
        (["compare", "digits", "--metric", "accuracyy"], "did you mean 'accuracy'?"),
        (["compare", "digits", "--targte", "x"], "--target"),
        (["compar", "digits"], "Did you mean 'compare'?"),
        (["compare", "digits", "--cv", "1"], "cv must be between 2 and 174"),
        (["compare", "digits", "--jobs", "0"], "--jobs must be at least 1"),
        (["compare", "digits", "--seed", "-1"], "--seed must be at least 0"),
        (["compare", "digits", "--seed", str(2**31)], "--seed must be at most 2147483647"),
        (["compare", "digits", "--jobs", "1000000"], "--jobs must be at most 4096"),
        (["compare", "digits", "--repeats", "1000000000"], "repeats must be at most 10000"),
        (["compare", "digits", "--cv", "100000000"], "cv must be between 2 and 174"),
        (["compare", "digits", "--cv", "174", "--repeats", "9999"], "fits, but at most 500000"),
        (["compare", "digits", "--time-budget", "nan"], "--time-budget must be positive"),
        (["compare", "digits", "--cv", "many"], "Invalid value for '--cv'"),
        (["compare"], "Missing argument"),
        (["fetch", "nothing"], "unknown data set 'nothing'; known are digits"),
        (["dance"], "No such command 'dance'"),
        (["bench", "nothing"], "unknown suite 'nothing'; known are default, default-natural"),
        (["bench", "nothing.toml"], "there is no file nothing.toml"),
        (["bench", "smoke", "--jobs", "0"], "--jobs must be at least 1"),
        (
            ["bench", "smoke", "--only", "digits"],
            "--only must be KEY=VALUE with KEY one of dataset, method",
        ),
        (["bench", "smoke", "--out", "/dev/null/x"], "the folder /dev/null/x cannot be created"),
        (["bench", "smoke", "--out", "{tmp}", "--results", "/dev/null/x"], "cannot be created"),
        (["bench", "smoke", "--out", "{tmp}", "--timeout", "0"], "--timeout must be a positive"),
        (["bench", "smoke", "--out", "{tmp}", "--timeout", "inf"], "--timeout must be a positive"),
        (["bench", "smoke", "--out", "{tmp}", "--memory", "inf"], "--memory must be a positive"),
        (["bench", "smoke", "--out", "{tmp}", "--memory", "nan"], "--memory must be a positive"),
        (["bench", "smoke", "--out", "{tmp}", "--memory", "-1"], "--memory must be a positive"),
    ],
)
def test_usage_errors_are_one_line(capsys, tmp_path, arguments, sentence):
    code, out, err = run(capsys, *(text.format(tmp=tmp_path) for text in arguments))
    assert code == 2
    assert out == ""
    assert err.startswith("consilience: ")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "word"), [("methods", "MV-MV"), ("datasets", "digits"), ("suites", "smoke")]
)
def test_lists(capsys, command, word):
    code, out, _ = run(capsys, command)
    assert code == 0
    assert word in out


def test_suites_that_were_changed_after_their_run(capsys, monkeypatch):
    runs = published_runs()
    changed = msgspec.structs.replace(runs["omics"], sha256="0" * 64)
    monkeypatch.setattr("consilience.cli.suites.published_runs", lambda: {"omics": changed})
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = run(capsys, "suites")
    (line,) = [line for line in out.splitlines() if line.startswith("│ omics ")]
    assert "(of an earlier form of the suite)" in line
    assert "not published" not in line
    assert out.count("not published") == len(suite_names()) - 1


@pytest.mark.parametrize("out", [None, Path("out")])
def test_a_comparison_that_was_stopped_can_be_continued_in_its_folder(capsys, monkeypatch, out):
    def stop(plan, execution):
        raise KeyboardInterrupt

    monkeypatch.setattr("consilience.cli.compare.run_comparison", stop)
    with pytest.raises(KeyboardInterrupt):
        _run(None, SimpleNamespace(out=out))
    hint = "" if out is None else "; run the same command to continue"
    assert capsys.readouterr().err == f"consilience: stopped{hint}\n"


def test_version(capsys):
    code, out, _ = run(capsys, "--version")
    assert code == 0
    assert out.startswith("consilience ")


def test_package_can_be_run_as_a_module():
    command = [sys.executable, "-m", "consilience", "compare", "nothing.csv"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "consilience: there is no file 'nothing.csv'\n"


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


def test_missing_extra_names_the_command_to_install_it():
    script = "import sys; sys.modules['typer'] = None; import consilience.cli"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("pip install 'consilience[cli]'")


@pytest.mark.usefixtures("serially")
def test_bench_smoke(capsys, tmp_path):
    arguments = ["bench", "smoke", "--out", str(tmp_path), "--results", str(tmp_path / "tables")]
    arguments += [] if FULL else ["--only", "split=0"]
    code, out, err = run(capsys, *arguments, "--quiet")
    assert code == 0
    assert ("30 of 30 fits" if FULL else "10 of 10 fits") in err
    assert "synthetic, 3 classes" in out
    written = {path.name for path in (tmp_path / "tables").iterdir()}
    assert written == {"smoke.md", "smoke.csv", "fits"}
    assert {"results.sqlite", "results.csv", "smoke.md"} <= {p.name for p in tmp_path.iterdir()}
    # all is stored: the second time nothing is left to do
    code, again, err = run(capsys, *arguments, "--quiet")
    assert code == 0
    assert "fits" not in err
    assert again == out


@pytest.mark.usefixtures("serially")
def test_full_disk_is_one_line(capsys, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "results.csv")

    monkeypatch.setattr("consilience.cli.suites.write_atomically", full)
    arguments = ["bench", "smoke", "--out", str(tmp_path), "--only", "method=MwMvC2"]
    code, _, err = run(capsys, *arguments, "--only", "split=0", "--quiet")
    assert code == 2
    assert err.endswith("consilience: results.csv: No space left on device\n")


def test_failed_fit_is_printed_and_sets_the_exit_code(capsys, tmp_path):
    suite = tmp_path / "bad.toml"
    suite.write_text(
        """
        title = "A method that fails"
        protocol.split = { kind = "folds", n = 2 }
        datasets = [{ name = "synthetic", parameters = { random_state = 0 } }]
        methods = [{ recipe = "Concat" }, { recipe = "SMVMED", settings = { alpha = 1.0 } }]
        """
    )
    code, out, err = run(capsys, "bench", str(suite), "--out", str(tmp_path / "out"), "--jobs", "1")
    assert code == 1
    assert "2 of 2 failed" in out
    assert "SMVMED on synthetic failed: InvalidParameterError: The 'alpha' parameter" in err
    assert "The 'alpha' parameter" in (tmp_path / "out" / "bad.md").read_text()


def test_limits_reach_the_tasks(capsys, monkeypatch, tmp_path):
    seen = {}

    def run_tasks(tasks, store, **options):
        seen.update(options)
        return iter([])

    monkeypatch.setattr("consilience.cli.suites.run_tasks", run_tasks)
    options = ["--memory", "1.5", "--timeout", "9", "--jobs", "3", "--out", str(tmp_path)]
    run(capsys, "bench", "smoke", "--quiet", *options)
    assert (seen["memory"], seen["timeout"], seen["jobs"]) == (3 * 2**29, 9, 3)


def test_number_of_cores(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 5}, raising=False)
    assert n_cores() == 3
    monkeypatch.delattr("os.sched_getaffinity")
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    assert n_cores() == 7
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert n_cores() == 1
