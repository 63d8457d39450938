"""Constraints on constructor parameters, in scikit-learn's ``_parameter_constraints``.

An estimator declares ``_parameter_constraints`` beside ``__init__``: for each parameter the list of
constraints of which a value has to satisfy one. What a single constraint cannot say, such as a
relation between two parameters, goes into the method ``_check_parameter_relations``.
``validate_parameters`` runs both and is the first thing ``fit`` does, before any data are read.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence, Set
from numbers import Integral, Real
from typing import Any

import numpy as np

from consilience._compat import (
    HasMethods,
    Interval,
    Options,
    make_constraint,
    validate_parameter_constraints,
)
from consilience._compat import StrOptions as _StrOptions

__all__ = [
    "CLASS_WEIGHT",
    "CV",
    "ESTIMATOR",
    "FRACTION",
    "MEGABYTES",
    "NON_NEGATIVE",
    "N_JOBS",
    "POSITIVE",
    "POSITIVE_FACTOR",
    "POSITIVE_INTEGER",
    "RANDOM_STATE",
    "TOLERANCE",
    "VIEWS",
    "HasMethods",
    "ListOf",
    "Number",
    "PerView",
    "Scalar",
    "StrOptions",
    "validate_parameters",
]


def validate_parameters(estimator: Any) -> None:
    """Check every parameter of an estimator, or raise an error that names parameter and range."""
    validate_parameter_constraints(
        estimator._parameter_constraints,
        estimator.get_params(deep=False),
        caller_name=type(estimator).__name__,
    )
    check_relations = getattr(estimator, "_check_parameter_relations", None)
    if check_relations is not None:
        check_relations()


class Number(Interval):
    """A number of an interval; unlike scikit-learn's, no boolean and no integer beyond floats."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the value is a number of the interval."""
        val = val.item() if isinstance(val, np.generic) else val  # 1e100 is infinite in float32
        if isinstance(val, bool) or not super().is_satisfied_by(val):
            return False
        return not isinstance(val, int) or abs(val) <= sys.float_info.max


class StrOptions(_StrOptions):
    """One of several strings; unlike scikit-learn's, the message lists them in a fixed order."""

    def __str__(self) -> str:
        return f"a str among {{{', '.join(sorted(map(repr, self.options)))}}}"


class PerView(Options):
    """One value for all views, or a dict of view -> value; each satisfies one of ``constraints``.

    Whether the dict names the right views is checked when the data are known.
    """

    def __init__(self, *constraints: Any) -> None:
        super().__init__(object, set())
        self.constraints = [make_constraint(constraint) for constraint in constraints]

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the value, or every value of a dict, is valid."""
        values = list(val.values()) if isinstance(val, Mapping) else [val]
        return all(any(c.is_satisfied_by(v) for c in self.constraints) for v in values)

    def __str__(self) -> str:
        return f"{_join(self.constraints)} (or a dict of view -> such a value)"


class ListOf(Options):
    """A non-empty sequence of values that each satisfy one of ``constraints``."""

    def __init__(self, *constraints: Any) -> None:
        super().__init__(object, set())
        self.constraints = [make_constraint(constraint) for constraint in constraints]

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether every element is valid."""
        if isinstance(val, (str, bytes, Mapping, Set)) or not hasattr(val, "__len__"):
            return False
        values = list(val)
        return len(values) > 0 and all(
            any(c.is_satisfied_by(v) for c in self.constraints) for v in values
        )

    def __str__(self) -> str:
        return f"a non-empty list, each element {_join(self.constraints)}"


class Scalar(Options):
    """Anything but a container."""

    def __init__(self) -> None:
        super().__init__(object, set())

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the value has no elements."""
        if isinstance(val, str):
            return True
        return not isinstance(val, (Mapping, Sequence, Set)) and np.ndim(val) == 0

    def __str__(self) -> str:
        return "a scalar"


class _Views(Options):
    """What ``views`` may be; its contents are checked when the data are known."""

    def __init__(self) -> None:
        super().__init__(object, set())

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the value is a list or a dict."""
        return isinstance(val, Mapping) or (hasattr(val, "__len__") and not isinstance(val, str))

    def __str__(self) -> str:
        return "a list of widths or view names, or a list or dict of slices or columns"


class _ClassWeights(Options):
    """A dict of class -> weight."""

    def __init__(self) -> None:
        super().__init__(object, set())

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether every class has a positive weight."""
        return isinstance(val, Mapping) and all(POSITIVE.is_satisfied_by(w) for w in val.values())

    def __str__(self) -> str:
        return "a dict of class -> positive number"


def _join(constraints: list[Any]) -> str:
    return " or ".join(str(constraint) for constraint in constraints)


POSITIVE = Number(Real, 0, np.inf, closed="neither")
NON_NEGATIVE = Number(Real, 0, np.inf, closed="left")
FRACTION = Number(Real, 0, 1, closed="neither")
POSITIVE_INTEGER = Number(Integral, 1, np.iinfo(np.int32).max, closed="both")
TOLERANCE = Number(Real, sys.float_info.epsilon, np.inf, closed="left")
# for numbers that are squared, divided by or multiplied with each other
POSITIVE_FACTOR = Number(Real, 1e-100, 1e100, closed="both")
MEGABYTES = Number(Real, 0, 1e12, closed="right")
MAX_JOBS = 4096

# lists of constraints for parameters that many estimators have
VIEWS = [None, _Views()]
N_JOBS = [
    None,
    Number(Integral, 1, MAX_JOBS, closed="both"),
    Number(Integral, -MAX_JOBS, -1, closed="both"),
]
CLASS_WEIGHT = [None, StrOptions({"balanced"}), _ClassWeights()]
RANDOM_STATE = [
    None,
    Number(Integral, 0, np.iinfo(np.uint32).max, closed="both"),
    np.random.RandomState,
]
CV = ["cv_object"]
ESTIMATOR = [PerView(HasMethods(["fit", "predict"]), None)]
