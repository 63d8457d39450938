"""Warnings that point at the line of the user's code that called the library."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Collection, Iterable
from pathlib import Path

import joblib
import sklearn

__all__ = ["warn_of_unseen_views", "warn_user"]

# files between the user's call and ours; Python 3.12 has skip_file_prefixes for this
_INTERNAL_FOLDERS = tuple(
    f"{Path(file).parent}{os.sep}" for file in (__file__, sklearn.__file__, joblib.__file__)
)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line of the call stack outside this package and scikit-learn."""
    frame, stacklevel = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INTERNAL_FOLDERS):
        frame, stacklevel = frame.f_back, stacklevel + 1
    warnings.warn(message, category, stacklevel=stacklevel)


def warn_of_unseen_views(
    view_names: Iterable[str],
    seen_views: Collection[str],
    consequence: str = "take no part in the decision",
) -> None:
    """Warn of the views that no training row has: those that are not among ``seen_views``."""
    unseen = [name for name in view_names if name not in seen_views]
    if unseen:
        names = ", ".join(map(repr, unseen))
        warn_user(f"views {names} are present in no training row and {consequence}")
