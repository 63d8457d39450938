"""The training loop and the vote shared by all boosting methods.

A method implements ``_start(problem)``, which sets the state of the rows and returns its own, and
``_boost(problem, state)``, which returns the ``Round`` to add to the vote, or None to stop.

Probabilities are softmax(2 · votes). Like those of other boosting methods they tend to be
overconfident; CalibratedClassifierCV can correct this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from numbers import Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.special import softmax
from sklearn.utils import check_random_state

from consilience._base import MultiViewClassifier
from consilience._binned_tree import BinnedTreeClassifier
from consilience._compat import Progress
from consilience._copies import row_keys
from consilience._core.threads import map_in_threads
from consilience._folds import split_holdout
from consilience._parameters import (
    ESTIMATOR,
    FRACTION,
    N_JOBS,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    VIEWS,
    Number,
)
from consilience.boosting._learners import EstimatorLearner, TreeLearner
from consilience.boosting._problem import BlockProblem, BoostingProblem, Problem
from consilience.boosting._rounds import (
    EarlyStopping,
    Round,
    VoteCount,
    gather_for_rounds,
    round_decision,
)
from consilience.distributed._binned_rows import bin_blocks
from consilience.distributed._blocks import BlockTraining
from consilience.distributed._mixin import BlockwiseFitMixin
from consilience.views import MultiViewData
from consilience.views._params import PerViewParams, per_view, per_view_values

__all__ = ["BoostingClassifier"]


class BoostingClassifier(BlockwiseFitMixin, MultiViewClassifier, PerViewParams):
    """Base class of the boosting methods."""

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": ESTIMATOR,
        "n_estimators": [POSITIVE_INTEGER],
        "learning_rate": [Number(Real, 0, 10, closed="right")],
        "max_depth": [POSITIVE_INTEGER],
        "resample": ["boolean"],
        "validation_fraction": [FRACTION],
        "n_iter_no_change": [None, POSITIVE_INTEGER],
        "warm_start": ["boolean"],
        "views": VIEWS,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        learning_rate: float = 1.0,
        max_depth: int = 3,
        resample: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        warm_start: bool = False,
        views: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.resample = resample
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.views = views
        self.random_state = random_state
        self.n_jobs = n_jobs

    # -- fit -----------------------------------------------------------------------------------

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        resumed = self._resume(data, codes, weight)
        if not resumed:
            self._rounds: list[Round] = []
            self._state, self._row_state, self._stopped = None, None, False
            keys = row_keys(data) if self.warm_start else np.empty(0, dtype=np.uint64)
            self._training_data = (self._layout, self.classes_, codes, weight, keys)
            self._random = self._make_random()
        train, validation = self._split(codes, data)
        early_stopping = None
        if len(validation):
            early_stopping = EarlyStopping(
                self, data[validation], codes[validation], weight[validation]
            )
            data, codes, weight = data[train], codes[train], weight[train]
        n_threads = min(effective_n_jobs(self.n_jobs), data.n_views)
        with map_in_threads(n_threads) as map_views:
            problem = BoostingProblem(
                codes=codes,
                n_classes=len(self.classes_),
                weight=weight,
                learners=self._learners(data, codes, weight, map_views),
                n_rounds=self.n_estimators,
                random=self._random,
                prior=self.class_prior_,
                map_views=map_views,
            )
            if self._row_state is not None:
                problem.resume(self._row_state)
            self._run_rounds(problem, early_stopping)
            self._row_state = problem.rows.state
        if not self.warm_start:
            del self._state, self._row_state, self._random, self._training_data
        self._set_fitted_attributes()

    def _make_random(self) -> np.random.RandomState:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return np.random.RandomState(seed)

    # -- fit on blocks -------------------------------------------------------------------------

    def _check_blockwise_parameters(self) -> None:
        if self.resample or self.warm_start or self.n_iter_no_change is not None:
            raise ValueError(
                "data in blocks need resample=False, warm_start=False and n_iter_no_change=None; "
                "choose the number of rounds with staged_predict on samples in memory"
            )
        for estimator in per_view_values(self.estimator):
            if estimator is not None and not _is_plain_binned_tree(estimator):
                raise TypeError(
                    "data in blocks need BinnedTreeClassifier without class_weight, or None, as "
                    f"estimator; got {type(estimator).__name__}"
                )

    def _fit_blocks(self, training: BlockTraining) -> None:
        trees = list(self._estimators(tuple(self.view_names_)).values())
        problem = BlockProblem(
            training=bin_blocks(training, [tree.max_bins for tree in trees]),
            trees=trees,
            n_classes=len(self.classes_),
            n_rounds=self.n_estimators,
            random=self._make_random(),
            prior=self.class_prior_,
        )
        self._rounds = []
        self._state, self._stopped = None, False
        self._run_rounds(problem, None)
        del self._state
        self._set_fitted_attributes()

    def _estimators(self, names: tuple[str, ...]) -> dict[str, Any]:
        estimators = per_view(self.estimator, names, "estimator")
        return {
            name: BinnedTreeClassifier(self.max_depth) if estimator is None else estimator
            for name, estimator in estimators.items()
        }

    def _run_rounds(self, problem: Problem, early_stopping: EarlyStopping | None) -> None:
        if self._state is None:
            self._state = self._start(problem)
        # a method that has stopped adds no rounds with warm_start either
        n_rounds = 0 if self._stopped else self.n_estimators - len(self._rounds)
        with Progress(self, n_tasks=max(0, n_rounds)) as progress:
            for _ in range(n_rounds):
                round_ = self._boost(problem, self._state)
                if round_ is None:
                    self._stopped = True
                    break
                self._rounds.append(round_)
                interrupted = progress.tick("round")
                self._stopped = round_.last
                # scored in any case: of rounds that were not, none would be kept
                enough = early_stopping is not None and early_stopping.should_stop(round_)
                if self._stopped or interrupted or enough:
                    break
        if early_stopping is not None:
            del self._rounds[early_stopping.best_n_rounds :]

    def _check_parameter_relations(self) -> None:
        if self.n_iter_no_change is not None and self.warm_start:
            raise ValueError("warm_start cannot be combined with n_iter_no_change")

    def _resume(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> bool:
        """Return True if the previous fit is continued, which requires the same training data."""
        if not (self.warm_start and getattr(self, "_state", None) is not None):
            return False
        if self.n_estimators < len(self._rounds):
            raise ValueError(
                f"warm_start=True continues a fit of {len(self._rounds)} rounds, but "
                f"n_estimators={self.n_estimators}"
            )
        layout, classes, old_codes, old_weight, keys = self._training_data
        for difference, same in (
            (f"{len(old_codes)} rows", len(codes) == len(old_codes)),
            ("different views", layout == self._layout),
            (
                "different labels",
                np.array_equal(self.classes_, classes) and np.array_equal(codes, old_codes),
            ),
            ("different weights", np.array_equal(weight, old_weight)),
            ("different values", len(data) == len(keys) and np.array_equal(row_keys(data), keys)),
        ):
            if not same:
                raise ValueError(
                    f"warm_start=True continues a fit on {difference}, but X has {len(codes)} rows "
                    f"of {', '.join(self.view_names_)}; set warm_start=False for a new fit"
                )
        return True

    def _split(self, codes: np.ndarray, data: MultiViewData) -> tuple[np.ndarray, np.ndarray]:
        """Training and validation rows."""
        rows = np.arange(len(codes))
        if self.n_iter_no_change is None:
            return rows, rows[:0]
        size = float(self.validation_fraction)
        return split_holdout(codes, data, self.classes_, size, self._random, "validation_fraction")

    def _learners(
        self,
        data: MultiViewData,
        codes: np.ndarray,
        weight: np.ndarray,
        map_views: Callable[..., Iterable[Any]],
    ) -> list[TreeLearner | EstimatorLearner]:
        estimators = self._estimators(data.view_names)

        def make(v: int) -> TreeLearner | EstimatorLearner:
            name, present = data.view_names[v], data.present[:, v]
            estimator = estimators[name]
            if not self.resample and _is_plain_binned_tree(estimator):
                return TreeLearner(
                    estimator, data[name], present, codes, weight, len(self.classes_)
                )
            return EstimatorLearner(
                estimator, data[name], present, codes, weight, self.classes_, name, self.resample
            )

        return list(map_views(make, range(data.n_views)))

    def _set_fitted_attributes(self) -> None:
        """Set the public attributes."""
        self.estimators_: list[Any] = [round_.members[0].hypothesis for round_ in self._rounds]
        self.estimator_views_: Any = np.array([r.members[0].view for r in self._rounds], dtype=int)
        self.estimator_weights_ = np.array([round_.weight for round_ in self._rounds])
        self.view_weights_ = self._view_shares()

    def _view_shares(self) -> np.ndarray:
        totals = np.zeros(self.n_views_in_)
        for round_ in self._rounds:
            total_weight = sum(member.weight for member in round_.members)
            for member in round_.members:
                totals[member.view] += abs(round_.weight) * member.weight / total_weight
        if totals.sum() == 0:
            return np.full(self.n_views_in_, 1 / self.n_views_in_)
        return totals / totals.sum()

    # -- vote ----------------------------------------------------------------------------------

    def _count_votes(self, data: MultiViewData) -> Iterator[VoteCount]:
        """The votes after each round, in one object that changes."""
        count = VoteCount(len(data), self.class_prior_)
        views = gather_for_rounds(data, self._rounds)
        if not self._rounds:
            yield count
        for round_ in self._rounds:
            decision = round_decision(round_, views, len(data), self.class_prior_)
            count.add(decision, round_.weight)
            yield count

    def _scores(self, data: MultiViewData) -> np.ndarray:
        *_, count = self._count_votes(data)
        return count.scores()

    def _probabilities(self, data: MultiViewData) -> np.ndarray:
        """Softmax(2 · votes), the link for which the exponential loss estimates log-odds."""
        return softmax(2 * self._scores(data), axis=1)

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """``decision_function`` after each round.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        for votes in self._staged(X):
            yield votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """``predict`` after each round.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Samples with the views seen in fit.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        for votes in self._staged(X):
            yield self.classes_[votes.argmax(axis=1)]

    def _staged(self, X: Any) -> Iterator[np.ndarray]:
        data, has_view = self._validate_for_predict(X)
        for count in self._count_votes(data):
            votes = count.scores()
            votes[~has_view] = self.class_prior_
            yield votes


def _is_plain_binned_tree(estimator: Any) -> bool:
    return type(estimator) is BinnedTreeClassifier and estimator.class_weight is None
