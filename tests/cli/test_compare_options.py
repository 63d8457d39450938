"""What the options of ``compare`` become: its plan and how it runs, without running it."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from consilience.cli import main
from consilience.cli.common import connect, make_importable
from consilience.cli.compare import _read_inputs
from consilience.cli.reading import reading_arguments
from consilience.tables import ReadOptions

TABLE = ["wide.csv", "--views", "a=a0:a1,b=b0", "--target", "y", "--methods", "Mono"]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    rows = [f"{i},{i % 3},{i % 5},{'uv'[i % 2]}" for i in range(24)]
    (tmp_path / "wide.csv").write_text("\n".join(["a0,a1,b0,y", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("consilience.cli.compare.n_cores", lambda: 3)
    return tmp_path


@pytest.fixture
def plan(monkeypatch, folder):
    """Call ``compare`` up to its first fit; return its plan and its execution."""

    def call(*arguments):
        seen = []

        def stop(plan, execution):
            seen.extend([plan, execution])
            raise typer.Exit(0)

        monkeypatch.setattr("consilience.cli.compare.run_comparison", stop)
        with pytest.raises(SystemExit) as end:
            main(["compare", *TABLE, *arguments])
        assert end.value.code == 0
        return seen

    return call


def test_defaults(plan):
    planned, execution = plan()
    options = planned.run.options
    assert (options.methods, options.cv, options.repeats, options.seed) == (["Mono"], 5, 2, 0)
    assert (options.metric, options.tune, options.allow_partial) == ("accuracy", False, False)
    assert (execution.jobs, execution.out, execution.costs) == (3, None, None)
    assert (execution.time_budget, execution.timeout, execution.trusted) == (None, None, ())
    assert (execution.calibrate, execution.features, execution.force) == (False, False, False)
    assert execution.client is execution.external is execution.signing_key is None
    assert planned.run.command == []


def test_options_reach_the_plan_and_its_execution(plan, folder):
    (folder / "key").write_text("sixteen or more secret bytes")
    (folder / "new.csv").write_text("a0,a1,b0,y\n1,2,3,u\n")
    planned, execution = plan(
        *["--cv", "3", "--repeats", "4", "--seed", "7", "--tune", "--allow-partial"],
        *["--metric", "f1", "--positive", "u", "--jobs", "2", "--out", "study", "--force"],
        *["--time-budget", "2m", "--timeout", "9s", "--trust", "one", "--trust", "two"],
        *["--signing-key", "key", "--features", "--test", "new.csv"],
    )
    options = planned.run.options
    assert (options.cv, options.repeats, options.seed) == (3, 4, 7)
    assert (options.metric, options.positive) == ("f1", "u")
    assert options.tune
    assert options.allow_partial
    assert (execution.jobs, execution.out) == (2, Path("study"))
    assert (execution.time_budget, execution.timeout) == (120, 9)
    assert execution.trusted == ("one", "two")
    assert execution.force
    assert execution.features
    assert not execution.calibrate
    assert execution.signing_key == b"sixteen or more secret bytes"
    assert [file.path.name for file in execution.external.files] == ["new.csv"]


def test_costs_imply_calibration(plan):
    assert plan("--calibrate")[1].calibrate
    _, execution = plan("--costs", "a=3,b=0.5")
    assert execution.calibrate
    assert execution.costs == {"a": 3, "b": 0.5}


def test_the_command_is_recorded_if_it_is_that_of_the_process(plan, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/bin/consilience", "compare", *TABLE])
    assert plan()[0].run.command == ["consilience", "compare", *TABLE]
    monkeypatch.setattr(sys, "argv", ["pytest", "compared"])
    assert plan()[0].run.command == []


@pytest.mark.parametrize("arguments", [["--test", "wide.csv"], ["--write-var"]])
def test_options_that_write_need_a_folder(capsys, folder, arguments):
    with pytest.raises(SystemExit) as end:
        main(["compare", *TABLE, *arguments])
    assert end.value.code == 2
    assert capsys.readouterr().err == f"consilience: {arguments[0]} needs --out FOLDER\n"


def test_a_file_with_the_name_of_a_data_set_is_read(folder):
    options = {"target": "y", "views": "a=a0:a1,b=b0"}
    with pytest.raises(ValueError, match="--target, --views can be used with files only"):
        _read_inputs(["digits"], options)
    (folder / "digits").mkdir()
    with pytest.raises(ValueError, match="the folder digits contains no table"):
        _read_inputs(["digits"], options)
    assert _read_inputs(["wide.csv"], options).summary.samples == 24
    with pytest.raises(ValueError, match=r"there is no file 'digits\.csv'"):
        _read_inputs(["digits.csv"], options)


def test_reading_arguments():
    nothing = [None, None, None, None, None, None, None, False]
    assert reading_arguments(*nothing) == {}
    given = ["tab", ",", "cp1252", "%", ["-999"], ["rna,mrna", "all"], ["rna=id"], True]
    assert reading_arguments(*given) == {
        "reading": ReadOptions("tab", ",", "cp1252", "%", ("-999",)),
        "transpose": ["rna", "mrna", "all"],
        "keys": {"rna": "id"},
        "normalised_keys": True,
    }


def test_a_folder_is_importable_before_all_others(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", ["first", "second"])
    make_importable(tmp_path)
    assert sys.path == [str(tmp_path), "first", "second"]
    make_importable(tmp_path)
    assert sys.path == [str(tmp_path), "first", "second"]


class Client:
    """A cluster with some workers."""

    workers = {"one": 2}

    def __init__(self, address, timeout):
        self.address = address
        assert timeout == 10

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.address = None

    def nthreads(self):
        return self.workers


def test_connection_to_a_scheduler(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    with connect(None) as client:
        assert client is None
    with connect("tcp://here") as client:
        assert client.address == "tcp://here"
    assert client.address is None  # closed
    monkeypatch.setattr(Client, "workers", {})
    refused = pytest.raises(ValueError, match="--scheduler tcp://here: the cluster has no workers")
    with refused, connect("tcp://here"):
        pass
