"""Rounds of a boosted vote, their decisions, and early stopping."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree import BaseDecisionTree

from consilience._model_types import model_type
from consilience._targets import tie_break
from consilience.views import MultiViewData

__all__ = [
    "EarlyStopping",
    "Member",
    "Round",
    "RoundRows",
    "VoteCount",
    "as_codes",
    "first_largest",
    "gather_for_rounds",
    "gather_views",
    "round_decision",
    "weighted_decision",
]


@model_type("boosting.Member")
@dataclass(frozen=True)
class Member:
    """A weak hypothesis on one view."""

    view: int
    hypothesis: Any
    weight: float = 1.0


@model_type("boosting.Round")
@dataclass(frozen=True)
class Round:
    """The members added in one round, and the weight of their joint decision."""

    weight: float
    members: tuple[Member, ...]
    last: bool = False


@dataclass(eq=False)
class RoundRows:
    """Training rows, or a block of them, during a round.

    ``state`` is what a method keeps for the rows; ``predictions`` are those of the learners of all
    views in this round, −1 where the view is missing, None for views without one; ``mask`` is what
    a method makes of them once a round.
    """

    codes: np.ndarray
    state: dict[str, Any]
    predictions: Sequence[Any] = ()
    mask: np.ndarray | None = None

    def set_predictions(self, predictions: Iterable[Any]) -> None:
        """Set the predictions of a new round."""
        self.predictions, self.mask = tuple(predictions), None


def as_codes(values: np.ndarray) -> np.ndarray:
    """Class codes as the compiled code expects them."""
    return np.ascontiguousarray(values, dtype=np.int32)


def first_largest(values: Any, tolerance: float = 1e-12) -> Any:
    """Argmax along the last axis; the first of values that are equal up to rounding."""
    values = np.asarray(values)
    return np.argmax(values >= values.max(axis=-1, keepdims=True) - tolerance, axis=-1)


def gather_views(data: MultiViewData) -> list[tuple[Any, np.ndarray | None]]:
    """Rows that have the view, as floats, and their indices (None for all), for each view."""
    gathered = []
    for v, (_, view) in enumerate(data.items()):
        rows = None if data.present[:, v].all() else np.flatnonzero(data.present[:, v])
        part = view if rows is None else view[rows]
        if isinstance(part, np.ndarray) and part.dtype not in (np.float32, np.float64):
            part = part.astype(np.float64)
        gathered.append((part, rows))
    return gathered


def gather_for_rounds(
    data: MultiViewData, rounds: Iterable[Round]
) -> list[tuple[Any, np.ndarray | None]]:
    """``gather_views`` for prediction.

    scikit-learn's trees convert their input to float32, which is done once here for all rounds.
    """
    for_trees: dict[int, bool] = {}
    for round_ in rounds:
        for member in round_.members:
            classifier = getattr(member.hypothesis, "estimator", None)
            is_tree = isinstance(classifier, BaseDecisionTree)
            for_trees[member.view] = is_tree and for_trees.get(member.view, True)
    views = gather_views(data)
    with np.errstate(over="ignore"):  # the trees object to infinity
        for v, (part, rows) in enumerate(views):
            if for_trees.get(v) and isinstance(part, np.ndarray):
                views[v] = part.astype(np.float32), rows
    return views


def add_votes(votes: np.ndarray, decision: np.ndarray, weight: float) -> None:
    """Add a weight to the votes (n x K) for the class decided in each row; −1 abstains."""
    place = np.arange(0, votes.size, votes.shape[1]) + decision
    if decision.min(initial=0) < 0:
        place = place[decision >= 0]
    votes.reshape(-1)[place] += weight


class VoteCount:
    """Votes of rounds, rescaled in each row for the rounds that abstain there.

    A row in which all of them abstain gets the votes of the class prior.
    """

    def __init__(self, n: int, prior: np.ndarray) -> None:
        self.prior = prior
        self.votes, self.cast = np.zeros((n, len(prior))), np.zeros(n)
        self.total = 0.0

    def add(self, decision: np.ndarray, weight: float) -> None:
        """Add the decisions of a round."""
        add_votes(self.votes, decision, weight)
        self.cast += abs(weight) * (decision >= 0)
        self.total += abs(weight)

    def scores(self) -> np.ndarray:
        """The votes after all rounds so far."""
        scale = np.divide(self.total, self.cast, out=np.zeros_like(self.cast), where=self.cast > 0)
        votes = self.votes * scale[:, None] + tie_break(self.prior)
        return np.where(self.cast[:, None] > 0, votes, 0.5 * np.log(self.prior))


def weighted_decision(predictions: Any, weights: Any, prior: np.ndarray) -> np.ndarray:
    """Class with the largest weighted vote in each row; −1 if all members abstain.

    Ties are resolved in favour of the larger prior, then of the first class.
    """
    votes = np.zeros((len(predictions[0]), len(prior)))
    for h, weight in zip(predictions, weights, strict=True):
        add_votes(votes, h, weight)
    return np.where(votes.any(axis=1), (votes + tie_break(prior)).argmax(axis=1), -1)


def round_decision(round_: Round, views: Any, n: int, prior: np.ndarray) -> np.ndarray:
    """Class predicted by a round in each of n rows; −1 where all its views are missing."""
    predictions = [member_predictions(member, views, n) for member in round_.members]
    if len(predictions) == 1:
        return predictions[0]
    return weighted_decision(predictions, [member.weight for member in round_.members], prior)


def member_predictions(member: Member, views: Any, n: int) -> np.ndarray:
    """Class codes predicted by one hypothesis; −1 where its view is missing."""
    part, rows = views[member.view]
    if rows is None:
        return member.hypothesis.predict(part)
    predictions = np.full(n, -1)
    if len(rows):
        predictions[rows] = member.hypothesis.predict(part)
    return predictions


class EarlyStopping:
    """Validation accuracy after each round, and the decision when to stop."""

    def __init__(
        self, model: Any, data: MultiViewData, codes: np.ndarray, weight: np.ndarray
    ) -> None:
        self.codes, self.weight = codes, weight
        self.patience = model.n_iter_no_change
        self.views, self.prior = gather_views(data), model.class_prior_
        self.votes = np.tile(tie_break(self.prior), (len(data), 1))
        self.best_score = -np.inf
        self.best_n_rounds = self.n_rounds = 0

    def should_stop(self, round_: Round) -> bool:
        """Add a round; return True after ``patience`` rounds without an improvement."""
        decision = round_decision(round_, self.views, len(self.votes), self.prior)
        add_votes(self.votes, decision, round_.weight)
        self.n_rounds += 1
        score = np.average(self.votes.argmax(axis=1) == self.codes, weights=self.weight)
        if score > self.best_score:
            self.best_score, self.best_n_rounds = score, self.n_rounds
        return self.n_rounds - self.best_n_rounds >= self.patience
