"""Weighted majority votes: MωMvC²."""

from consilience.vote._mwmvc2 import MwMvC2Classifier

__all__ = ["MwMvC2Classifier"]
