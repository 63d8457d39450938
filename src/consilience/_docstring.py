"""Docstrings of parameters and attributes that many estimators share, written once.

A class docstring holds a line ``{name}`` in the place of an entry of the sections Parameters and
Attributes; ``fill_docstring`` replaces it by the entry's text, indented alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent, indent
from typing import TypeVar

__all__ = ["COMMON_ENTRIES", "fill_docstring"]

Class = TypeVar("Class", bound=type)

COMMON_ENTRIES = {
    "views": """
        views : None, list or dict, default=None
            Groups of columns if X is a single matrix, or names of the views to use.
    """,
    "class_weight": """
        class_weight : "balanced", dict or None, default=None
            Weights of the classes, multiplied into the sample weights.
    """,
    "n_jobs": """
        n_jobs : int or None, default=None
            Number of threads; None means 1.
    """,
    "fitted_input": """
        classes_ : ndarray of shape (n_classes,)
            Labels.
        view_names_ : list of str
            Names of the views.
        n_views_in_ : int
            Number of views.
        n_features_in_ : int
            Number of columns over all views.
        view_feature_names_in_ : dict of view -> ndarray of str
            Names of the columns, of the views that have names.
    """,
}

_PLACEHOLDER = re.compile(r"^([ ]*)\{(\w+)\}$", flags=re.MULTILINE)


def fill_docstring(**entries: str) -> Callable[[Class], Class]:
    """Class decorator that replaces the lines ``{name}`` of the docstring by ``entries[name]``.

    ``COMMON_ENTRIES`` need not be given. A line that names no entry is an error.
    """
    texts = {name: dedent(text).strip() for name, text in {**COMMON_ENTRIES, **entries}.items()}

    def decorate(cls: Class) -> Class:
        if cls.__doc__ is not None:  # python -OO drops docstrings
            cls.__doc__ = _PLACEHOLDER.sub(
                lambda match: indent(texts[match[2]], match[1]), cls.__doc__
            )
        return cls

    return decorate
