"""What comes with a model: its card, explanations, scores on labelled files."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score, roc_curve
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from comparison.in_process import Store, problem_of, study
from consilience._default import ConsilienceClassifier
from consilience.benchmark.problems import append_rows
from consilience.benchmark.work import fit_all, with_unlabelled
from consilience.comparison.explanation import explain_samples
from consilience.comparison.model_card import model_card
from consilience.comparison.prediction import predict_files, read_samples
from consilience.comparison.record import ExternalScores
from consilience.comparison.study import refit_task
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier
from consilience.inspection._sample_map import kernel_components, kernel_matrix
from consilience.tables import FileArgument, TableError, TableModel, read_tables
from consilience.views import ViewPreparer

# labels with errors, so that a model of them is not perfect
NOISY = np.array(["well", "ill", "ill", "ill", "well", "ill"] * 4)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    x, z = rng.normal(size=24) + 3 * y, rng.normal(size=24)
    lines = [f"P{i:02},{x[i]:.3f},{'ill' if y[i] else 'well'}" for i in range(24)]
    (tmp_path / "rna.csv").write_text("\n".join(["patient,gene,state", *lines]) + "\n")
    lines = [f"P{i:02},{z[i]:.3f}" for i in range(20)]
    (tmp_path / "image.csv").write_text("\n".join(["patient,pixel", *lines]) + "\n")
    return tmp_path


def files(folder, *names):
    return [FileArgument(folder / name, None) for name in names]


@pytest.fixture
def model(folder):
    read = read_tables(files(folder, "rna.csv", "image.csv"), target="state", on="patient")
    pipeline = make_pipeline(ViewPreparer(scale="standard"), LateFusionClassifier())
    pipeline.fit(read.data, read.target)
    return TableModel(pipeline, read.views, "Late fusion", "state", key="patient")


def test_predictions_are_scored_if_the_label_is_there(folder, model):
    table = predict_files(model, files(folder, "rna.csv", "image.csv"))
    y_true = np.array(table.y_true)
    assert table.scores.samples == 24
    assert table.scores.metrics["accuracy"] == (table.labels == y_true).mean()
    assert table.to_csv().splitlines()[0] == "patient,predicted,true,p(ill),p(well)"


def test_scores_are_those_of_the_metric_and_the_positive_class(folder, model):
    given = files(folder, "rna.csv", "image.csv")
    model.estimator.fit(read_samples(model, given).data, NOISY)
    model.metric, model.positive = "sensitivity@0.8", "ill"
    table = predict_files(model, given)
    y_true, metrics = np.array(table.y_true), table.scores.metrics
    assert table.scores.positive == "ill"
    assert metrics["f1"] == f1_score(y_true, table.labels, pos_label="ill")
    assert metrics["f1"] != f1_score(y_true, table.labels, pos_label="well")
    p = table.probabilities[:, 0]
    assert metrics["average_precision"] == average_precision_score(y_true == "ill", p)
    false_alarms, hits, _ = roc_curve(y_true == "ill", p, drop_intermediate=False)
    expected = np.interp(0.2, false_alarms, hits)
    assert metrics["sensitivity@0.8"] == pytest.approx(expected)


def test_decision_values_are_scored(folder, model):
    given = files(folder, "rna.csv", "image.csv")
    data = read_samples(model, given).data
    pipeline = make_pipeline(ViewPreparer(scale="standard"), EarlyFusionClassifier(LinearSVC()))
    model.estimator = pipeline.fit(data, NOISY)
    table = predict_files(model, given)
    assert table.probabilities is None
    expected = roc_auc_score(np.array(table.y_true) == "well", pipeline.decision_function(data))
    assert table.scores.metrics["roc_auc"] == expected


def test_models_of_before_there_were_metrics_can_be_used(folder, model):
    given = files(folder, "rna.csv", "image.csv")
    metrics = predict_files(model, given).scores.metrics
    del model.metric, model.positive
    assert predict_files(model, given).scores.metrics == metrics


def test_labels_may_be_in_a_file_of_their_own(folder, model):
    text = (folder / "rna.csv").read_text().splitlines()
    (folder / "new.csv").write_text("\n".join(",".join(t.split(",")[:2]) for t in text) + "\n")
    labels = [f"{line.split(',')[0]},{line.split(',')[2]}" for line in text[:11]]
    (folder / "labels.csv").write_text("\n".join(labels) + "\n")
    table = predict_files(model, files(folder, "new.csv", "labels.csv"))
    assert table.scores.samples == 10
    with pytest.raises(TableError, match="there is no file of a view"):
        predict_files(model, files(folder, "labels.csv"))


def test_explanations_are_predictions_with_views_missing(folder, model):
    samples = read_samples(model, files(folder, "rna.csv", "image.csv"))
    first, last = explain_samples(model, samples, [0, 23])
    assert (first.sample, first.true, last.sample) == ("P00", "well", "P23")
    rna, image = first.views
    alone = model.predict_proba({"rna": pa.table({"gene": samples.data["rna"][:1, 0]})})[0]
    assert rna.alone_probability == pytest.approx(alone[list(model.classes_).index(rna.alone)])
    assert image.without_probability == pytest.approx(rna.alone_probability)
    for sample in explain_samples(model, samples, range(24)):
        for view in sample.views:
            if view.is_present:  # of two classes, the one that is named
                assert view.alone_probability >= 0.5
    # the last samples have no image
    assert [view.is_present for view in last.views] == [True, False]
    assert last.views[0].without == "nothing known"
    assert "missing" in last.lines()[2]
    assert max(map(len, first.lines() + last.lines())) <= 80


def test_rows_without_a_label_are_for_methods_that_can_use_them():
    problem = problem_of(["a", "b"], ["u", "v"], n_each=10)
    more = problem.data[:5]
    X, y = with_unlabelled(LateFusionClassifier(), problem.data, problem.target, more)
    assert X is problem.data
    assert y is problem.target
    X, y = with_unlabelled(ConsilienceClassifier(), problem.data, problem.target, more)
    assert len(X) == len(y) == 25
    assert y[20:].tolist() == [None] * 5
    np.testing.assert_array_equal(X["a"][20:], problem.data["a"][:5])
    np.testing.assert_array_equal(append_rows(problem.data, more).present[20:], more.present)


def test_card_names_scores_and_limits():
    problem = problem_of(["rna", "im|age"], ["u", "v"], n_each=8)
    with Store(":memory:") as store:
        run, results = study(problem, store, methods=["Late fusion"])
        run.external = ExternalScores(["new.csv"], 7, {"accuracy": 0.5})
        card = model_card(run, results, store)
        assert "im\\|age" in card
        accuracy = np.mean([r.outcome.metrics["accuracy"] for r in results.main.records])
        assert f"| accuracy | {accuracy:.4f} |" in card
        f1 = np.mean([r.outcome.metrics["f1"] for r in results.main.records])
        assert f"| f1 (v) | {f1:.4f} |" in card
        assert "On 7 samples of new.csv (positive class: v): accuracy 0.5000." in card
        for title in ("# Model card", "## Data", "## Intended use", "## Limits", "## References"):
            assert title in card
        # the fit on all samples is that of the study
        fitted = fit_all(refit_task(run, results.best), problem)
        assert fitted.predict(problem.data).shape == problem.target.shape


def test_map_shows_the_kernel():
    problem = problem_of(["a", "b"], ["u", "v", "w"], n_each=12)
    codes = np.unique(problem.target, return_inverse=True)[1]
    K = kernel_matrix(problem.data, codes)
    np.testing.assert_allclose(K, K.T, atol=1e-10)
    points = kernel_components(K, 36)
    C = np.eye(36) - 1 / 36
    # all components together give the centred kernel, up to its negative part
    values = np.linalg.eigvalsh(C @ K @ C)
    np.testing.assert_allclose(points @ points.T, C @ K @ C, atol=max(1e-9, -2 * values[0]))
    assert (points.max(axis=0) >= -points.min(axis=0) - 1e-12)[:2].all()
    with pytest.raises(ValueError, match="at most 1000 samples"):
        kernel_matrix(append_rows(problem.data, problem.data[np.zeros(1000, int)]), codes)


def test_card_says_what_it_does_not_list():
    problem = problem_of(["rna"], [f"c{k:02}" for k in range(23)])
    with Store(":memory:") as store:
        run, results = study(problem, store, methods=["Concat"])
        card = model_card(run, results, store)
    assert "| c19 | 4 |" in card
    assert "c20" not in card.split("## Scores")[0]
    assert "\n3 more classes are not listed.\n" in card
