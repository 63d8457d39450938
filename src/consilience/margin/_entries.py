"""Entries of the margin methods' docstrings, for ``fill_docstring``."""

from __future__ import annotations

__all__ = ["ENTRIES"]

ENTRIES = {
    "prior": """
        prior : {"gaussian", "exponential"}, default="gaussian"
            Cost of a slack ξ: c²ξ²/2, or cξ − 1 − log(cξ) above 1/c, which needs c > 1.
    """,
    "kernel_parameters": """
        kernel : str, function or dict of view -> either, default="linear"
            "linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "cosine" or a function
            (X, Z) -> matrix. Kernel views are used as they are, distance views as exp(−gamma D).
        gamma : "scale", "auto", "median", float or dict of view -> either, default="scale"
            γ of the kernels: 1/(d Var X), 1/d, 1/(median squared distance) or a number; for
            distance views 1/(mean distance) for the first two.
        degree, coef0 : float, default=3, 1.0
            Parameters of the "poly" (γx·z + coef0)^degree and "sigmoid" tanh(γx·z + coef0)
            kernels.
        cache_size : float, default=2000
            Memory for kernel rows, in MB. They are float64 if tol is below 1e-4 and they fit, else
            float32; rows that do not fit are recomputed when they are needed.
    """,
    "solver": """
        solver : {"auto", "primal", "smo"}, default="auto"
            "primal" is an interior point method on the columns of linear kernels, "smo" works on
            any kernels; "auto" chooses "smo" if a kernel is not linear.
    """,
    "combine": """
        combine : "mean", "best" or the name of a view, default="mean"
            The mean of the views' decisions; the best of that mean and of every single view in
            5-fold cross-validation; or the decision of a given view. Where the view that decides
            is missing, the mean of the others does.
    """,
    "tol": """
        tol : float or None, default=None
            On columns, relative duality gap and residuals to reach; None means 1e-9, and 1e-7 is
            accepted where rounding prevents more. For SMO, gap of the optimality conditions in
            units of the decision function; None means 1e-3.
    """,
    "max_iter": """
        max_iter : int or None, default=None
            Maximum number of interior point iterations; None means 100, for SMO 10⁷ pairs.
    """,
    "coefficients": """
        coef_ : dict of view -> ndarray of shape (n_features,) or (n_classes, n_features)
            Coefficients; for more than two classes one row for each class against the rest.
        dual_coef_ : dict of view -> ndarray of shape (n_support,) or (n_classes, n_support)
            Coefficients of the support vectors, if kernels are used; ``coef_`` then has the views
            whose kernel is linear.
        support_ : dict of view -> ndarray of shape (n_support,)
            Sample ids (row numbers unless given) of the support vectors, if kernels are used.
        intercept_ : ndarray of shape (n_views,) or (n_classes, n_views)
            Intercepts. Where the solution leaves them free within an interval, a point inside it.
    """,
    "convergence": """
        n_iter_ : int
            Number of iterations of the solver, the maximum over the binary problems.
        kkt_residual_ : float
            Relative residual of the optimality conditions, the maximum over the binary problems.
    """,
    "view_attributes": """
        best_view_ : str or None
            The view that decides; None if the mean of all views does.
        view_scores_ : ndarray of shape (n_views,)
            Accuracy of every view in cross-validation, on the rows that have it; only for
            ``combine="best"``.
        view_weights_ : ndarray of shape (n_views,)
            Share of each view in what the views add to the margins over a constant decision; 1 for
            a view that decides alone.
    """,
}
