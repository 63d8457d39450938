"""MVL-SVM: a linear support vector machine on the similarities to landmarks of every view.

Three steps: project on landmarks (``_projection``), impute the blocks of missing views
(``_imputation``), learn one machine for each class against the rest (``_learn``).

Reference: V. Zantedeschi, R. Emonet, M. Sebban, "Fast and provably effective multi-view
classification with landmark-based SVM", ECML PKDD 2018.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._model_types import model_type
from consilience._parameters import (
    CLASS_WEIGHT,
    FRACTION,
    N_JOBS,
    POSITIVE_FACTOR,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    TOLERANCE,
    VIEWS,
    StrOptions,
    validate_parameters,
)
from consilience._targets import check_n_labels, one_vs_rest_scores, one_vs_rest_signs
from consilience._warnings import warn_user
from consilience.distributed._mixin import BlockwiseFitMixin
from consilience.landmark._bound import (
    GeneralizationBound,
    check_bound_conditions,
    hoeffding_interval,
    stability_bound,
)
from consilience.landmark._from_blocks import exact_means, learn_from_blocks, sample_size
from consilience.landmark._imputation import IMPUTATIONS, Imputer, fit_imputer
from consilience.landmark._learn import NEWTON_METHODS, SOLVERS, learn
from consilience.landmark._projection import LANDMARK_PARAMETERS, find_landmarks
from consilience.views import MultiViewData
from consilience.views._index import check_series
from consilience.views._input import sample_labels
from consilience.views._pairwise import KINDS
from consilience.views._storage import format_list

__all__ = ["MVLSVMClassifier"]


@model_type("landmark.MVLSVMClassifier")
class MVLSVMClassifier(BlockwiseFitMixin, MultiViewClassifier):
    """MVL-SVM: a linear machine on similarities to landmarks, for large and incomplete data.

    Every view is compared with its landmarks; the similarities of all views side by side are the
    input of one linear support vector machine for each class against the rest,
    min ½|θ|² + C/n Σ loss(y(Mθ + b)). Training takes time linear in the number of samples. The
    similarities of a missing view are imputed from those of the views that a row has, in fit and
    in predict.

    Parameters
    ----------
    n_landmarks : int or dict of view -> int, default=100
        Number of landmarks of each view. Where a view has no more distinct rows than that, they
        are its landmarks.
    landmarks : {"kmeans", "random"} or samples, default="kmeans"
        Centres of k-means in every view (of a kernel or distance view, the samples nearest to
        them); a random sample of rows, the same in all views; or landmarks of your own, as
        ``MultiViewData`` or anything ``as_multiview`` reads.
    kernel : str, callable or dict of view -> these, default="rbf"
        "rbf", "laplacian", "chi2", "cosine", "linear", "poly", "sigmoid", or a function of two
        matrices; not used for kernel and distance views.
    gamma : float, "auto", "scale", "median" or dict of view -> these, default="median"
        Coefficient of the kernel; "median" is 1 / median squared distance between training
        samples, which needs no scaling of the views, "scale" 1 / (number of columns x variance),
        and "auto", the value of the paper, 1 / number of columns, for scaled columns. Distance
        views become exp(−gamma D), where gamma is 1 / median or, for the other two, 1 / mean of D.
    C : float, default=1000.0
        Weight of the mean loss against ½|θ|²; the c of the paper.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss of a margin below 1; the paper has "hinge".
    fit_intercept : bool, default=True
        Whether the machines have an intercept, which is not regularized.
    imputation : {"em", "ridge", "least_squares", "mean", "none"}, default="em"
        How missing blocks are imputed: from means and covariances of all rows, by regression on
        the complete rows, by the paper's combination of landmarks, or with means. With "none"
        only complete rows are trained on, and in prediction missing views count as not similar to
        any landmark.
    solver : str, default="auto"
        For "squared_hinge" "newton", "newton-cg" or "liblinear"; for "hinge" "interior-point",
        "gram" or "liblinear". "auto" chooses between the others; "gram", LIBSVM on the Gram matrix
        of the rows, needs an intercept and is by far the fastest for a few thousand rows, but not
        as exact. LIBLINEAR regularizes the intercept slightly.
    tol : float, default=1e-6
        Tolerance of the relative gradient (Newton), of gap and residuals (interior points, at most
        1e-9), or those of LIBLINEAR and LIBSVM.
    max_iter : int, default=100
        Maximum number of iterations of the solver; in thousands for LIBLINEAR. "gram" has none.
    views : None, list or dict, default=None
        Groups of columns when X is one matrix, or names of the views to use.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights.
    random_state : int, RandomState or None, default=None
        Draws landmarks and starts k-means.
    n_jobs : int or None, default=None
        Number of threads over views, blocks of rows and classes; None is 1.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, n_landmarks of all views)
        θ, a row for each class against the rest (one row for two classes).
    intercept_ : ndarray of shape (1 or n_classes,)
        Intercepts.
    block_slices_ : dict of view -> slice
        Columns of each view in ``coef_``.
    n_iter_ : int
        Number of iterations of the solver, the maximum over the classes.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    view_weights_ : ndarray of shape (n_views,)
        Norm of each view's part of θ, divided by the sum of these norms.
    view_names_ : list of str
        Names of the views.
    n_views_in_ : int
        Number of views.
    n_features_in_ : int
        Number of columns over all views.
    view_feature_names_in_ : dict of view -> ndarray of str
        Names of the columns, of the views that have names.

    See Also
    --------
    LandmarkProjector : The similarities alone, as a transformer.

    References
    ----------
    V. Zantedeschi, R. Emonet, M. Sebban, "Fast and provably effective multi-view classification
    with landmark-based SVM", ECML PKDD 2018.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from consilience import ViewTransformer
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.landmark import MVLSVMClassifier
    >>> digits = load_digits_views()
    >>> model = make_pipeline(
    ...     ViewTransformer(StandardScaler()), MVLSVMClassifier(50, random_state=0)
    ... )
    >>> model = model.fit(digits.data[:1000], digits.target[:1000])
    >>> model.score(digits.data[1000:], digits.target[1000:]) > 0.9
    True
    """

    _kinds = KINDS
    _imputer: Imputer
    _parameter_constraints: dict[str, list[Any]] = {
        **LANDMARK_PARAMETERS,
        "C": [POSITIVE_FACTOR],
        "loss": [StrOptions(set(SOLVERS))],
        "fit_intercept": ["boolean"],
        "imputation": [StrOptions(set(IMPUTATIONS))],
        "solver": [StrOptions(set().union(*SOLVERS.values()))],
        "tol": [TOLERANCE],
        "max_iter": [POSITIVE_INTEGER],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_landmarks: Any = 100,
        *,
        landmarks: Any = "kmeans",
        kernel: Any = "rbf",
        gamma: Any = "median",
        C: float = 1000.0,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        imputation: str = "em",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        views: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.imputation = imputation
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.views = views
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameter_relations(self) -> None:
        if self.solver not in SOLVERS[self.loss]:
            raise ValueError(
                f"The 'solver' parameter of {type(self).__name__} must be one of "
                f"{', '.join(SOLVERS[self.loss])} for loss={self.loss!r}. Got {self.solver!r} "
                "instead."
            )
        if self.solver == "gram" and not self.fit_intercept:
            raise ValueError("solver='gram' needs fit_intercept=True; choose another solver")

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        rng = check_random_state(self.random_state)
        M, present = self._prepare(data, weight, rng)
        if self.imputation == "none":
            M, present, codes, weight = self._complete_rows(M, present, codes, weight)
        prepared = self._imputer(M, present), present, codes, weight, rng
        if hasattr(self, "_path_input"):
            self._path_input = prepared
        self._solve(*prepared)

    def _solve(
        self,
        M: np.ndarray,
        present: np.ndarray,
        codes: np.ndarray,
        weight: np.ndarray,
        rng: np.random.RandomState,
    ) -> None:
        """Learn the machines from projected and imputed rows."""
        rng = copy.deepcopy(rng)  # all machines of a path start from the same state
        signs = one_vs_rest_signs(codes, len(self.classes_))
        learned = (signs > 0).any(axis=1)
        with Progress(self, n_tasks=len(signs)) as progress:
            theta, self.n_iter_, converged = learn(
                M,
                signs[learned],
                self.C * weight / weight.sum(),
                loss=self.loss,
                intercept=self.fit_intercept,
                solver=self.solver,
                tol=self.tol,
                max_iter=self.max_iter,
                rng=rng,
                progress=progress,
                n_jobs=self.n_jobs,
            )
        if not learned.all():
            # the machine of a class without rows always says no
            theta_of_all = np.zeros((len(theta), len(signs)))
            theta_of_all[:, learned], theta_of_all[-1, ~learned] = theta, -1.0
            theta = theta_of_all
        self._set_fitted_attributes(theta, converged)
        losses = np.maximum(0, 1 - signs.T * self._decisions(M))
        self._training = {
            "n": len(codes),
            "losses": losses.mean(axis=0),
            "plain": bool((weight == weight[0]).all() and present.all()),
        }

    def _complete_rows(
        self, M: np.ndarray, present: np.ndarray, codes: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Training rows that have all views."""
        rows = np.flatnonzero(present.all(axis=1))
        n_classes = len(np.unique(codes[rows]))
        if n_classes < 2:
            raise ValueError(
                f"imputation='none' trains on rows that have all views, and these have {n_classes} "
                "class(es); choose another imputation"
            )
        if n_classes < len(self.classes_):
            lacking = np.setdiff1d(np.arange(len(self.classes_)), codes[rows])
            warn_user(
                f"no row of class {format_list(self.classes_[lacking])} has all views, which "
                "imputation='none' needs: it is never predicted"
            )
        return M[rows], present[rows], codes[rows], weight[rows]

    def path(self, X: Any, y: Any, Cs: list[float], sample_weight: Any = None) -> list[Any]:
        """Fit for several C; landmarks, similarities and imputed values are computed once.

        Parameters
        ----------
        X : MultiViewData, matrix, or any input that ``as_multiview`` reads
            Training samples.
        y : array of shape (n_samples,)
            Labels, numbers or strings.
        Cs : list of floats
            Values of C.
        sample_weight : array of shape (n_samples,), optional
            Weights >= 0; a row of weight 0 counts as absent.

        Returns
        -------
        list of MVLSVMClassifier
            Fitted, one for each C in the given order, as ``fit`` would with the same
            ``random_state``. This classifier is left as it was.
        """
        for C in Cs:
            validate_parameters(clone(self).set_params(C=C))
        if not len(Cs):
            return []
        first = clone(self).set_params(C=Cs[0])
        first._path_input = None  # asks fit to keep the prepared rows
        first.fit(X, y, sample_weight)
        prepared = first.__dict__.pop("_path_input")
        models = [first]
        for C in Cs[1:]:
            model = copy.copy(first).set_params(C=C)
            model._solve(*prepared)
            models.append(model)
        return models

    def _check_blockwise_parameters(self) -> None:
        if self.loss != "squared_hinge" or self.solver == "liblinear":
            raise ValueError(
                "data in blocks need loss='squared_hinge' and solver='auto', 'newton' or "
                f"'newton-cg'; got loss={self.loss!r}, solver={self.solver!r}"
            )
        if self.imputation == "none":
            raise ValueError("data in blocks need another imputation than 'none'")

    def _fit_blocks(self, training: Any) -> None:
        rng = check_random_state(self.random_state)
        size = sample_size(self.n_landmarks, self.landmarks, tuple(self.view_names_))
        sample = training.sample(size, rng)
        self._prepare(sample.data, sample.weight, rng)
        if self.imputation == "mean":
            self._imputer = exact_means(training, self._projection, self._imputer)
        with Progress(self, n_tasks=1) as progress:
            theta, self.n_iter_, converged = learn_from_blocks(
                training,
                self._projection,
                self._imputer,
                C=self.C,
                intercept=self.fit_intercept,
                method=NEWTON_METHODS[self.solver],
                tol=self.tol,
                max_iter=self.max_iter,
                random_state=rng,
            )
            progress.tick("solve")
        self._set_fitted_attributes(theta, converged)
        # the bound needs the hinge loss, which is not available for blocks
        self._training = {"n": training.n, "losses": None, "plain": False}

    def _prepare(
        self, data: MultiViewData, weight: np.ndarray, rng: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit projection and imputer; return the projected rows and which blocks they have."""
        self._projection, complete_samples = find_landmarks(
            data,
            weight,
            n_landmarks=self.n_landmarks,
            landmarks=self.landmarks,
            kernel=self.kernel,
            gamma=self.gamma,
            random_state=rng,
            n_jobs=self.n_jobs,
        )
        M, present = self._projection(data, self.n_jobs), self._projection.present(data)
        self._imputer = fit_imputer(
            M,
            present,
            self._projection.slices,
            weight,
            self.imputation,
            rng=rng,
            P=self._projection(complete_samples) if self.imputation == "least_squares" else None,
        )
        return M, present

    def _set_fitted_attributes(self, theta: np.ndarray, converged: bool) -> None:
        if not converged:
            warn_user(
                f"{type(self).__name__} stopped before tol={self.tol:g} was reached: raise "
                f"max_iter (now {self.max_iter}) or tol, or lower C",
                ConvergenceWarning,
            )
        self.coef_, self.intercept_ = theta[:-1].T.copy(), theta[-1].copy()
        slices = self._projection.slices
        self.block_slices_ = dict(zip(self.view_names_, slices, strict=True))
        norms = np.array([np.linalg.norm(self.coef_[:, where]) for where in slices])
        total = norms.sum()
        self.view_weights_ = norms / total if total > 0 else np.full(len(norms), 1 / len(norms))

    def _decisions(self, M: np.ndarray) -> np.ndarray:
        return M @ self.coef_.T + self.intercept_

    def _scores(self, data: MultiViewData) -> np.ndarray:
        M = self._projection(data, self.n_jobs)
        M = self._imputer(M, self._projection.present(data))
        return one_vs_rest_scores(self._decisions(M))

    def generalization_bound(
        self, delta: float = 0.05, X: Any = None, y: Any = None
    ) -> GeneralizationBound:
        """Bound on the expected hinge loss and, from held-out samples, an interval for the error.

        The bound follows from uniform stability and needs the hinge loss, no intercept, landmarks
        and ``gamma`` that were not chosen from the training samples ("median" and "scale" are),
        similarities of at most 1, and training samples without weights or missing views. It is far
        above 1 unless C is tiny.

        Parameters
        ----------
        delta : float in (0, 1), default=0.05
            Each of the two statements fails with at most this probability.
        X, y : samples and labels, optional
            Held-out samples, used neither in fit nor for any choice of parameters.

        Returns
        -------
        GeneralizationBound
        """
        if not FRACTION.is_satisfied_by(delta):
            raise ValueError(f"delta must be {FRACTION}, got {delta!r}")
        check_bound_conditions(self, self._layout.kinds, self._training["plain"])
        training = self._training
        # a union bound over the binary problems
        delta_of_each = delta / len(self.coef_)
        risk = float(training["losses"].max())
        bound = stability_bound(risk, training["n"], self.C, self.coef_.shape[1], delta_of_each)
        error = interval = None
        if X is not None:
            check_series(sample_labels(X), y=y)
            predicted, y = self.predict(X), column_or_1d(y)
            check_n_labels(y, len(predicted))
            wrong = predicted != y
            error = float(wrong.mean())
            interval = hoeffding_interval(error, len(wrong), delta)
        return GeneralizationBound(delta, bound, bound > 1, risk, error, interval)
