"""A bounded memory of what was worked out for a pattern of views; never saved with the model."""

from __future__ import annotations

__all__ = ["PatternCache"]

MAX_PATTERNS = 64


class PatternCache:
    """Keep the last ``MAX_PATTERNS`` results, each of which depends on its key alone."""

    def __init__(self):
        self._held = {}

    def get(self, key, compute):
        """What ``compute()`` gave for this key before, or gives now."""
        result = self._held.get(key)
        if result is None:
            result = self._held[key] = compute()
            for oldest in list(self._held)[:-MAX_PATTERNS]:
                self._held.pop(oldest, None)
        return result

    def __getstate__(self):
        return {"_held": {}}
