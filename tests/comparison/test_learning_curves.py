"""Learning curves of a comparison."""

import numpy as np
import pytest

from comparison.test_study import planned
from consilience.benchmark.results import collect_results
from consilience.benchmark.store import Store
from consilience.benchmark.work import Outcome
from consilience.comparison import study
from consilience.comparison.report.summaries import learning_curves


def accuracy(task):
    """Rises with the training size; later splits, which have no smaller sets, are easier."""
    return 0.5 + (task.condition.train_size or 80) / 400 + 0.01 * task.index


@pytest.mark.parametrize("n_left", [0, 2])
def test_all_points_are_means_over_the_same_splits(monkeypatch, n_left):
    run = planned([500, 500], cv=10, methods=["Concat"])
    monkeypatch.setattr(study, "ranked_methods", lambda *_: ["Concat"])
    main, (_, curve) = study.main_tasks(run), study.follow_up_tasks(run, None)
    assert (len(main), len({task.index for task in curve})) == (20, 5)
    curve = curve[: len(curve) - n_left]  # the end of a time budget
    with Store(":memory:") as store:
        store.register_runner()
        for task in main + curve:
            outcome = Outcome(status="done", metrics={"accuracy": accuracy(task)})
            store.add(task, outcome, 0.0, 0.1)
        records = list(store.records())
    parts = [collect_results(tasks[::-1], records) for tasks in (main, [], [], curve)]
    (result,) = learning_curves(run, study.StudyResults(*parts, 20, 20, "Concat"))
    assert result.sizes == [56, 112, 225, 450, 900]
    easier = 0.01 * np.mean(range(4 if n_left else 5))
    expected = [0.5 + size / 400 + easier for size in (56, 112, 225, 450, 80)]
    np.testing.assert_allclose(result.means, expected)
