"""What callbacks of scikit-learn are told during a fit."""

import pytest

from consilience import ConsilienceClassifier
from consilience.datasets import make_multiview_classification
from consilience.fusion import (
    BestViewClassifier,
    EarlyFusionClassifier,
    LateFusionClassifier,
    StackingFusionClassifier,
)

pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")


class Recorder:
    """A callback that keeps what it is told."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.events.append(f"end {context.task_name}")


EXPECTED_TASKS = [
    (EarlyFusionClassifier(), {}),
    (LateFusionClassifier(n_jobs=2), {"fit view": 3}),
    (BestViewClassifier(cv=2), {"compare view": 6, "fit view": 3}),
    (StackingFusionClassifier(cv=2), {"fit view": 3, "predict fold": 6}),
    (ConsilienceClassifier(20), {"fit kernel": 1, "grow trees": 4, "boost trees": 4}),
    # a third of the rows have no label: two fits, but one task called fit; only the second one has
    # enough rows for boosting
    (
        ConsilienceClassifier(20, unlabelled=0),
        {"fit kernel": 2, "grow trees": 8, "boost trees": 4},
    ),
]


@pytest.mark.parametrize(("model", "tasks"), EXPECTED_TASKS)
def test_every_task_is_reported(model, tasks):
    data, y = make_multiview_classification(60, n_classes=3, random_state=0)
    recorder = Recorder()
    model.set_callbacks(recorder).fit(data, y)
    events = recorder.events
    assert events[:2] == ["setup", "begin fit"]
    assert events[-2:] == ["end fit", "teardown"]
    for name, count in tasks.items():
        assert events.count(f"begin {name}") == events.count(f"end {name}") == count
    assert len(events) == 4 + 2 * sum(tasks.values())


def test_teardown_after_an_error():
    recorder = Recorder()
    model = LateFusionClassifier(voting="nonsense").set_callbacks(recorder)
    data, y = make_multiview_classification(60, random_state=0)
    with pytest.raises(ValueError, match="voting"):
        model.fit(data, y)
    assert recorder.events.count("setup") == recorder.events.count("teardown")
