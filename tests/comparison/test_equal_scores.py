"""The default has the same scores in ``compare``, on the command line, in suites and outside."""

import csv

import narwhals as nw
import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

from benchmark.studies import run_in_process
from consilience import ConsilienceClassifier, compare
from consilience.comparison.inputs import read_files
from consilience.tables import parse_files

SEED = 3
SUITE = """
title = "Own tables"
seed = 3
metrics = ["accuracy", "log_loss"]

[protocol]
split = { kind = "folds", n = 3 }

[[datasets]]
name = "patients"
files = ["words.csv", "record=clinic.csv"]
on = "patient"
target = "ill"

[[methods]]
recipe = "Consilience"
settings = { n_estimators = 20 }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A histogram, and a table with categories and empty cells, of patients in different order."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    n = 90
    y = rng.integers(0, 2, n)
    words = rng.poisson(0.3 + 0.8 * y[:, None] * (np.arange(12) < 4), size=(n, 12))
    with open(folder / "words.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", *[f"w{j}" for j in range(12)]])
        writer.writerows([f"p{i:03}", *row] for i, row in enumerate(words.tolist()))
    with open(folder / "clinic.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "site", "income", "age", "ill"])
        for i in rng.permutation(n):
            site = "" if rng.random() < 0.1 else rng.choice(["north", "south", "west"])
            income = "" if rng.random() < 0.2 else round(float(np.exp(rng.normal() + y[i])), 4)
            writer.writerow([f"p{i:03}", site, income, rng.integers(20, 80), ["no", "yes"][y[i]]])
    (folder / "suite.toml").write_text(SUITE)
    return folder


def scores_in(path, metric="accuracy"):
    with open(path) as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "Consilience"]
    return np.array([float(row[metric]) for row in sorted(rows, key=lambda r: int(r["split"]))])


def scores_of(result, metric):
    entries = nw.from_native(result.scores).rows(named=True)
    picked = sorted((e["split"], e["value"]) for e in entries if e["metric"] == metric)
    return np.array([value for _, value in picked])


def test_four_ways_to_the_same_scores(folder):
    splitter = StratifiedKFold(3, shuffle=True, random_state=SEED)
    files = [str(folder / "words.csv"), f"record={folder / 'clinic.csv'}"]
    read = read_files(parse_files(files), target="ill", on="patient").problem
    result = compare(
        read.data, read.target, methods=["Consilience"], cv=splitter, random_state=SEED
    )
    by_function = {metric: scores_of(result, metric) for metric in ("accuracy", "log_loss")}
    options = ["--target", "ill", "--on", "patient", "--methods", "Consilience", "--cv", "3"]
    options += ["--repeats", "1", "--seed", SEED, "--out", folder / "study", "--quiet"]
    run_in_process("compare", *files, *options)
    for metric, scoring in (("accuracy", "accuracy"), ("log_loss", "neg_log_loss")):
        model = ConsilienceClassifier(random_state=SEED)
        expected = cross_val_score(
            model, result.data, result.target, cv=splitter, scoring=scoring
        ) * (-1 if metric == "log_loss" else 1)
        assert len(set(expected)) > 1
        np.testing.assert_allclose(by_function[metric], expected, rtol=0, atol=1e-12)
        on_command_line = scores_in(folder / "study" / "results.csv", metric)
        np.testing.assert_allclose(on_command_line, expected, rtol=0, atol=1e-12)


def test_suite_with_own_files(folder):
    run_in_process("bench", folder / "suite.toml", "--out", folder / "bench", "--quiet")
    files = [str(folder / "words.csv"), f"record={folder / 'clinic.csv'}"]
    read = read_files(parse_files(files), target="ill", on="patient").problem
    expected = cross_val_score(
        ConsilienceClassifier(n_estimators=20, random_state=SEED),
        read.data,
        read.target,
        cv=StratifiedKFold(3, shuffle=True, random_state=SEED),
    )
    scores = scores_in(folder / "bench" / "results.csv")
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
