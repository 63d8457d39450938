"""Progress: a bar in a terminal, plain lines in logs and in terminals that cannot draw one."""

import io

import pytest
from rich.console import Console

from consilience.benchmark.console import _progress_of


@pytest.mark.parametrize(("term", "is_drawn"), [("xterm", True), ("dumb", False)])
def test_dumb_terminals_get_plain_lines(monkeypatch, term, is_drawn):
    monkeypatch.setenv("TERM", term)
    sink = io.StringIO()
    console = Console(file=sink, force_terminal=True, width=80)
    with _progress_of(console, False, 2, 0) as show:
        show(2, "0:00:00", "comparison: Late fusion")
    assert ("\x1b" in sink.getvalue()) == is_drawn
    assert is_drawn or "2 of 2 fits" in sink.getvalue()
