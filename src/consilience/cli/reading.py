"""Options about files, shared by the commands that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from consilience.cli.common import parse_list
from consilience.tables import ReadOptions, parse_keys

__all__ = [
    "Comment",
    "Decimal",
    "Delimiter",
    "Encoding",
    "Keys",
    "Missing",
    "NormaliseKeys",
    "Transpose",
    "reading_arguments",
]

Delimiter = Annotated[
    str | None,
    typer.Option(help="Delimiter of text files, such as ; or tab; found out by default."),
]
Decimal = Annotated[
    str | None, typer.Option(help="Decimal mark of text files, . or ,; found out by default.")
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of text files, such as cp1252; found out by default."),
]
Comment = Annotated[
    str | None,
    typer.Option(
        help="Lines of text files that start with this are skipped; # if the first line does."
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option("--na", help="Cell that means missing, such as -999; repeatable."),
]
Transpose = Annotated[
    list[str] | None,
    typer.Option(help="View whose file has a column for each sample, or 'all'; repeatable."),
]
Keys = Annotated[
    list[str] | None,
    typer.Option("--key", help="Key column of a view, as VIEW=COLUMN; repeatable."),
]
NormaliseKeys = Annotated[
    bool,
    typer.Option("--normalise-keys", help="Ignore case, blanks and leading zeros of keys."),
]


def reading_arguments(
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None,
    comment: str | None,
    missing: Sequence[str] | None,
    transpose: Sequence[str] | None,
    keys: Sequence[str] | None,
    normalised_keys: bool,
) -> dict[str, Any]:
    """Arguments of ``read_tables`` and ``read_samples``; those at their default are left out."""
    reading = ReadOptions(delimiter, decimal, encoding, comment, tuple(missing or ()))
    arguments = {
        "reading": None if reading == ReadOptions() else reading,
        "transpose": parse_list(",".join(transpose or [])),
        "keys": parse_keys(keys or []),
        "normalised_keys": normalised_keys,
    }
    return {name: value for name, value in arguments.items() if value}
