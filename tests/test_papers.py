"""The numerical proofs in ``docs/papers.md`` run as they stand."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the page is not part of an installed package")
def test_proofs():
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 40
    assert result.failed == 0
