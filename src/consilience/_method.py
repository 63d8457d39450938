"""The record of a method: everything that the comparison, the engine and the lists need to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sklearn.pipeline import Pipeline

from consilience.views._preparation import ViewPreparer

__all__ = ["Method", "Preparation"]

# how views are prepared before the estimator sees them (ViewPreparer); "none" is for methods that
# prepare their own input, "encode" leaves complete numeric views unchanged
Preparation = Literal["none", "encode", "standard", "variance"]


@dataclass(frozen=True)
class Method:
    """A named method: an estimator with the settings of a paper or of a simple baseline.

    Parameters
    ----------
    name : str
        Name in tables, suites and on the command line.
    summary : str
        What it does, in one line.
    reference : str
        The paper, or "baseline".
    build : callable
        ``build(random_state)`` returns a fresh classifier.
    grid : dict of parameter -> values, optional
        Grid for tuning; the last step of a pipeline need not be named.
    build_tunable : callable, optional
        Used in place of ``build`` for tuning, if ``build`` leaves the choice of an inner estimator
        to the method while the grid refers to its parameters.
    preparation : {"none", "encode", "standard", "variance"}, default="encode"
        How views are prepared: not at all, if the method prepares its own input; categories are
        encoded and empty cells imputed; columns are standardised as well; or divided by their
        standard deviation without centring.
    in_default_selection : bool, default=False
        Whether it is compared unless methods are named.

    Examples
    --------
    >>> from consilience.fusion import LateFusionClassifier
    >>> from consilience.methods import Method
    >>> mine = Method("Mine", "votes of the views", "us", lambda seed: LateFusionClassifier("hard"))
    >>> mine.name, mine.preparation
    ('Mine', 'encode')
    """

    name: str
    summary: str
    reference: str
    build: Callable[[int | None], Any]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    build_tunable: Callable[[int | None], Any] | None = None
    preparation: Preparation = "encode"
    in_default_selection: bool = False

    def make_estimator(self, random_state: int | None, *, tunable: bool = False) -> Any:
        """Return a fresh classifier, preceded by the preparation of its views."""
        build = self.build_tunable if tunable and self.build_tunable else self.build
        model = build(random_state)
        if self.preparation == "none":
            return model
        scale = None if self.preparation == "encode" else self.preparation
        steps = model.steps if isinstance(model, Pipeline) else [("classifier", model)]
        return Pipeline([("preparation", ViewPreparer(scale=scale)), *steps])

    @property
    def prepares_own_input(self) -> bool:
        """Whether the estimator gets the views as they are."""
        return self.preparation == "none"

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of views that it accepts; inner estimators and transformers take features only."""
        model = self.build(None)
        if isinstance(model, Pipeline):
            return getattr(model.steps[0][1], "_kinds", ("features",))
        if "estimator" in model.get_params(deep=False):
            return ("features",)
        return getattr(model, "_kinds", ("features",))

    @property
    def has_probabilities(self) -> bool:
        """Whether the method has ``predict_proba``."""
        return hasattr(self.build(None), "predict_proba")
