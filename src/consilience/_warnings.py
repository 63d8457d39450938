"""Warnings that point at the user's own line, however deep in the package they are raised."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

__all__ = ["warn_of_unseen_views", "warn_user"]

_PACKAGE = str(Path(__file__).parent)
# frames between a user's call and ours that say nothing: wrappers of scikit-learn and joblib
_LIBRARIES = tuple(f"{sep}{name}{sep}" for sep in "/\\" for name in ("sklearn", "joblib"))


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost frame outside this package, scikit-learn and joblib."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_internal(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level - 1)


def _is_internal(filename: str) -> bool:
    return filename.startswith(_PACKAGE) or any(part in filename for part in _LIBRARIES)


def warn_of_unseen_views(names: Iterable[str], consequence: str = "") -> None:
    """Warn of views that are present in no training row."""
    listed = ", ".join(repr(str(name)) for name in names)
    if listed:
        consequence = consequence or "take no part in the decision"
        warn_user(f"views {listed} are present in no training row and {consequence}")
