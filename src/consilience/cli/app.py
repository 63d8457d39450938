"""The application and its entry point: how a command ends."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from consilience.benchmark.store import StoreError
from consilience.datasets import DatasetError

__all__ = ["app", "main"]

app = typer.Typer(
    help="Compare classifiers on samples described by several views.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"consilience {version('consilience')}")
        raise typer.Exit


@app.callback()
def options(
    wanted: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options before the command."""


def _fail(message: str, code: int = 2) -> NoReturn:
    print(f"consilience: {message}", file=sys.stderr)
    raise SystemExit(code)


def main(arguments: list[str] | None = None) -> None:
    """Entry point: run a command; a caller's mistake is one sentence and exit code 2."""
    command = typer.main.get_command(app)
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        arguments = arguments or ["--help"]
        code = command.main(arguments, prog_name="consilience", standalone_mode=False)
    except typer.Abort:
        raise SystemExit(1) from None
    except (ValueError, TypeError) as error:
        _fail(str(error))
    except (DatasetError, StoreError) as error:
        _fail(str(error), code=1)
    except OSError as error:
        if error.filename is None and error.strerror is None:
            raise
        _fail(f"{error.filename or 'writing'}: {error.strerror}")
    except Exception as error:
        # click's usage errors, whichever package typer takes them from
        if hasattr(error, "format_message"):
            _fail(error.format_message().replace("\n", " "))
        raise
    raise SystemExit(code if isinstance(code, int) else 0)
