"""Weighted majority votes: MωMvC²."""

from consilience._method import Method
from consilience.vote._mwmvc2 import MwMvC2Classifier

__all__ = ["MwMvC2Classifier"]

METHODS = (
    Method(
        "MwMvC2",
        "two-level weighted vote of randomised trees of all depths",
        "Goyal et al. 2018",
        lambda random_state: MwMvC2Classifier(random_state=random_state),
        {"max_depth": [None, 3, 6], "n_iter": [2, 10]},
        in_default_selection=True,
    ),
)
