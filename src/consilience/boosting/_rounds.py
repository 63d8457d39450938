"""What the rounds of a fit leave behind, and how they decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._targets import tie_break
from consilience.views import MultiViewData

__all__ = [
    "EarlyStopping",
    "Member",
    "Round",
    "first_largest",
    "gather_views",
    "round_decision",
    "weighted_decision",
]


@dataclass(frozen=True)
class Member:
    """A weak hypothesis on one view."""

    view: int
    hypothesis: Any
    weight: float = 1.0


@dataclass(frozen=True)
class Round:
    """What one round adds: members that decide together, and the weight of their decision."""

    weight: float
    members: tuple[Member, ...]
    last: bool = False


def first_largest(values: Any, tolerance: float = 1e-12) -> Any:
    """Number of the largest value (of each row); the first of those that only rounding parts."""
    values = np.asarray(values)
    return np.argmax(values >= values.max(axis=-1, keepdims=True) - tolerance, axis=-1)


def gather_views(data: MultiViewData) -> Any:
    """(matrix of the rows that have the view, their numbers or None for all) for each view.

    Done once: every learner on the view then reads the same numbers, as floats.
    """
    gathered = []
    for v, (_, view) in enumerate(data.items()):
        rows = None if data.present[:, v].all() else np.flatnonzero(data.present[:, v])
        part = view if rows is None else view[rows]
        if isinstance(part, np.ndarray) and part.dtype not in (np.float32, np.float64):
            part = part.astype(np.float64)
        gathered.append((part, rows))
    return gathered


def weighted_decision(predictions: Any, weights: Any, prior: np.ndarray) -> Any:
    """Class with the largest weighted vote in each row, −1 where nobody votes.

    Ties go to the larger prior, then to the lower class.
    """
    votes = np.zeros((len(predictions[0]), len(prior)))
    for h, weight in zip(predictions, weights, strict=True):
        is_present = np.flatnonzero(h >= 0)
        votes[is_present, h[is_present]] += weight
    return np.where(votes.any(axis=1), (votes + tie_break(prior)).argmax(axis=1), -1)


def round_decision(round_: Round, views: Any, n: int, prior: np.ndarray) -> Any:
    """Class that a round decides for in each of n rows, −1 where none of its views is there."""
    predictions = [member_predictions(member, views, n) for member in round_.members]
    if len(predictions) == 1:
        return predictions[0]
    return weighted_decision(predictions, [member.weight for member in round_.members], prior)


def member_predictions(member: Member, views: Any, n: int) -> Any:
    """Class codes by one hypothesis, −1 where its view is missing."""
    part, rows = views[member.view]
    if rows is None:
        return member.hypothesis.predict(part)
    predictions = np.full(n, -1)
    if len(rows):
        predictions[rows] = member.hypothesis.predict(part)
    return predictions


class EarlyStopping:
    """Accuracy on held-out rows after each round, and when to stop."""

    def __init__(
        self, model: Any, data: MultiViewData, codes: np.ndarray, weight: np.ndarray
    ) -> None:
        self.codes, self.weight = codes, weight
        self.patience = model.n_iter_no_change
        self.views, self.prior = gather_views(data), model.class_prior_
        self.votes = np.tile(tie_break(self.prior), (len(data), 1))
        self.best = -np.inf
        self.best_rounds = self.rounds = 0

    def no_better(self, round_: Round) -> Any:
        """Count the round in; True after ``patience`` rounds without a gain."""
        decision = round_decision(round_, self.views, len(self.votes), self.prior)
        is_present = np.flatnonzero(decision >= 0)
        self.votes[is_present, decision[is_present]] += round_.weight
        self.rounds += 1
        score = np.average(self.votes.argmax(axis=1) == self.codes, weights=self.weight)
        if score > self.best:
            self.best, self.best_rounds = score, self.rounds
        return self.rounds - self.best_rounds >= self.patience
