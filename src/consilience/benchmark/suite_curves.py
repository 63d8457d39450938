"""Curves that a suite asks for on its page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from consilience.benchmark.tasks import Condition

__all__ = ["Curve"]


class Curve(Struct, frozen=True, forbid_unknown_fields=True):
    """A metric against ``x``: a field of the condition, "rounds", "method" or "dataset".

    For the last two, ``pattern`` is a regular expression with the group ``x`` and, for methods, the
    group ``name``. ``fixed`` are fields of the condition that may be altered as well, to the same
    value in all cells. Of the rounds the accuracy alone is known.
    """

    title: str
    x: Literal[
        "train_size",
        "label_noise",
        "feature_noise",
        "missing",
        "junk_views",
        "rounds",
        "method",
        "dataset",
    ]
    metric: str = "accuracy"
    label: str = ""
    pattern: str = ""
    methods: list[str] | None = None
    fixed: tuple[str, ...] = ()
    scale: Literal["linear", "log"] = "linear"

    def __post_init__(self) -> None:
        if self.x == "rounds" and self.metric != "accuracy":
            raise ValueError(
                f"the curve {self.title!r} against rounds must have the metric 'accuracy', got "
                f"{self.metric!r}"
            )
        groups = {"dataset": {"x"}, "method": {"x", "name"}}.get(self.x, set())
        try:
            given = set(re.compile(self.pattern).groupindex)
        except re.error as error:
            raise ValueError(f"the pattern of the curve {self.title!r}: {error}") from None
        if given != groups:
            raise ValueError(
                f"the pattern of the curve {self.title!r} must have the groups {sorted(groups)}, "
                f"got {self.pattern!r}"
            )

    def includes(self, condition: Condition) -> bool:
        """Whether a condition is on the curve: it has a value, and alters nothing else."""
        return (
            self.x in Condition.__struct_fields__
            and getattr(condition, self.x) is not None
            and not set(condition.alterations()) - {self.x, *self.fixed}
        )

    def condition_values(self, conditions: Iterable[Condition]) -> list[float]:
        """Values of the conditions that are on the curve."""
        return [getattr(c, self.x) for c in conditions if self.includes(c)]
