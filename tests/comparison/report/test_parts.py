"""Parts of the report by themselves, from results that are made up."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest
from markupsafe import Markup

from consilience.comparison import ComparisonDisplay
from consilience.comparison.report import figures, page, samples
from consilience.comparison.study import failures


def test_large_confusion_matrices_are_of_the_best_method_only(monkeypatch):
    monkeypatch.setattr(page.summaries, "out_of_fold_predictions", lambda *_: None)
    monkeypatch.setattr(page.summaries, "confusion_matrix", lambda *_: None)
    monkeypatch.setattr(figures, "confusion_figure", lambda *_: Markup("<svg></svg>"))
    ranked, results = [SimpleNamespace(method=name) for name in "abcdefgh"], SimpleNamespace(main=0)
    for n_classes, n_shown in (
        (figures.MAX_CLASSES_WITH_COUNTS, page.MAX_CONFUSIONS),
        (figures.MAX_CLASSES_WITH_COUNTS + 1, 1),
        (page.MAX_CONFUSION_CLASSES + 1, 0),
    ):
        run = SimpleNamespace(data=SimpleNamespace(classes=list(range(n_classes))))
        shown = page._confusions(run, results, None, ranked)
        assert [method for method, _ in shown] == list("abcdefgh"[:n_shown])


def test_a_failed_fit_on_all_samples_is_of_the_best_method():
    stage = SimpleNamespace(failure_summary=list)
    results = SimpleNamespace(main=stage, chance=stage, importance=stage, curve=stage, best="Mono")
    (failure,) = failures(SimpleNamespace(refit_error="no memory"), results)
    assert failure.stage == "fit on all samples"
    assert (failure.method, failure.error) == ("Mono", "no memory")


def test_samples_are_drawn_by_class_and_by_error(monkeypatch):
    monkeypatch.setattr(samples, "as_svg", lambda figure, name: figure)
    points = SimpleNamespace(
        x=[0.0, 1.0, 2.0], y=[0.0, 0.5, 1.0], classes=[0, 1, 1], rows=[0, 3, 6]
    )
    run = SimpleNamespace(sample_map=points, data=SimpleNamespace(classes=["u", "v"]))
    figure = samples.map_figure(run, {6}, [])
    drawn = [{c.get_label(): c.get_offsets()[:, 0] for c in ax.collections} for ax in figure.axes]
    by_class, by_error = ({name: list(x) for name, x in each.items()} for each in drawn)
    assert by_class == {"u": [0], "v": [1, 2]}
    assert by_error == {"correct": [0, 1], "wrong": [2], "listed": []}


def test_bars_reach_from_end_to_end_of_the_intervals():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    intervals = [(0.8, 0.9), (0.7, 0.85)]
    display = ComparisonDisplay(["a", "b"], [0.85, 0.75], intervals, "accuracy")
    (bars,) = display.plot(Figure().subplots()).ax_.containers
    ends = [segment[:, 0] for segment in bars[2][0].get_segments()]
    np.testing.assert_allclose(ends, intervals)


def test_methods_without_a_score_on_every_split_are_not_counted(monkeypatch):
    module = importlib.import_module("consilience.comparison.report.verdict")
    rows = [
        SimpleNamespace(method="a", complete=True, is_chance=False, beats_chance=True),
        SimpleNamespace(method="b", complete=False, is_chance=False, beats_chance=False),
        SimpleNamespace(complete=True, is_chance=True, beats_chance=False, score=0.5),
    ]
    monkeypatch.setattr(module, "ranking", lambda *_: rows)
    monkeypatch.setattr(module, "_best_sentences", lambda *_: [])
    run = SimpleNamespace(
        options=SimpleNamespace(metric="accuracy"),
        metric_title="accuracy",
        data=SimpleNamespace(is_imbalanced=False),
    )
    results = SimpleNamespace(best="a", is_complete=True, n_splits=5, n_planned=5)
    (sentence,) = module.verdict(run, results, None)
    assert sentence == "a is significantly better than chance (accuracy 0.5000)."
