"""Checks of a loaded model before it is returned: a file may hold any values of allowed types.

Compiled code of scikit-learn and SciPy reads the arrays of trees, support vectors, neighbours and
sparse matrices without looking whether their indices are in range. ``check_model`` walks over
every object of a model and checks whatever such code relies on; trials then predict a few rows,
which shows what is inconsistent elsewhere.
"""

from consilience._model_checks._trial import failed_trials, passed_trials
from consilience._model_checks._walk import check_model

__all__ = ["check_model", "failed_trials", "passed_trials"]
