"""Claims of a paper, and what the results of a suite say about them.

A claim that one method is better than others is decided by the means: it is confirmed if no other
is better on any data set and under any condition that was run, and if no cell that this needs is
incomplete or failed. Whatever else a paper claims is explained in words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from consilience.benchmark.metrics import LOWER_IS_BETTER
from consilience.benchmark.results import CellKey, Results
from consilience.benchmark.statistics import round_scores
from consilience.benchmark.tasks import Condition

__all__ = ["Claim", "Verdict", "judge_claim"]

MAX_LISTED = 4


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
    holds: list[tuple[float, str]] = []
    fails: list[str] = []
    left_out: list[str] = []
    n_ties = 0
    for place, rivals, without_mean in _places(claim, results):
        left_out += [f"{place}: {method}" for method in without_mean]
        if not rivals:
            continue
        rival = min(rivals, key=lambda name: rivals[name])
        difference = rivals[rival]
        text = f"{place}: {difference:+.4f} against {rival}"
        n_ties += difference == 0
        if difference >= -claim.margin:
            holds.append((difference, text))
        else:
            fails.append(text)
    n = len(holds) + len(fails)
    verb = "cells have" if len(left_out) > 1 else "cell has"
    missing = f"{len(left_out)} {verb} no mean: {_format(left_out)}" if left_out else ""
    if not n:
        return Verdict("not run yet", missing)
    if not fails and left_out:
        return Verdict("not confirmed", f"holds in {len(holds)} comparisons, but {missing}")
    if not fails:
        _, closest = min(holds, key=lambda held: held[0])
        ties = f" ({n_ties} of them ties)" if n_ties else ""
        return Verdict("confirmed", f"in all {n} comparisons{ties}, closest {closest}")
    reasons = [f"holds in {len(holds)} of {n} comparisons", _format(fails), missing]
    return Verdict("not confirmed", "; ".join(filter(None, reasons)))


def _format(places: list[str]) -> str:
    return "; ".join(places[:MAX_LISTED]) + ("; …" if len(places) > MAX_LISTED else "")


def _places(claim: Claim, results: Results) -> Iterator[tuple[str, dict[str, float], list[str]]]:
    """Places where the method is planned, its advantages over the others, and those without a mean.

    There are no advantages where the method itself has no mean.
    """
    sign = -1.0 if claim.metric in LOWER_IS_BETTER else 1.0
    for dataset in claim.datasets or results.datasets:
        for condition in claim.at if claim.at is not None else results.conditions:
            others = claim.others if claim.others is not None else results.methods
            cells = {
                name: results.cell(CellKey(dataset, condition, name), claim.metric)
                for name in dict.fromkeys([claim.method, *others])
            }
            means = {name: cell.mean for name, cell in cells.items() if cell.n_tasks}
            if claim.method not in means:
                continue
            without_mean = [name for name, mean in means.items() if np.isnan(mean)]
            ours = means.pop(claim.method)
            rivals = {
                name: float(round_scores(sign * (ours - mean)))
                for name, mean in means.items()
                if not np.isnan(ours - mean)
            }
            if rivals or without_mean:
                place = ", ".join(filter(None, [dataset, str(condition)]))
                yield place, rivals, without_mean
