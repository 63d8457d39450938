"""Entries of the boosting methods' docstrings, for ``fill_docstring``."""

from __future__ import annotations

__all__ = ["ENTRIES"]

ENTRIES = {
    "base_parameters": """
        estimator : classifier or dict of view -> classifier, default=None
            Weak learner; None means a ``BinnedTreeClassifier`` of depth ``max_depth``, which bins
            each view only once. Single values may be NaN in the views of weak learners given here
            that support NaN.
        n_estimators : int, default=100
            Maximum number of rounds.
        learning_rate : float, default=1.0
            Factor applied to the weight of every learner.
        max_depth : int, default=3
            Depth of the default tree.
    """,
    "training_parameters": """
        resample : bool, default=False
            Train on rows drawn with probability proportional to their weights, for classifiers
            that do not support ``sample_weight``.
        validation_fraction : float, default=0.1
            Fraction of the rows used for early stopping if ``n_iter_no_change`` is given.
        n_iter_no_change : int or None, default=None
            Stop after this number of rounds without an improvement of the validation accuracy and
            keep the rounds up to the best one; None disables early stopping.
        warm_start : bool, default=False
            Continue the previous fit on the same data with a larger ``n_estimators``.
        views : None, list or dict, default=None
            Groups of columns if X is a single matrix, or names of the views to use.
        random_state : int, RandomState or None, default=None
            Seed.
        n_jobs : int or None, default=None
            Number of threads over the views; None means 1.
    """,
    "single_learner_rounds": """
        estimators_ : list
            The weak learners, one for each round.
        estimator_views_ : ndarray of shape (n_rounds,)
            Index of the view of each learner.
        estimator_weights_ : ndarray of shape (n_rounds,)
            Weight of each learner in the vote.
    """,
    "round_errors": """
        edges_ : ndarray of shape (n_rounds,)
            Weight of the rows that the learner of each round classifies correctly minus that of
            the others (divided by the number of other classes).
        training_bound_ : ndarray of shape (n_rounds,)
            Two classes only: upper bound on the training error after each round, the product of
            √(1 − edge²) unless weights were clipped or views are missing.
    """,
    "view_weights_": """
        view_weights_ : ndarray of shape (n_views,)
            Share of each view in the sum of the absolute weights.
    """,
}
