"""The application and its entry point, which turns errors into messages and exit codes."""

from __future__ import annotations

import signal
import sys
import threading
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from consilience.benchmark.cluster import ClusterLostError
from consilience.benchmark.store import StoreError
from consilience.datasets import DatasetError

__all__ = ["app", "main"]

INTERRUPTED = 128 + signal.SIGINT  # what typer returns after Ctrl-C

app = typer.Typer(
    help="Compare classifiers on samples described by several views.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"consilience {version('consilience')}")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Define the options that come before the command."""


def _fail(message: str, code: int = 2) -> NoReturn:
    print(f"consilience: {message}", file=sys.stderr)
    raise SystemExit(code)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; an error of the user gives one sentence and exit code 2.

    An interrupt gives the code that shells give: 130 after Ctrl-C, 143 after SIGTERM.
    """
    received = [signal.SIGINT]

    def interrupt(number: int, _: object) -> NoReturn:
        received.append(signal.Signals(number))
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        # as Ctrl-C: workers are stopped, with whatever processes they have started
        signal.signal(signal.SIGTERM, interrupt)
    command = typer.main.get_command(app)
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        arguments = arguments or ["--help"]
        code = command.main(arguments, prog_name="consilience", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except (ValueError, TypeError) as error:
        _fail(str(error))
    except (ClusterLostError, DatasetError, StoreError) as error:
        _fail(str(error), code=1)
    except OSError as error:
        if not str(error):
            raise
        _fail(f"{error.filename or 'writing'}: {error.strerror}" if error.strerror else str(error))
    except MemoryError:
        _fail("there is not enough memory for these data")
    except Exception as error:
        # usage errors of click, whichever package typer takes them from
        if hasattr(error, "format_message"):
            _fail(error.format_message().replace("\n", " "))
        raise
    if code == INTERRUPTED:
        code = 128 + received[-1]
    raise SystemExit(code if isinstance(code, int) else 0)
