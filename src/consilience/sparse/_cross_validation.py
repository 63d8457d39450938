"""The penalty, and one other parameter, of least log loss on left-out rows along warm paths."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience._compat import Progress
from consilience._folds import split_rows
from consilience._parameters import CV, N_JOBS, Number, StrOptions
from consilience._solvers.penalised import lambda_path
from consilience.sparse._penalised import PenalisedClassifier, Setting, path_losses
from consilience.views import MultiViewData

__all__ = ["CVMixin", "choose_penalty"]

# gap of the solutions that are only compared
CV_TOL = 1e-5


def choose_penalty(scores: np.ndarray, rule: str) -> tuple[int, int]:
    """Setting and penalty (folds x settings x penalties, descending) that the rule chooses."""
    mean = scores.mean(axis=0)
    setting, best = np.unravel_index(mean.argmin(), mean.shape)
    if rule == "1se" and len(scores) > 1:
        error = scores[:, setting, best].std(ddof=1) / np.sqrt(len(scores))
        best = np.flatnonzero(mean[setting] <= mean[setting, best] + error)[0]
    return int(setting), int(best)


class CVMixin(PenalisedClassifier):
    """Chooses among the settings of ``_settings`` and along the path of penalties."""

    _parameter_constraints: dict[str, list[Any]] = {
        **PenalisedClassifier._parameter_constraints,
        "n_penalties": [Number(Integral, 2, 10_000, closed="both")],
        "min_penalty": [Number(Real, 0, 1, closed="neither")],
        "cv": CV,
        "rule": [StrOptions({"best", "1se"})],
        "n_jobs": N_JOBS,
    }

    if TYPE_CHECKING:  # of each method
        n_penalties: int
        min_penalty: float
        cv: Any
        rule: str

        def _settings(self) -> list[Setting]: ...
        def _set_choice(self, setting: Setting) -> None: ...

    @property
    def _drops_zero_weights(self) -> bool:
        # splits given as row numbers must keep their meaning
        return not hasattr(self.cv, "__iter__")

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        self._check_views(data)
        folds = split_rows(self.cv, codes, data, self.classes_, weight)
        settings = self._settings()
        self.penalties_ = lambda_path(1.0, self.min_penalty, self.n_penalties)
        kept = np.flatnonzero(weight)
        whole = data[kept], codes[kept], weight[kept]
        solved = [self._solver(*whole, setting) for setting in settings]

        def evaluate(task: Any) -> list[float]:
            (train, test), number = task
            lams = self.penalties_ * solved[number][1].lam_max
            train = train[weight[train] > 0]
            design, solver = self._solver(
                data[train], codes[train], weight[train], settings[number]
            )
            solver.tol = max(solver.tol, CV_TOL * solver.null_loss)
            losses = path_losses(design, solver, lams, data[test], codes[test])
            return [float(np.average(each, weights=weight[test])) for each in losses]

        tasks = [(fold, number) for fold in folds for number in range(len(settings))]
        with Progress(self, n_tasks=len(tasks)) as progress:
            scores = progress.map(evaluate, tasks, "cross-validate")
        shape = len(folds), len(settings), self.n_penalties
        self.scores_ = np.reshape(scores, shape)
        chosen, best = choose_penalty(self.scores_, self.rule)
        self.best_score_ = float(self.scores_.mean(axis=0)[chosen, best])
        self.penalty_ = float(self.penalties_[best])
        self._set_choice(settings[chosen])
        design, solver = solved[chosen]
        lam = self.penalty_ * solver.lam_max
        self._fit_point(whole[0], whole[2], design, solver, lam)
