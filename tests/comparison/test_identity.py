"""Noise with an identifier in disguise: chance level, or a word about the column."""

import re

import numpy as np
import pandas as pd
import pytest

from benchmark.studies import run_in_process
from consilience.benchmark.store import Store
from consilience.cli import main
from consilience.comparison.record import read_run
from consilience.io import load, save

N = 150
FAST = ["--methods", "Concat", "--cv", "3", "--repeats", "1", "--jobs", "1", "--quiet"]


def noise(seed=0, n_columns=50):
    """A table of noise whose rows are sorted by class, as if collected in two campaigns."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({f"x{j}": rng.normal(size=N) for j in range(n_columns)})
    return table.assign(y=np.repeat(["ill", "well"], [N // 2, N - N // 2]))


def string_ids(folder):
    noise().assign(code=[f"P{i:04}" for i in range(N)]).to_csv(folder / "a.csv", index=False)
    return ["code"]


def zero_padded(folder):
    noise().assign(code=[f"{7 * i:06}" for i in range(N)]).to_csv(folder / "a.csv", index=False)
    return ["code"]


def running_integers(folder):
    noise().assign(count=range(1, N + 1)).to_csv(folder / "a.csv", index=False)
    return ["count"]


def unnamed_index(folder):
    noise().to_csv(folder / "a.csv")
    return ["index"]


def saved_index(folder):
    noise().reset_index().to_csv(folder / "a.csv", index=False)
    return ["index"]


def another_name_in_each_file(folder):
    ids = [f"{i:04}" for i in range(N)]
    noise().assign(code=ids).to_csv(folder / "a.csv", index=False)
    noise(1).drop(columns="y").assign(who=ids).to_csv(folder / "b.csv", index=False)
    return ["code", "who"]


def times_of_collection(folder):
    times = pd.date_range("2024-01-01", periods=N, freq="7h")
    noise().assign(taken=times, epoch=times.astype("int64") // 10**9).to_csv(
        folder / "a.csv", index=False
    )
    return ["taken", "epoch"]


def numbers_by_class(folder):
    rng = np.random.default_rng(2)
    numbers = np.r_[rng.permutation(N // 2), N // 2 + rng.permutation(N - N // 2)]
    table = noise().assign(count=numbers)
    table.sample(frac=1, random_state=0).to_csv(folder / "a.csv", index=False)
    return ["count"]


DISGUISES = (
    string_ids,
    zero_padded,
    running_integers,
    unnamed_index,
    saved_index,
    another_name_in_each_file,
    times_of_collection,
    numbers_by_class,
)


def accuracy(out):
    with Store(out / "results.sqlite") as store:
        records = [r for r in store.records() if r.task.method_name == "Concat"]
    return np.mean([record.outcome.metrics["accuracy"] for record in records])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("disguise", DISGUISES)
def test_an_identifier_is_never_a_feature(disguise, tmp_path, capsys):
    columns = disguise(tmp_path)
    files = sorted(tmp_path.glob("*.csv"))
    run_in_process("compare", *files, "--target", "y", *FAST, "--out", tmp_path / "study")
    printed = capsys.readouterr().out
    data = read_run(tmp_path / "study").data
    for column in columns:
        assert f"{column!r} (" in data.notes[0]
        assert re.search(rf"left out, [^:]*(: [^:]*)?: .*{column}", printed)
        assert column in (tmp_path / "study" / "report.html").read_text()
    assert sum(view.columns for view in data.views) == 50 * len(files)
    assert accuracy(tmp_path / "study") < 0.6


def test_keep_uses_the_column(tmp_path, capsys):
    columns = times_of_collection(tmp_path)
    options = ["--target", "y", *FAST, "--out", tmp_path / "study", "--keep", "taken"]
    run_in_process("compare", tmp_path / "a.csv", *options, "--keep", "epoch")
    assert read_run(tmp_path / "study").data.views[0].columns == 52
    assert accuracy(tmp_path / "study") > 0.9
    capsys.readouterr()
    run_in_process("predict", tmp_path / "study", tmp_path / "a.csv")
    predicted = capsys.readouterr().out.splitlines()[1:]
    assert np.mean([("ill" in row) == (i < N // 2) for i, row in enumerate(predicted)]) > 0.9
    assert columns == ["taken", "epoch"]


def test_predict_ignores_what_the_comparison_left_out(tmp_path, capsys):
    string_ids(tmp_path)
    out = tmp_path / "study"
    run_in_process("compare", tmp_path / "a.csv", "--target", "y", *FAST, "--out", out)
    capsys.readouterr()
    run_in_process("predict", out, tmp_path / "a.csv")
    # no note, only the scores, since the file has the label
    assert capsys.readouterr().err.startswith(
        "scored on 150 samples with a label (positive class: well)"
    )


def test_leaks_are_named_by_their_column(tmp_path, capsys):
    rng = np.random.default_rng(5)
    table = noise(0, 5)
    is_ill = (table["y"] == "ill").astype(int)
    late = is_ill + rng.uniform(0, 0.9, N)
    table.assign(copy=is_ill, late=late).to_csv(tmp_path / "a.csv", index=False)
    run_in_process("compare", tmp_path / "a.csv", "--target", "y", *FAST)
    printed = capsys.readouterr().out
    assert "note: 'copy' of view 'a' is a copy of the target" in printed
    assert "note: 'late' of view 'a' alone tells the classes apart" in printed


def test_a_shared_key_must_be_used(tmp_path, capsys):
    ids = [f"P{i}" for i in range(N)]
    for name, seed in (("a", 0), ("b", 1)):
        table = noise(seed).assign(code=ids)
        table.drop(columns=["y"] * (name == "b")).to_csv(tmp_path / f"{name}.csv", index=False)
    files = [str(tmp_path / f"{name}.csv") for name in "ab"]
    with pytest.raises(SystemExit) as end:
        main(["compare", *files, "--target", "y", *FAST])
    assert end.value.code == 2
    assert "both have the column 'code', which identifies samples; join them with --on code" in (
        capsys.readouterr().err
    )


def test_the_order_of_rows_does_not_matter(tmp_path, capsys):
    """With a key: identical data, scores and predictions for any order of the rows of any file."""
    rng = np.random.default_rng(3)
    ids = [f"P{i}" for i in range(N)]
    first = noise(0, 4).assign(code=ids, site=rng.choice(["u", "v", None], N), rank=range(N))
    second = noise(1, 3).drop(columns="y").assign(code=ids)[20:]
    second.iloc[5:30, 1] = np.nan
    seen = []
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        for name, table in (("a", first), ("b", second)):
            shuffled = table.sample(frac=1, random_state=seed) if seed else table
            shuffled.to_csv(folder / f"{name}.csv", index=False)
        files = [folder / "a.csv", folder / "b.csv"]
        run_in_process(
            "compare", *files, "--on", "code", "--target", "y", *FAST, "--out", folder / "study"
        )
        data = read_run(folder / "study").data
        with Store(folder / "study" / "results.sqlite") as store:
            scores = {r.task_hash: r.outcome.metrics["accuracy"] for r in store.records()
                      if "accuracy" in r.outcome.metrics}  # fmt: skip
        seen.append((data, scores))
    capsys.readouterr()
    assert "'rank' (identifier" in seen[0][0].notes[0]
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_dataframes(library, tmp_path):
    import polars as pl
    import pyarrow as pa

    from consilience import compare

    convert = {"pandas": lambda f: f, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}
    days = pd.date_range("2024-01-01", periods=N)
    first = noise(0, 4).assign(code=[f"P{i}" for i in range(N)], taken=days, rank=range(N))
    site = np.random.default_rng(4).choice(["u", "v"], N)
    second = noise(1, 3).drop(columns="y").assign(site=site)
    y = first.pop("y")
    views = {"a": convert[library](first), "b": convert[library](second)}
    options = {"methods": ["Concat"], "cv": 3, "repeats": 1, "verbose": False}
    result = compare(views, y.to_numpy(), **options)
    note = result.notes_[0]
    assert "'code' (identifier" in note
    assert "'taken' (date)" in note
    assert "'rank' (identifier" in note
    assert result.data.widths == {"a": 4, "b": 4}
    assert result._run.data.describe_columns()["b"] == "3 numbers; 1 category"
    # new dataframes may have the columns or not
    predicted = result.best_estimator_.predict(views)
    np.testing.assert_array_equal(predicted, result.best_estimator_.predict(result.data))

    kept = compare(views, y.to_numpy(), keep=["taken"], **options)
    assert kept.data.widths == {"a": 5, "b": 4}
    assert np.mean(kept.best_estimator_.predict(views) == y) > 0.95
    save(result.best_estimator_, tmp_path / "model.skops")
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(views), predicted)
    with pytest.raises(ValueError, match="keep: no dataframe has the column 'nope'"):
        compare(views, y.to_numpy(), keep=["nope"], **options)
