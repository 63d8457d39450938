"""Names that the user may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["suggest"]

MAX_NAMES = 5000  # comparing with more takes too long


def suggest(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'subtype'?)" for a known name that is close, else nothing."""
    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(candidate.casefold().strip(), candidate)
    folded = name.casefold().strip()
    if folded in by_folded:
        return f" (did you mean {by_folded[folded]!r}?)"
    names = list(by_folded)[:MAX_NAMES]
    close = get_close_matches(folded, names, n=1, cutoff=0.75)
    return f" (did you mean {by_folded[close[0]]!r}?)" if close else ""
