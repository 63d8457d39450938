"""Text and HTML representations of ``MultiViewData``."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from consilience.views import _storage as storage

__all__ = ["as_html", "as_text"]

HEADINGS = ("view", "kind", "width", "storage", "missing")


def _title(data: Any) -> str:
    views = f"{data.n_views} view{'s' * (data.n_views != 1)}"
    return f"MultiViewData: {len(data)} sample{'s' * (len(data) != 1)}, {views}"


def _cells(data: Any) -> list[tuple[str, ...]]:
    missing = np.zeros(data.n_views)
    if data.is_lazy:
        missing[:] = np.nan
    elif len(data):
        missing = 1 - data.present.mean(axis=0)
    return [
        (
            name,
            data.kinds[name],
            _describe_width(data._views[name]),
            storage.describe(data[:1][name]),
            f"{share:.1%} missing" if share == share else "missing unknown",
        )
        for name, share in zip(data.view_names, missing, strict=True)
    ]


def _describe_width(view: Any) -> str:
    """Number of columns, ``5 columns``, or shape of a sample, ``28 x 28``."""
    shape = storage.sample_shape(view)
    if len(shape) > 1:
        return " x ".join(map(str, shape))
    return f"{shape[0]} column{'s' * (shape[0] != 1)}"


def as_text(data: Any) -> str:
    """Return one line for the container and one for each view."""
    rows = _cells(data)
    widths = [max(len(row[c]) for row in rows) for c in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([_title(data), *("  " + line.rstrip() for line in lines)])


def as_html(data: Any) -> str:
    """Return an HTML table for notebooks."""
    head = "".join(f"<th>{heading}</th>" for heading in HEADINGS)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in _cells(data)
    )
    return (
        f"<table><caption>{_title(data)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
