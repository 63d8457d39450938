"""Values of options that several commands share."""

from types import SimpleNamespace

import pytest

from consilience.cli.common import check_positive, check_seed_and_jobs, parse_list, parse_seconds
from consilience.cli.suites import _suite_table


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("10m", 600), ("2h", 7200), (None, None)],
)
def test_times(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "1d", "-1s", "0", "inf", "nan", "1 hour"])
def test_bad_times_are_refused(text):
    with pytest.raises(ValueError, match="--fit-timeout must be"):
        parse_seconds(text, "--fit-timeout")


@pytest.mark.parametrize("value", [None, 1e-9, 0.5, 1, 2.5])
def test_positive_numbers(value):
    check_positive("--memory", value)


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan")])
def test_other_numbers_are_refused(value):
    with pytest.raises(ValueError, match="--memory must be a positive number below"):
        check_positive("--memory", value)


def test_lists():
    assert parse_list("a, b,,c ") == ["a", "b", "c"]
    assert parse_list(None) == []


def test_seeds_and_jobs():
    check_seed_and_jobs(0, 1)
    with pytest.raises(ValueError, match="--seed"):
        check_seed_and_jobs(-1, 1)
    with pytest.raises(ValueError, match="--jobs"):
        check_seed_and_jobs(0, 0)


@pytest.mark.parametrize(
    ("conditions", "headers"),
    [(["all"], ["accuracy"]), (["all", "half"], ["accuracy\nall", "accuracy\nhalf"])],
)
def test_columns_of_several_conditions_name_them(conditions, headers):
    suite = SimpleNamespace(metrics=["accuracy"])
    table = _suite_table(suite, SimpleNamespace(conditions=conditions, methods=[]), "digits")
    assert [column.header for column in table.columns] == ["method", *headers]
