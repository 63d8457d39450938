"""The default estimator and its parts; ``from consilience import ConsilienceClassifier``."""

from consilience._default._classifier import ConsilienceClassifier

__all__ = ["ConsilienceClassifier"]
