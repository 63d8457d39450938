"""Landmark methods: linear machines on similarities to a few landmarks of every view."""

from consilience._method import Method
from consilience.landmark._bound import GeneralizationBound
from consilience.landmark._mvlsvm import MVLSVMClassifier
from consilience.landmark._projector import LandmarkProjector

__all__ = ["GeneralizationBound", "LandmarkProjector", "MVLSVMClassifier"]

METHODS = (
    Method(
        "MVL-SVM",
        "linear SVM on similarities of scaled views to 100 landmarks each",
        "Zantedeschi et al. 2018",
        lambda random_state: MVLSVMClassifier(gamma="auto", random_state=random_state),
        {"C": [10.0, 100.0, 1000.0, 10000.0]},
        preparation="variance",
        in_default_selection=True,
    ),
)
