"""Bounds on the risk: the stability bound of MVL-SVM, and a hold-out interval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience.views._params import per_view

__all__ = [
    "GeneralizationBound",
    "check_bound_conditions",
    "hoeffding_interval",
    "stability_bound",
]

# kernels whose values are in [0, 1] or [−1, 1]
BOUNDED_KERNELS = ("rbf", "laplacian", "chi2", "cosine")


@dataclass(frozen=True)
class GeneralizationBound:
    """A bound on the expected hinge loss and, from samples held out, an interval for the error.

    Attributes
    ----------
    delta : float
        Each statement holds with a probability of at least 1 − delta.
    bound : float
        Bound on the expected hinge loss, from the training samples alone; the largest of all
        one-vs-rest problems.
    vacuous : bool
        True if the bound is above 1, the loss of a machine that always predicts 0.
    training_loss : float
        Mean hinge loss of the training samples, to which the bound adds.
    error : float or None
        Share of wrong predictions among the held-out samples.
    error_interval : tuple of two floats, or None
        Hoeffding's interval for the expected share.

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.landmark import MVLSVMClassifier
    >>> data, y = make_multiview_classification(80, random_state=0)
    >>> model = MVLSVMClassifier(
    ...     landmarks=data[:5], gamma="auto", C=1.0, loss="hinge", fit_intercept=False
    ... )
    >>> model.fit(data[5:], y[5:]).generalization_bound().vacuous
    True
    """

    delta: float
    bound: float
    vacuous: bool
    training_loss: float
    error: float | None = None
    error_interval: tuple[float, float] | None = None

    def __str__(self) -> str:
        text = f"hinge loss <= {self.bound:.4g} with probability {1 - self.delta:g}"
        if self.vacuous:
            text += " (vacuous: always predicting 0 has loss 1)"
        if self.error_interval is not None:
            low, high = self.error_interval
            text += f"; error {self.error:.4f} on held-out samples, within [{low:.4f}, {high:.4f}]"
        return text


def check_bound_conditions(model: Any, kinds: Iterable[str], plain: bool) -> None:
    """Raise an error that names the conditions of the bound that a fitted MVL-SVM does not meet.

    ``plain`` says that the training samples had neither weights nor missing views.
    """
    names = tuple(model.view_names_)
    kernels = per_view(model.kernel, names, "kernel")
    gammas = per_view(model.gamma, names, "gamma")
    conditions = {
        "loss='hinge'": model.loss == "hinge",
        "fit_intercept=False": not model.fit_intercept,
        "landmarks that were given, not chosen from the training samples": not isinstance(
            model.landmarks, str
        ),
        f"one of the kernels {', '.join(BOUNDED_KERNELS)} on feature views": all(
            isinstance(kernel, str) and kernel in BOUNDED_KERNELS for kernel in kernels.values()
        )
        and set(kinds) == {"features"},
        "gamma as a number or 'auto', not computed from the training samples": all(
            not isinstance(gammas[name], str) or gammas[name] == "auto" or kernels[name] == "cosine"
            for name in names
        ),
        "training samples without weights or missing views": plain,
    }
    lacking = [text for text, holds in conditions.items() if not holds]
    if lacking:
        raise ValueError(f"the bound does not hold here; it needs {'; '.join(lacking)}")


def stability_bound(
    training_loss: float,
    n: int,
    c: float,
    n_similarities: int,
    delta: float,
    largest: float = 1.0,
) -> float:
    """R ≤ R̂ + 2cpM²/n + (4cpM² + 1 + √(2cp)M) √(ln(1/δ)/2n), for p = LV similarities up to M.

    The bound printed in the paper is too small by a factor of 2 in the stability.
    """
    beta = c * n_similarities * largest**2
    spread = 4 * beta + 1 + np.sqrt(2 * c * n_similarities) * largest
    return float(training_loss + 2 * beta / n + spread * np.sqrt(np.log(1 / delta) / (2 * n)))


def hoeffding_interval(error: float, n: int, delta: float) -> tuple[float, float]:
    """Error ± √(ln(2/δ)/2n), within [0, 1]."""
    half = np.sqrt(np.log(2 / delta) / (2 * n))
    return max(0.0, error - half), min(1.0, error + half)
