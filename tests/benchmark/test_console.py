"""Progress as a bar or as lines of a log, the remaining time, and failures."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from benchmark.studies import task
from consilience.benchmark import console
from consilience.benchmark.progress import Forecast, format_duration
from consilience.benchmark.store import Record
from consilience.benchmark.work import Outcome


def record(index, status="done", error=""):
    return Record(str(index), task(index), Outcome(status=status, error=error), "", 10.0, 1)


@pytest.fixture
def lines(monkeypatch):
    """What is written, and a clock that stands still."""
    out = io.StringIO()
    monkeypatch.setattr(console, "Console", lambda **_: Console(file=out, width=200))
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(console, "time", clock)
    return SimpleNamespace(read=lambda: out.getvalue().splitlines(), clock=clock)


def test_the_last_fit_is_always_shown(lines):
    tasks = [task(0), task(1)]
    console.run_with_progress(iter([None, record(0), record(1)]), tasks, 1, n_done=3)
    assert lines.read() == ["5 of 5 fits, 0:00:00 left; Late fusion on mine"]


def test_lines_come_at_intervals(lines):
    def records():
        yield record(0)
        lines.clock.now = 30.0
        yield record(1)
        lines.clock.now = 30.5
        yield record(2)
        lines.clock.now = 60.5
        yield None
        yield record(3)

    console.run_with_progress(records(), [task(i) for i in range(5)], 2)
    assert lines.read() == ["3 of 5 fits, 0:00:10 left; Late fusion on mine"]


def test_what_is_running_is_shown(lines):
    def records():
        lines.clock.now = 31.0
        yield None

    running = [task(0), task(1)]
    console.run_with_progress(records(), running, 1, stage="stage 1", running=lambda: running)
    assert lines.read() == ["0 of 2 fits, -:--:-- left; stage 1: Late fusion"]


@pytest.mark.parametrize(
    ("stage", "n", "expected"), [("", 0, ""), ("s", 0, "s"), ("", 1, "Late fusion")]
)
def test_names_of_stages_and_tasks(stage, n, expected):
    assert console._describe_running(stage, [task(0)] * n) == expected


def test_a_failure_is_shown_once(lines):
    failed = [record(0, "failed", "x\ny"), record(1, "failed", "x\ny"), record(2, "timeout", "z")]
    console.run_with_progress(iter(failed), [task(i) for i in range(4)], 1)
    assert lines.read() == [
        "Late fusion on mine failed: x", "y", "Late fusion on mine timeout: z",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("is_jupyter", "is_terminal", "quiet", "name"),
    [
        (True, False, False, "_notebook_line"),
        (True, False, True, "_log_lines"),
        (False, True, False, "_terminal_bar"),
        (False, True, True, "_log_lines"),
        (False, False, False, "_log_lines"),
    ],
)
def test_where_progress_is_shown(monkeypatch, is_jupyter, is_terminal, quiet, name):
    for each in ("_notebook_line", "_terminal_bar", "_log_lines"):
        monkeypatch.setattr(console, each, lambda *_, each=each: each)
    target = SimpleNamespace(is_jupyter=is_jupyter, is_terminal=is_terminal, is_dumb_terminal=False)
    assert console._progress_of(target, quiet, 2, 0) == name
    monkeypatch.setattr(console, "Console", lambda stderr: target)
    assert console.is_interactive() == (is_jupyter or is_terminal)


def test_remaining_time_is_that_of_similar_fits():
    other = task(9, method="Early fusion")
    forecast = Forecast([task(0), task(1), other, other], jobs=2)
    assert forecast.seconds_left() is None
    forecast.add(task(0), 10.0)
    assert forecast.seconds_left() == (10 + 2 * 10) / 2
    forecast.add(other, 40.0)
    assert forecast.seconds_left() == (10 + 40) / 2
    assert Forecast([task(0)], jobs=0)._jobs == 1


def test_durations():
    texts = [format_duration(s) for s in (None, 0, 59.6, 3599, 3723)]
    assert texts == ["-:--:--", "0:00:00", "0:01:00", "0:59:59", "1:02:03"]


@pytest.mark.parametrize(("term", "is_drawn"), [("xterm", True), ("dumb", False)])
def test_dumb_terminals_get_plain_lines(monkeypatch, term, is_drawn):
    monkeypatch.setenv("TERM", term)
    sink = io.StringIO()
    terminal = Console(file=sink, force_terminal=True, width=80)
    with console._progress_of(terminal, False, 2, 0) as show:
        show(2, "0:00:00", "comparison: Late fusion")
    assert ("\x1b" in sink.getvalue()) == is_drawn
    assert is_drawn or "2 of 2 fits" in sink.getvalue()
