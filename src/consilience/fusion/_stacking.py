"""Stacking fusion: a final classifier learns how to combine the outputs of the views."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from consilience._base import MultiViewClassifier
from consilience._compat import Progress
from consilience._estimators import fit_weighted, with_seeds
from consilience._model_types import model_type
from consilience._parameters import (
    CLASS_WEIGHT,
    CV,
    ESTIMATOR,
    FRACTION,
    N_JOBS,
    RANDOM_STATE,
    VIEWS,
    HasMethods,
)
from consilience.distributed._blocks import BlockTraining
from consilience.distributed._mixin import BlockwiseFitMixin
from consilience.fusion._block_learners import (
    check_groups_of_blocks,
    check_members_learn_from_blocks,
    look_at_views,
    number_rows,
)
from consilience.fusion._from_blocks import (
    collect_left_out,
    fit_members_from_blocks,
    folds_from_cv,
)
from consilience.fusion._members import (
    ViewMember,
    best_method,
    block_shares,
    check_known_classes,
    class_scores,
    fit_member,
)
from consilience.fusion._out_of_fold import (
    Split,
    are_splits,
    is_test_size,
    make_splits,
    out_of_fold,
)
from consilience.views import MultiViewData
from consilience.views._pairwise import KINDS
from consilience.views._params import PerViewParams, per_view

__all__ = ["StackingFusionClassifier"]

MAX_FINAL_ROWS = 100_000  # of data in blocks that the final classifier is fitted on


def stack_outputs(outputs: np.ndarray, fills: Any) -> np.ndarray:
    """Concatenate the outputs (V x n x K) of the views, imputed with ``fills[v]`` where missing.

    For two classes only the second column of each view is used, which determines the first.
    """
    outputs = np.where(np.isnan(outputs), np.asarray(fills)[:, None, :], outputs)
    if outputs.shape[2] == 2:
        outputs = outputs[:, :, 1:]
    return np.hstack(list(outputs))


def missing_outputs(
    members: list[ViewMember], outputs: np.ndarray, prior: np.ndarray, weight: np.ndarray
) -> list[np.ndarray]:
    """Imputed outputs of missing views: the class prior, or the mean of the decision values."""
    fills = []
    for member, output in zip(members, outputs, strict=True):
        rows = np.flatnonzero(~np.isnan(output).any(axis=1) & (weight > 0))
        if best_method(member.estimator) != "decision_function" or len(rows) == 0:
            fills.append(prior)
        else:
            fills.append(np.average(output[rows], axis=0, weights=weight[rows]))
    return fills


@model_type("fusion.StackingFusionClassifier")
class StackingFusionClassifier(BlockwiseFitMixin, MultiViewClassifier, PerViewParams):
    """One classifier per view, and a final one fitted on their out-of-fold outputs.

    Parameters
    ----------
    estimator : classifier or dict of view -> classifier, default=None
        Cloned for every view, or one for each; None means a logistic regression on scaled columns.
        Single values may be NaN in the views of classifiers that support NaN.
    final_estimator : classifier, default=None
        Fitted on the probabilities (or decision values) of the views; None means a logistic
        regression.
    cv : int, float, splitter or iterable of splits, default=5
        How the training data of the final classifier are computed. With folds, from outputs for
        held-out rows, and the classifiers of the views are then refitted on all rows. With a float,
        the final classifier is fitted on this fraction of the rows and the classifiers of the views
        on the others. The groups of ``fit`` are kept together, and passed to a splitter.
    views : None, list or dict, default=None
        Groups of columns if X is a single matrix, or names of the views to use.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, multiplied into the sample weights.
    random_state : int, RandomState or None, default=None
        Seed of the hold-out split and of the classifiers whose own ``random_state`` is None.
    n_jobs : int or None, default=None
        Number of threads over views and folds; None means 1.

    Attributes
    ----------
    estimators_ : dict of view -> classifier
        The fitted classifiers; views with training rows of fewer than two classes have none.
    final_estimator_ : classifier
        The fitted final classifier.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    view_weights_ : ndarray of shape (n_views,)
        Share of each view in the coefficients or feature importances of the final classifier;
        AttributeError if it has neither.
    view_names_ : list of str
        Names of the views.
    n_views_in_ : int
        Number of views.
    n_features_in_ : int
        Total number of columns of all views.
    view_feature_names_in_ : dict of view -> ndarray of str
        Names of the columns, of the views that have names.

    See Also
    --------
    LateFusionClassifier : A vote instead of a learned combination.

    References
    ----------
    D. H. Wolpert, "Stacked generalization", Neural Networks 5 (1992).

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> from consilience.fusion import StackingFusionClassifier
    >>> digits = load_digits_views()
    >>> model = StackingFusionClassifier().fit(digits.data[:500], digits.target[:500])
    >>> model.score(digits.data[500:], digits.target[500:])
    0.8...
    """

    _kinds = KINDS
    _uses_groups = True

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": ESTIMATOR,
        "final_estimator": [HasMethods(["fit", "predict"]), None],
        "cv": [*CV, FRACTION],
        "views": VIEWS,
        "class_weight": CLASS_WEIGHT,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        final_estimator: Any = None,
        cv: Any = 5,
        views: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.final_estimator = final_estimator
        self.cv = cv
        self.views = views
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _drops_zero_weights(self) -> bool:
        # splits given as row indices must stay valid
        return not are_splits(self.cv)

    def _seeded_estimators(self, names: tuple[str, ...]) -> tuple[dict[str, Any], Any]:
        """Classifiers of the views, and the final one."""
        estimators = per_view(self.estimator, names, "estimator")
        final = self.final_estimator
        final = LogisticRegression(max_iter=1000) if final is None else final
        *members, final = with_seeds({**estimators, "": final}, self.random_state).values()
        return dict(zip(names, members, strict=True)), final

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        names = data.view_names
        estimators, final = self._seeded_estimators(names)
        splits = make_splits(self.cv, codes, weight, self.random_state, data, self.classes_)
        holdout = is_test_size(self.cv)
        base_rows = splits[0][0] if holdout else np.arange(len(data))
        base = (data[base_rows], codes[base_rows], weight[base_rows])

        def fit(name: str) -> ViewMember | None:
            return fit_member(estimators[name], base[0], name, base[1], base[2], self.classes_)

        def predict_fold(task: tuple[str, Split]) -> np.ndarray:
            name, split = task
            return out_of_fold(estimators[name], data, name, codes, weight, self.classes_, split)

        folds = [] if holdout else splits
        with Progress(self, n_tasks=len(names) * (len(folds) + 1)) as progress:
            fitted = progress.map(fit, names, "fit view")
            self._members = [member for member in fitted if member is not None]
            if not self._members:
                raise ValueError("no view has training rows of at least two classes")
            voting = [member.name for member in self._members]
            tasks = [(name, split) for name in voting for split in folds]
            fold_outputs = progress.map(predict_fold, tasks, "predict fold")
        if holdout:
            rows = splits[0][1]
            outputs = self._outputs(data[rows])
        else:
            rows = np.concatenate([test for _, test in splits])
            outputs = np.concatenate(fold_outputs).reshape(len(voting), len(rows), -1)
        self._fit_final(final, outputs, codes[rows], weight[rows])

    def _check_blockwise_parameters(self) -> None:
        folds_from_cv(self.cv, type(self).__name__)
        check_members_learn_from_blocks(self.estimator, type(self).__name__)

    def _fit_blocks(self, training: BlockTraining) -> None:
        names, n_rows, starts = tuple(self.view_names_), training.n, training.starts
        estimators, final = self._seeded_estimators(names)
        folds = folds_from_cv(self.cv, type(self).__name__)
        blocks = training.map_and_release(number_rows, each=starts)
        overview = look_at_views(blocks, names, len(self.classes_))
        check_groups_of_blocks(overview, self.classes_)
        # with a hold-out set, its members are those that predict
        left_out = folds if is_test_size(self.cv) else [*folds, None]
        with Progress(self, n_tasks=0):
            fitted = fit_members_from_blocks(
                blocks, n_rows, estimators, overview, self.classes_, left_out
            )
        self._members = [member for member in fitted[-1] if member is not None]
        if not self._members:
            raise ValueError("no view has training rows of at least two classes")
        n_left_out = n_rows * sum(end - start for start, end in folds)
        share = min(1.0, MAX_FINAL_ROWS / n_left_out)
        by_fold = list(zip(folds, fitted, strict=False))
        outputs, codes, weight = collect_left_out(blocks, by_fold, share)
        if len(codes) == 0:
            raise ValueError(
                f"cv={self.cv!r} leaves out none of the {n_rows} rows; use a larger one"
            )
        self._fit_final(final, outputs, codes, weight)

    def _fit_final(
        self, final: Any, outputs: np.ndarray, codes: np.ndarray, weight: np.ndarray
    ) -> None:
        """Fit the final classifier on outputs (V x n x K) for rows left out."""
        self._fills = missing_outputs(self._members, outputs, self.class_prior_, weight)
        X = stack_outputs(outputs, self._fills)
        rows, where = np.flatnonzero(weight > 0), "the outputs of the views (final_estimator)"
        self.final_estimator_ = fit_weighted(
            final, X[rows], self.classes_[codes[rows]], weight[rows], where
        )
        check_known_classes(self.final_estimator_, self.classes_, where)
        self.estimators_ = {member.name: member.estimator for member in self._members}

    def _outputs(self, data: MultiViewData) -> np.ndarray:
        return np.stack([m.output(data, best_method(m.estimator)) for m in self._members])

    def _stack(self, data: MultiViewData) -> np.ndarray:
        return stack_outputs(self._outputs(data), self._fills)

    def _scores(self, data: MultiViewData) -> np.ndarray:
        return self._final_output(data, best_method(self.final_estimator_))

    def _final_output(self, data: MultiViewData, method: str) -> np.ndarray:
        return class_scores(self.final_estimator_, self._stack(data), method, self.classes_)

    def _probabilities(self, data: MultiViewData) -> np.ndarray:
        return self._final_output(data, "predict_proba")

    def _has_probabilities(self) -> bool:
        final = getattr(self, "final_estimator_", self.final_estimator)
        return final is None or hasattr(final, "predict_proba")

    @property
    def view_weights_(self) -> np.ndarray:
        """Share of each view in the final classifier."""
        shares = None
        if hasattr(self, "final_estimator_"):
            width = 1 if len(self.classes_) == 2 else len(self.classes_)
            shares = block_shares(self.final_estimator_, [width] * len(self._members))
        if shares is None:
            raise AttributeError(
                "view_weights_ requires a fitted final classifier with coef_ or "
                "feature_importances_"
            )
        weights = np.zeros(len(self.view_names_))
        weights[[self.view_names_.index(member.name) for member in self._members]] = shares
        return weights
