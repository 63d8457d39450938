"""Values of options that several commands share."""

import pytest

from consilience.cli.common import check_positive, parse_list, parse_seconds


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
