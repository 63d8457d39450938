"""Claims of a paper, and what the results of a suite say about them.

A claim that one method is better than others, or that a metric rises or falls with a condition, is
decided by the means: it is confirmed if no comparison on any data set and under any condition that
was run says otherwise, and if no cell that this needs is incomplete or failed. Whatever else a
paper claims is explained in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from msgspec import Struct

from consilience.benchmark.metrics import LOWER_IS_BETTER
from consilience.benchmark.results import CellKey, Results
from consilience.benchmark.statistics import round_scores
from consilience.benchmark.tasks import Condition

__all__ = ["Claim", "Verdict", "judge_claim"]

MAX_LISTED = 4


class Claim(Struct, frozen=True, forbid_unknown_fields=True):
    """What a paper claims, in one of four forms.

    ``method`` is at least as good as ``others``, which are all other methods unless they are named;
    or each method of ``order`` is at least as good as the one before it; or the metric ``improves``
    or ``worsens`` with a field of the condition, such as "train_size", for ``method`` or for all.
    ``datasets`` and ``at`` (conditions) restrict the comparisons, and ``margin`` is what one of
    them may differ by. Any other claim has a ``verdict`` of its own, which must begin with
    "confirmed", "not confirmed" or "not testable".
    """

    text: str
    method: str = ""
    others: list[str] | None = None
    order: list[str] | None = None
    improves: str = ""
    worsens: str = ""
    datasets: list[str] | None = None
    at: list[Condition] | None = None
    metric: str = "accuracy"
    margin: float = 0.0
    verdict: str = ""

    def __post_init__(self) -> None:
        along = self.improves or self.worsens
        forms = [bool(self.method and not along), bool(self.order), bool(self.improves)]
        if sum([*forms, bool(self.worsens), bool(self.verdict)]) != 1:
            raise ValueError(
                f"the claim {self.text!r} needs one of a method, an order, improves, worsens and a "
                "verdict"
            )
        fields = Condition.__struct_fields__
        if along and (along not in fields or self.others is not None or self.at is not None):
            raise ValueError(
                f"the claim {self.text!r} must name one of {', '.join(fields)}, and neither others "
                "nor at"
            )
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
    own_mean_everywhere = True
    for place, rivals, without_mean, has_own_mean in _places(claim, results):
        left_out += [f"{place}: {method}" for method in without_mean]
        own_mean_everywhere &= has_own_mean
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
    if not fails and not own_mean_everywhere:
        return Verdict("not confirmed", f"holds in {len(holds)} comparisons, but {missing}")
    if not fails:
        _, closest = min(holds, key=lambda held: held[0])
        ties = f" ({n_ties} of them ties)" if n_ties else ""
        possible = " that could be made" if left_out else ""
        reason = f"in all {n} comparisons{possible}{ties}, closest {closest}"
        return Verdict("confirmed", "; ".join(filter(None, [reason, missing])))
    reasons = [f"holds in {len(holds)} of {n} comparisons", _format(fails), missing]
    return Verdict("not confirmed", "; ".join(filter(None, reasons)))


def _format(places: list[str]) -> str:
    return "; ".join(places[:MAX_LISTED]) + ("; …" if len(places) > MAX_LISTED else "")


def _places(
    claim: Claim, results: Results
) -> Iterator[tuple[str, dict[str, float], list[str], bool]]:
    """Places where the method is planned, its advantages over the others, and those without a mean.

    The last value is whether the method itself has a mean, without which there are no advantages.
    """
    sign = -1.0 if claim.metric in LOWER_IS_BETTER else 1.0
    for place, ours, others in _comparisons(claim, results):
        cells = {name: results.cell(key, claim.metric) for name, key in {**ours, **others}.items()}
        means = {name: cell.mean for name, cell in cells.items() if cell.n_tasks}
        (first,) = ours
        if first not in means:
            continue
        without_mean = [name for name, mean in means.items() if np.isnan(mean)]
        mean_of_ours = means.pop(first)
        rivals = {
            name: float(round_scores(sign * (mean_of_ours - mean)))
            for name, mean in means.items()
            if not np.isnan(mean_of_ours - mean)
        }
        if rivals or without_mean:
            yield place, rivals, without_mean, first not in without_mean


Cells = dict[str, CellKey]


def _comparisons(claim: Claim, results: Results) -> Iterator[tuple[str, Cells, Cells]]:
    """Where a comparison is made, the cell that should be better, and those it is compared with."""
    along = claim.improves or claim.worsens
    for dataset in claim.datasets or results.datasets:
        if along:
            yield from _along(claim, results, dataset, along)
            continue
        for condition in claim.at if claim.at is not None else results.conditions:
            place = ", ".join(filter(None, [dataset, str(condition)]))
            others = claim.others if claim.others is not None else results.methods
            named = [*others, claim.method, *(claim.order or [])]
            cells = {name: CellKey(dataset, condition, name) for name in named}
            for before, after in pairwise(claim.order or []):
                yield f"{place}, {after}", {after: cells[after]}, {before: cells[before]}
            if claim.method:
                rivals = {name: cells[name] for name in others if name != claim.method}
                yield place, {claim.method: cells[claim.method]}, rivals


def _along(
    claim: Claim, results: Results, dataset: str, field: str
) -> Iterator[tuple[str, Cells, Cells]]:
    """Neighbouring values of a condition that alters nothing else, for each method."""
    alike = [c for c in results.conditions if not set(c.alterations()) - {field}]
    conditions = sorted(
        (c for c in alike if getattr(c, field) is not None), key=lambda c: getattr(c, field)
    )
    for method in [claim.method] if claim.method else results.methods:
        for pair in pairwise(conditions):
            below, above = (
                {f"{field} = {getattr(c, field):g}": CellKey(dataset, c, method)} for c in pair
            )
            better, worse = (above, below) if claim.improves else (below, above)
            yield f"{dataset}, {method}, {next(iter(better))}", better, worse
