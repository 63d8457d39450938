"""The time budget: what fits into it, and that it is kept."""

import time
from dataclasses import replace

import numpy as np
import pytest

from comparison.in_process import Store, problem_of
from consilience import compare
from consilience.benchmark.pool import InProcessPool, ProcessPool, WorkerSetup
from consilience.benchmark.protocol import Folds
from consilience.benchmark.results import Results
from consilience.benchmark.run import run_tasks
from consilience.benchmark.tasks import cross_validation
from consilience.comparison.budget import MIN_METHODS, SAFETY, TimeBudget, choose_methods
from consilience.comparison.execution import _describe_partial
from consilience.comparison.study import StudyResults
from consilience.fusion import LateFusionClassifier
from consilience.methods import method_from_estimator


class Sleeper(LateFusionClassifier):
    """A method that never ends."""

    def fit(self, X, y, sample_weight=None):
        time.sleep(600)


@pytest.mark.parametrize("seed", range(20))
def test_chosen_methods_fit_into_the_time(seed):
    rng = np.random.default_rng(seed)
    seconds = {f"m{i}": float(s) for i, s in enumerate(rng.exponential(5, size=10))}
    n_splits, jobs, left = int(rng.integers(1, 10)), int(rng.integers(1, 4)), rng.exponential(60)
    chosen = choose_methods(seconds, n_splits, jobs, left)
    total = sum(seconds[name] for name in chosen) * n_splits / jobs
    assert total <= SAFETY * left or len(chosen) == MIN_METHODS
    # no method that is left out is faster than one that is not
    others = set(seconds) - chosen
    assert not others or max(map(seconds.get, chosen)) <= min(map(seconds.get, others))


def test_stages_end_one_before_the_other():
    budget = TimeBudget(time.monotonic(), 90.0)
    until, fit_limit = budget.first_split_limits(jobs=2, n_splits=10)
    assert budget.start < until < budget.fits_end() < budget.refit_end < budget.end
    assert budget.fits_end(refit_seconds=0.1) > budget.fits_end()
    assert 0 < fit_limit <= until - budget.start + 1


def test_what_is_kept_for_the_last_fit_is_half_as_much_again_and_a_second():
    budget = TimeBudget(0.0, 1000.0)
    assert budget.refit_end - budget.fits_end(refit_seconds=4.0) == pytest.approx(7.0)
    assert budget.fits_end(refit_seconds=1e6) == budget.fits_end()


def test_a_partial_comparison_says_whether_a_method_was_chosen():
    nothing = Results([], [], [], [], 0)
    partial = StudyResults(nothing, nothing, nothing, nothing, 2, 5, None)
    text = "time budget exceeded: 2 of 5 splits are complete"
    assert _describe_partial(partial).startswith(f"{text}, so no method is declared best")
    partial = replace(partial, best="Concat")
    assert _describe_partial(partial) == f"{text}, and Concat was chosen from these alone"


def test_running_fits_are_stopped_at_the_end(tmp_path):
    problem = problem_of(["a", "b"], ["u", "v"])
    own = {"Sleeper": method_from_estimator("Sleeper", Sleeper())}
    tasks = cross_validation("data", ["Sleeper"], Folds(2), data_hash="x", own_specs={"Sleeper": 0})
    pool = ProcessPool(1, WorkerSetup({"data": problem}, own))
    with Store(tmp_path / "s.sqlite") as store:
        start = time.monotonic()
        done = list(run_tasks(tasks, store, budget=0.2, hard=True, pool=pool))
        pool.close()
        assert not [record for record in done if record is not None]
        assert time.monotonic() - start < 60  # not 600
        assert not store.statuses()
        assert store.claim(["any"]) == "any"


def test_a_task_that_was_not_begun_is_taken_back():
    pool = InProcessPool(WorkerSetup())
    pool.submit("task")
    assert pool.running() == ["task"]
    assert pool.cancel() == ["task"]
    assert pool.n_free_slots() == 1


def test_bad_timeout():
    problem = problem_of(["a", "b"], ["u", "v"])
    with pytest.raises(ValueError, match="timeout must be positive"):
        compare(problem.data, problem.target, timeout=0)
