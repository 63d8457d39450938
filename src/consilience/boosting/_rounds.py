"""What the rounds of a fit leave behind, and how they decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._targets import tie_break

__all__ = ["Judge", "Member", "Round", "first_largest", "round_decision", "weighted_decision"]


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


def first_largest(values, tolerance=1e-12):
    """Number of the largest value (of each row); the first of those that only rounding parts."""
    values = np.asarray(values)
    return np.argmax(values >= values.max(axis=-1, keepdims=True) - tolerance, axis=-1)


def weighted_decision(predictions, weights, n_classes):
    """Class with the largest weighted vote in each row, −1 where nobody votes."""
    votes = np.zeros((len(predictions[0]), n_classes))
    for h, weight in zip(predictions, weights, strict=True):
        there = np.flatnonzero(h >= 0)
        votes[there, h[there]] += weight
    return np.where(votes.any(axis=1), first_largest(votes), -1)


def round_decision(round_, views, present, n_classes):
    """Class that a round decides for in each row, −1 where none of its views is there."""
    predictions = [member_predictions(member, views, present) for member in round_.members]
    if len(predictions) == 1:
        return predictions[0]
    return weighted_decision(predictions, [member.weight for member in round_.members], n_classes)


def member_predictions(member, views, present):
    """Class codes by one hypothesis, −1 where its view is missing."""
    there, view = present[:, member.view], views[member.view]
    if there.all():
        return member.hypothesis.predict(view)
    predictions = np.full(len(there), -1)
    if there.any():
        predictions[there] = member.hypothesis.predict(view[np.flatnonzero(there)])
    return predictions


class Judge:
    """Accuracy on held-out rows after each round, and when to stop."""

    def __init__(self, model, data, codes, weight):
        self.codes, self.weight = codes, weight
        self.patience = model.n_iter_no_change
        self.views, self.present = [view for _, view in data.items()], data.present
        self.votes = np.tile(tie_break(model.class_prior_), (len(data), 1))
        self.best = -np.inf
        self.best_rounds = self.rounds = 0

    def no_better(self, round_):
        """Count the round in; True after ``patience`` rounds without a gain."""
        decision = round_decision(round_, self.views, self.present, self.votes.shape[1])
        there = np.flatnonzero(decision >= 0)
        self.votes[there, decision[there]] += round_.weight
        self.rounds += 1
        score = np.average(self.votes.argmax(axis=1) == self.codes, weights=self.weight)
        if score > self.best:
            self.best, self.best_rounds = score, self.rounds
        return self.rounds - self.best_rounds >= self.patience
