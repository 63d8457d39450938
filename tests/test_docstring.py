"""Shared entries of docstrings."""

import inspect

import pytest

from consilience._docstring import fill_docstring
from consilience.margin import SMVMEDClassifierCV


def test_entries_are_indented_like_their_line():
    @fill_docstring(c="c : float\n    Cost.")
    class Model:
        """Summary.

        Parameters
        ----------
        {c}
        {n_jobs}
        """

    # from Python 3.13 on, the indentation of a docstring is removed before anyone sees it
    assert "\nc : float\n    Cost.\nn_jobs : int" in inspect.cleandoc(Model.__doc__)


def test_unknown_entry():
    with pytest.raises(KeyError, match="nothing"):
        fill_docstring()(type("Model", (), {"__doc__": "Summary.\n\n    {nothing}\n"}))


def test_nothing_is_left_to_fill():
    assert "{coef" not in SMVMEDClassifierCV.__doc__
    assert "dual_coef_ : dict of view" in SMVMEDClassifierCV.__doc__
