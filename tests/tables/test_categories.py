"""Categories are the same in training and prediction, however programs spell them."""

import pandas as pd
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

from consilience.comparison.inputs import read_files, read_views
from consilience.comparison.prediction import predict_files, read_samples
from consilience.fusion import LateFusionClassifier
from consilience.tables import (
    FeatureSelector,
    FileArgument,
    ReadOptions,
    Table,
    TableModel,
    TableView,
    read_file,
)
from consilience.tables import _categories as categories
from consilience.views import ViewPreparer

N = 24
STAGES = ["" if i == 4 else f"{i % 2 + 1}.0" for i in range(N)]  # as pandas writes, with a gap
SMOKER = ["TRUE" if i % 3 else "FALSE" for i in range(N)]
Y = ["ill" if i % 2 or i == 6 else "well" for i in range(N)]
CODES = ["01", "02", "01", "1,5"] * (N // 4)
SIZES = [f"{i % 5}.5" for i in range(N)]
FRAME = pd.DataFrame({"size": SIZES, "stage": STAGES, "smoker": SMOKER, "code": CODES, "ill": Y})


def fit(given):
    pipeline = make_pipeline(ViewPreparer(scale="standard"), LateFusionClassifier())
    pipeline.fit(given.problem.data, given.problem.target)
    return TableModel(pipeline, given.views, "Late fusion", given.target)


@pytest.fixture
def model(tmp_path):
    FRAME.to_csv(tmp_path / "v.csv", index=False)
    return fit(
        read_files(
            [FileArgument(tmp_path / "v.csv", "v")], target="ill", categorical=["stage", "code"]
        )
    )


def predict(model, folder, text):
    (folder / "new.csv").write_text(text)
    return predict_files(model, [FileArgument(folder / "new.csv", "v")])


def test_spellings_of_whole_numbers_and_truth_values(tmp_path, model):
    assert dict(model.views["v"].categories) == {
        "stage": ("1", "2"),
        "smoker": ("False", "True"),
        "code": ("01", "02", "1,5"),
    }
    header = "size,stage,smoker,code\n"
    expected = predict(model, tmp_path, header + "1.5,1.0,TRUE,01\n1.5,2.0,FALSE,01\n")
    assert len(set(expected.probabilities[:, 0])) == 2
    for cells in (["1", "true"], ["2", "False"]), (["1.00", "True"], ["2", "FALSE"]):
        rows = "".join(f"1.5,{stage},{smoker},01\n" for stage, smoker in cells)
        table = predict(model, tmp_path, header + rows)
        assert table.probabilities.tolist() == expected.probabilities.tolist()
        assert table.notes == []
    typed = pa.table(
        {"size": [1.5, 1.5], "stage": [1.0, 2.0], "smoker": [True, False], "code": ["01", "01"]}
    )
    assert model.predict_proba({"v": typed}).tolist() == expected.probabilities.tolist()


def test_categories_that_look_like_numbers_in_a_new_file(tmp_path, model):
    # all cells are numbers here, with a decimal comma
    text = 'size,stage,smoker,code\n"1,5",1,TRUE,"1,5"\n"2,25",2,,01\n'
    samples = read_samples_of(model, tmp_path, text)
    assert samples.data["v"]["code"].to_pylist() == ["1,5", "01"]
    assert samples.data["v"]["size"].to_pylist() == [1.5, 2.25]


def read_samples_of(model, folder, text):
    (folder / "new.csv").write_text(text)
    return read_samples(model, [FileArgument(folder / "new.csv", "v")])


def test_unseen_categories_are_counted(tmp_path, model):
    rows = ["1,TRUE,01", "3,maybe,1", "4.0,,02", ",FALSE,01"]
    text = "size,stage,smoker,code\n" + "".join(f"1.5,{row}\n" for row in rows)
    unseen = "cells are categories that the model has not seen"
    assert predict(model, tmp_path, text).notes == [
        f"column 'stage' of view 'v': 2 of 3 {unseen}",
        f"column 'smoker' of view 'v': 1 of 3 {unseen}",
        f"column 'code' of view 'v': 1 of 4 {unseen}",
    ]


def test_models_of_dataframes():
    """A dataframe in memory keeps its own spelling, and so does its model."""
    frame = pd.DataFrame({"size": map(float, SIZES), "stage": STAGES})
    model = fit(read_views({"v": frame}, Y))
    expected = model.estimator.predict_proba({"v": frame.iloc[:4]})
    assert len(set(expected[:, 0])) > 2
    for stages in (["1", "2", "1", "2"], STAGES[:4], [1.0, 2.0, 1.0, 2.0], [1, 2, 1, 2]):
        given = pa.table({"size": frame["size"][:4], "stage": stages})
        assert model.predict_proba({"v": given}).tolist() == expected.tolist()
        assert model.views["v"].unseen_categories(Table("t", given)) == {}
    new = Table("t", pa.table({"stage": ["1", "7", None]}))
    assert model.views["v"].unseen_categories(new) == {"stage": (1, 3)}
    assert model.views["v"].values(Table("t", pa.table({"size": [1.5], "stage": [""]})))[
        "stage"
    ].to_pylist() == [""]


def test_models_without_recorded_categories():
    """Older models know the cells as they were spelled."""
    cells = Table("t", pa.table({"s": ["TRUE", "1.0", "a"]}))
    view = TableView(["s"], ["s"], 1)
    assert view.values(cells)["s"].to_pylist() == ["TRUE", "1.0", "a"]
    assert view.unseen_categories(cells) == {}


def test_more_categories_than_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(categories, "MAX_KNOWN_CATEGORIES", 1)
    FRAME.to_csv(tmp_path / "v.csv", index=False)
    file = FileArgument(tmp_path / "v.csv", "v")
    given = read_files([file], target="ill", categorical=["stage", "code"])
    assert given.views["v"].categories == ()
    new = read_samples_of(fit(given), tmp_path, "size,stage,smoker,code\n1.5,2.0,TRUE,01\n")
    assert new.data["v"].select(["stage", "smoker"]).to_pylist() == [
        {"stage": "2", "smoker": "True"}
    ]


def test_each_distinct_cell_is_spelled_once(monkeypatch):
    spelled = []
    spell = categories.spell_category
    monkeypatch.setattr(
        categories, "spell_category", lambda cell: spelled.append(cell) or spell(cell)
    )
    table = Table("t", pa.table({"s": ["TRUE", "-0.0", None, "b"] * 50}))
    assert categories.category_column(table, "s")[:4] == ["True", "0", None, "b"]
    assert sorted(spelled) == ["-0.0", "TRUE", "b"]
    assert categories.count_unseen(table, "s", ["0"]) == (100, 150)


# -- columns that the user declares to be categories ----------------------------------------------

GRADES = [i % 3 + 1 for i in range(N)]
DECLARED = pd.DataFrame({"size": list(map(float, SIZES)), "grade": pd.Categorical(GRADES)})


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_that_are_numbers_in_dataframes(tmp_path, ordered):
    frame = DECLARED.assign(grade=pd.Categorical(GRADES, ordered=ordered))
    given = read_views({"v": frame}, Y)
    assert [(role.column, role.role) for role in given.roles] == [
        ("size", "number"),
        ("grade", "category"),
    ]
    assert given.views["v"].categories == (("grade", ("1", "2", "3")),)
    model = fit(given)
    expected = model.estimator.predict_proba(given.problem.data)
    assert model.predict_proba({"v": frame}).tolist() == expected.tolist()
    # the estimator of a comparison takes the dataframe as it is
    selector = FeatureSelector(given.roles)
    assert model.estimator.predict_proba(selector.transform({"v": frame})).tolist() == (
        expected.tolist()
    )
    # and a file has the numbers
    frame.astype({"grade": int}).to_csv(tmp_path / "new.csv", index=False)
    new = read_file(tmp_path / "new.csv")["new"]
    assert model.views["v"].values(new)["grade"].to_pylist() == [str(g) for g in GRADES]


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_categories_that_are_numbers_in_files(tmp_path, ending):
    path = tmp_path / f"v.{ending}"
    frame = DECLARED.assign(ill=Y)
    getattr(frame, f"to_{ending}")(path)
    for reading in (None, ReadOptions(na=("3",))):  # cells that mean missing
        given = read_files([FileArgument(path, "v")], target="ill", reading=reading)
        known = ("1", "2") if reading else ("1", "2", "3")
        assert given.views["v"].categories == (("grade", known),)
    frame.astype({"grade": int}).iloc[:6].to_parquet(tmp_path / "more.parquet")
    files = [FileArgument(path, "v"), FileArgument(tmp_path / "more.parquet", "v")]
    given = read_files(files, target="ill")
    assert given.views["v"].categories == (("grade", ("1", "2", "3")),)


def test_declared_categories_that_identify_samples_are_left_out():
    frame = DECLARED.assign(patient=pd.Categorical(range(100, 100 + N)))
    (role,) = [role for role in read_views({"v": frame}, Y).roles if role.column == "patient"]
    assert role.reason == "identifier: every value is different"
