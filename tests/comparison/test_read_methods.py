"""What the user may give as methods."""

import pytest

from consilience.comparison._methods import read_methods
from consilience.methods import METHODS


def test_a_single_string_is_all_or_an_error():
    assert read_methods("all") == list(METHODS.values())
    with pytest.raises(TypeError, match=r"write \['Late fusion'\]"):
        read_methods("Late fusion")
