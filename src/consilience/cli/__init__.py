"""The command line: ``consilience compare``, ``predict``, ``report``, ``bench``, and lists.

Errors of the user are reported in one sentence on standard error, with exit code 2.
"""

try:
    import msgspec  # noqa: F401 (the engine needs it)
    import rich  # noqa: F401
    import typer  # noqa: F401
except ImportError as error:
    raise SystemExit(
        f"consilience: the command line needs {error.name}; pip install 'consilience[cli]'"
    ) from None

# importing these modules registers their commands
from consilience.cli import compare, lists, results, suites
from consilience.cli.app import app, main

__all__ = ["app", "compare", "lists", "main", "results", "suites"]
