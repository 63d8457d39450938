"""Entries of the sparse methods' docstrings, for ``fill_docstring``."""

from __future__ import annotations

__all__ = ["ENTRIES"]

ENTRIES = {
    "penalty": """
        penalty : float, default=0.1
            Strength of the penalty, as a share of the smallest one at which all penalised
            coefficients are 0.
    """,
    "path": """
        n_penalties : int, default=30
            Number of penalties to try: a geometric sequence of shares of the smallest penalty at
            which all coefficients are 0.
        min_penalty : float, default=0.01
            Smallest of these shares.
        cv : int, splitter or splits, default=5
            Folds; a number means stratified folds in the order of the rows. The groups of ``fit``
            are kept together, and passed to a splitter.
        rule : {"best", "1se"}, default="best"
            Which penalty is chosen: that of the smallest log loss, or the largest one whose log
            loss is within a standard error of the smallest, which selects fewer columns.
    """,
    "standardize": """
        standardize : bool, default=True
            Whether columns are divided by their standard deviation before they are penalised;
            ``coef_`` is for the columns as given. They are always centred.
    """,
    "tol": """
        tol : float, default=1e-8
            Duality gap to reach, as a share of the loss without any column.
        max_iter : int, default=1000
            Maximum number of Newton iterations for each penalty.
    """,
    "coefficients": """
        coef_ : dict of view -> ndarray of shape (n_features,) or (n_classes, n_features)
            Coefficients; for two classes those of the second class.
        intercept_ : ndarray of shape (1,) or (n_classes,)
            Intercept.
        selected_ : dict of view -> ndarray
            The panel: numbers of the columns whose coefficients are not 0.
        view_weights_ : ndarray of shape (n_views,)
            Share of each view in the spread of the scores; equal if nothing is selected.
    """,
    "convergence": """
        lambda_ : float
            Strength of the penalty in the objective.
        duality_gap_ : float
            Upper bound of what is left to minimise, as a share of the loss without any column.
        n_iter_ : int
            Number of Newton iterations.
    """,
    "cross_validation": """
        penalties_ : ndarray of shape (n_penalties,)
            Shares that were tried, descending.
        scores_ : ndarray of shape (n_folds, n_settings, n_penalties)
            Log loss on the left-out rows, weighted like the samples.
        best_score_ : float
            Mean log loss of the chosen setting and penalty.
        penalty_ : float
            The chosen share.
    """,
}
