"""Landmark methods: linear machines on similarities to a few landmarks of every view."""

from consilience.landmark._bound import GeneralizationBound
from consilience.landmark._mvlsvm import MVLSVMClassifier
from consilience.landmark._projector import LandmarkProjector

__all__ = ["GeneralizationBound", "LandmarkProjector", "MVLSVMClassifier"]
