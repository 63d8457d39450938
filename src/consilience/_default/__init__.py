"""The default estimator and its parts; ``from consilience import ConsilienceClassifier``."""

from consilience._default._classifier import ConsilienceClassifier
from consilience._method import Method

__all__ = ["ConsilienceClassifier"]

METHODS = (
    Method(
        "Consilience",
        "the default: regressions, forests and boosting on all views, pooled by left-out log loss",
        "consilience",
        lambda random_state: ConsilienceClassifier(random_state=random_state),
        preparation="none",
        in_default_selection=True,
    ),
)
