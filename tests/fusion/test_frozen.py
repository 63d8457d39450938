"""Outputs stay what they were: they match the numbers kept in ``tests/golden/frozen``."""

import pytest

from golden.frozen_numbers import assert_as_frozen, frozen_cases


@pytest.mark.parametrize(("case", "name"), frozen_cases("fusion"))
def test_outputs_are_as_frozen(case, name):
    assert_as_frozen(case, name)
