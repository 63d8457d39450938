"""Claims of a paper, and what the results of a suite say about them.

A claim that one method is better than others is decided by the means: it is confirmed if no other
is better on any data set and under any condition that was run. Whatever else a paper claims is
explained in words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from consilience.benchmark.metrics import LOWER_IS_BETTER
from consilience.benchmark.results import CellKey, Results
from consilience.benchmark.tasks import Condition

__all__ = ["Claim", "Verdict", "judge_claim"]


class Claim(Struct, frozen=True, forbid_unknown_fields=True):
    """What a paper claims: ``method`` is at least as good as ``others``; or a reason in words.

    ``others`` are all other methods unless they are named, and so are ``datasets`` and ``at``
    (conditions); ``margin`` is what the others may be better by. A claim without a method has a
    ``verdict`` of its own, which must begin with "confirmed", "not confirmed" or "not testable".
    """

    text: str
    method: str = ""
    others: list[str] | None = None
    datasets: list[str] | None = None
    at: list[Condition] | None = None
    metric: str = "accuracy"
    margin: float = 0.0
    verdict: str = ""

    def __post_init__(self) -> None:
        if bool(self.method) == bool(self.verdict):
            raise ValueError(f"the claim {self.text!r} needs either a method or a verdict")
        if self.verdict and not self.verdict.startswith(
            ("confirmed", "not confirmed", "not testable")
        ):
            raise ValueError(
                f"the verdict of {self.text!r} must begin with 'confirmed', 'not confirmed' or "
                f"'not testable', got {self.verdict!r}"
            )


class Verdict(Struct, frozen=True):
    """A word, "confirmed", "not confirmed", "not testable" or "not run yet", and a reason."""

    word: str
    reason: str = ""

    def __str__(self) -> str:
        return f"**{self.word}**" + (f": {self.reason}" if self.reason else "")


def judge_claim(claim: Claim, results: Results) -> Verdict:
    """Decide a claim by the means of the cells that are complete."""
    if claim.verdict:
        word, _, reason = claim.verdict.partition(":")
        return Verdict(word.strip(), reason.strip())
    holds: list[str] = []
    fails: list[str] = []
    n_ties = 0
    for place, exact_difference, rival in _differences(claim, results):
        # means of equal numbers may differ by an ulp
        difference = round(exact_difference, 12) + 0.0
        text = f"{place}: {difference:+.4f} against {rival}"
        n_ties += difference == 0
        (holds if difference >= -claim.margin else fails).append(text)
    n = len(holds) + len(fails)
    if not n:
        return Verdict("not run yet")
    if not fails:
        closest = min(holds, key=lambda text: float(text.rpartition(": ")[2].split()[0]))
        ties = f" ({n_ties} of them ties)" if n_ties else ""
        return Verdict("confirmed", f"in all {n} comparisons{ties}, closest {closest}")
    listed = "; ".join(fails[:4]) + ("; …" if len(fails) > 4 else "")
    return Verdict("not confirmed", f"holds in {len(holds)} of {n} comparisons; {listed}")


def _differences(claim: Claim, results: Results) -> Iterator[tuple[str, float, str]]:
    """Place, difference to the best of the others and its name, where all cells are complete."""
    sign = -1.0 if claim.metric in LOWER_IS_BETTER else 1.0
    for dataset in claim.datasets or results.datasets:
        for condition in claim.at if claim.at is not None else results.conditions:
            ours = results.cell(CellKey(dataset, condition, claim.method), claim.metric).mean
            others = claim.others if claim.others is not None else results.methods
            means = {
                name: results.cell(CellKey(dataset, condition, name), claim.metric).mean
                for name in others
                if name != claim.method
            }
            means = {name: mean for name, mean in means.items() if not np.isnan(mean)}
            if means and not np.isnan(ours):
                rival = max(means, key=lambda name: sign * means[name])
                place = ", ".join(filter(None, [dataset, str(condition)]))
                yield place, sign * (ours - means[rival]), rival
