"""New files are read as those of the comparison were: turned, spelled, with their texts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from consilience import io
from consilience.comparison.features import rank_features
from consilience.comparison.inputs import read_files, read_views
from consilience.comparison.prediction import predict_files, read_samples
from consilience.fusion import LateFusionClassifier
from consilience.tables import FileArgument, TableError, TableModel
from consilience.views import ViewPreparer

N = 24
Y = np.array(["ill", "well"])[np.arange(N) % 2]


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    genes = pd.DataFrame(
        rng.normal(size=(3, N)), ["g0", "g1", "g2"], [f"P{i:03}" for i in range(N)]
    )
    genes.to_csv(tmp_path / "rna.csv", index_label="gene")
    texts = [f"patient {i} has {'fever' if i % 2 else 'no cough'}" for i in range(N)]
    texts[5] = ""
    texts[7], texts[8] = texts[8], texts[7]
    notes = pd.DataFrame({"id": [f"p{i}" for i in range(N)], "age": rng.normal(size=N).round(3)})
    notes.assign(note=texts, state=Y).to_csv(tmp_path / "clinic.csv", index=False)
    notes.assign(note=texts).to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


def fit(given, key=""):
    pipeline = make_pipeline(ViewPreparer(scale="standard"), LateFusionClassifier())
    pipeline.fit(given.problem.data, given.problem.target)
    return TableModel(
        pipeline, given.views, "Late fusion", given.target, key=key, transposed=given.transposed,
        normalised_keys=given.normalised_keys,
    )  # fmt: skip


def files(folder, *names):
    return [FileArgument(folder / name, None) for name in names]


@pytest.fixture
def model(folder):
    given = read_files(
        files(folder, "rna.csv", "clinic.csv"),
        target="state",
        on="id",
        transpose=["rna"],
        normalised_keys=True,
    )
    assert given.transposed == ("rna",)
    assert given.problem.data.view_names == ("rna", "clinic", "note")
    # as the first file spells them
    assert given.summary.sample_ids[:2] == ["P000", "P001"]
    io.save(fit(given, "id"), folder / "model.skops")
    return io.load(folder / "model.skops")


def test_new_files_are_turned_and_spelled_as_before(folder, model):
    samples = read_samples(model, files(folder, "rna.csv", "clinic.csv"))
    assert samples.ids == [f"P{i:03}" for i in range(N)]
    assert samples.data.present.sum(axis=0).tolist() == [N, N, N - 1]
    turned = pd.read_csv(folder / "rna.csv", index_col=0).T
    turned.to_csv(folder / "turned.csv", index_label="id")
    again = read_samples(model, [FileArgument(folder / "turned.csv", "rna")])
    np.testing.assert_allclose(again.data["rna"], samples.data["rna"])


def test_free_text_is_read_with_the_table_it_is_in(folder, model):
    table = predict_files(model, files(folder, "new.csv"))  # recognised by its columns
    assert "missing for all samples: 'rna'" in table.notes
    assert (table.labels == Y).mean() > 0.8  # the words tell
    named = predict_files(model, [FileArgument(folder / "new.csv", "clinic")])
    np.testing.assert_array_equal(named.probabilities, table.probabilities)
    both = predict_files(model, [FileArgument(folder / "new.csv", v) for v in ("clinic", "note")])
    np.testing.assert_array_equal(both.probabilities, table.probabilities)


def test_files_without_a_common_sample_are_noted(folder, model):
    text = (folder / "new.csv").read_text().replace("\np", "\nq")
    (folder / "other.csv").write_text(text)
    samples = read_samples(model, files(folder, "rna.csv", "other.csv"))
    (note, _) = [note for note in samples.notes if note.startswith("no 'id' of ")]
    assert note.endswith("rna.csv is in another file; its first is 'P000'")


def test_keys_spelled_differently_in_new_files(folder, model):
    model.normalised_keys = False
    (folder / "new.csv").write_text((folder / "new.csv").read_text().replace("\np", "\nP"))
    given = files(folder, "rna.csv", "new.csv")
    with pytest.raises(TableError, match=r"^0 of 24 .id. of .* but 24 if case, blanks"):
        read_samples(model, given)
    assert len(read_samples(model, given, normalised_keys=True).ids) == N


def test_a_file_of_labels_has_no_column_of_a_view(folder, model):
    clinic = pd.read_csv(folder / "clinic.csv")
    clinic[["id", "state"]].to_csv(folder / "labels.csv", index=False)
    samples = read_samples(model, files(folder, "rna.csv", "labels.csv"))
    assert samples.data.view_names == ("rna",)
    assert len(samples.ids) == N
    with pytest.raises(TableError, match=r"labels.csv has the labels, but there is no file of a v"):
        read_samples(model, files(folder, "labels.csv"))
    clinic.assign(g0=0.0)[["id", "g0", "state"]].to_csv(folder / "part.csv", index=False)
    with pytest.raises(TableError, match=r"part.csv is none of the views"):
        read_samples(model, files(folder, "rna.csv", "part.csv"))


def test_free_text_in_dataframes(folder):
    frame = pd.read_csv(folder / "clinic.csv")
    y = frame.pop("state")
    given = read_views({"clinic": frame}, y)
    assert given.problem.data.view_names == ("clinic", "note")
    assert given.problem.data.present.sum(axis=0).tolist() == [N, N - 1]
    assert "'note' is free text; its 5 words are a view" in given.summary.notes
    model = fit(given)
    table = predict_files(model, [FileArgument(folder / "new.csv", "clinic")])
    np.testing.assert_array_equal(table.labels, model.predict(given.problem.data))


def test_a_file_with_part_of_the_columns_of_a_view_is_an_error(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(N, 4)), columns=["hb", "crp", "f1", "f2"])
    table.assign(state=Y).to_csv(tmp_path / "all.csv", index=False)
    views = "blood=hb:crp,image=f1:f2"
    given = read_files(files(tmp_path, "all.csv"), target="state", views=views)
    model = fit(given)
    model.single_file = True
    table.drop(columns="crp").to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(TableError, match=r"some of the columns of view 'blood': it lacks 'crp'"):
        read_samples(model, files(tmp_path, "new.csv"))
    table[["f2", "f1"]].to_csv(tmp_path / "new.csv", index=False)
    assert read_samples(model, files(tmp_path, "new.csv")).data.view_names == ("image",)


def test_words_have_an_importance(folder):
    given = read_files(files(folder, "clinic.csv"), target="state", on="id")
    importance, reason = rank_features(given, fit(given).estimator, 0)
    assert reason == ""
    words = importance.take(importance.view == "note")
    assert set(words.feature) == set(given.views["note"].words)
    assert words.top(1).feature[0] in ("fever", "cough", "no")
