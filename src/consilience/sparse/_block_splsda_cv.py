"""Block sparse PLS-DA with the number of columns and of components chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience._compat import Progress
from consilience._docstring import fill_docstring
from consilience._folds import split_rows
from consilience._model_types import model_type
from consilience._parameters import CV, N_JOBS, POSITIVE_INTEGER, ListOf
from consilience.sparse._block_splsda import SHARED, BlockSPLSDABase, keep_matrix
from consilience.views import MultiViewData

__all__ = ["BlockSPLSDAClassifierCV"]


@model_type("sparse.BlockSPLSDAClassifierCV")
@fill_docstring(**SHARED)
class BlockSPLSDAClassifierCV(BlockSPLSDABase):
    """DIABLO that chooses the number of columns and of components by cross-validation.

    The score is the balanced accuracy on left-out rows. All views and components have the same
    number of columns; a fit with the largest number of components has those with fewer in it.

    Parameters
    ----------
    keeps : list of int, default=(5, 10, 20, 50)
        Numbers of columns of each component to try.
    max_components : int or None, default=None
        Largest number of components to try; None means the number of classes.
    cv : int, splitter or splits, default=5
        Folds; a number means stratified folds in the order of the rows. The groups of ``fit`` are
        kept together, and passed to a splitter.
    {block_parameters}
    {views}
    {class_weight}
    {n_jobs}

    Attributes
    ----------
    keep_, n_components_ : int
        The pair of best mean score; among ties the fewest columns, then the fewest components.
    best_score_ : float
        Its mean balanced accuracy over the folds.
    scores_ : ndarray of shape (n_folds, n_keeps, max_components)
        Balanced accuracies, weighted like the samples, in the order of ``keeps``.
    {block_attributes}
    {fitted_input}

    See Also
    --------
    BlockSPLSDAClassifier : The same with both given.

    References
    ----------
    A. Singh et al., "DIABLO: an integrative approach for identifying key molecular drivers from
    multi-omics assays", Bioinformatics 35 (2019).

    Examples
    --------
    >>> from consilience.datasets import make_multiview_classification
    >>> from consilience.sparse import BlockSPLSDAClassifierCV
    >>> data, y = make_multiview_classification(200, random_state=0)
    >>> BlockSPLSDAClassifierCV([2, 4]).fit(data, y).scores_.shape
    (5, 2, 2)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **BlockSPLSDABase._parameter_constraints,
        "keeps": [ListOf(POSITIVE_INTEGER)],
        "max_components": [None, POSITIVE_INTEGER],
        "cv": CV,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        keeps: Sequence[int] = (5, 10, 20, 50),
        *,
        max_components: int | None = None,
        cv: Any = 5,
        design: Any = 0.1,
        prediction: str = "weighted_average",
        distance: str = "centroids",
        threshold: str = "soft",
        standardize: bool = True,
        tol: float = 1e-10,
        max_iter: int = 1000,
        views: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.keeps = keeps
        self.max_components = max_components
        self.cv = cv
        self.design = design
        self.prediction = prediction
        self.distance = distance
        self.threshold = threshold
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.views = views
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    @property
    def _drops_zero_weights(self) -> bool:
        # splits given as row numbers must keep their meaning
        return not hasattr(self.cv, "__iter__")

    def _fit(self, data: MultiViewData, codes: np.ndarray, weight: np.ndarray) -> None:
        folds = split_rows(self.cv, codes, data, self.classes_, weight)
        H = self.max_components or len(self.classes_)
        keeps, order = np.unique(np.asarray(self.keeps, dtype=np.intp), return_inverse=True)

        def evaluate(task: Any) -> list[float]:
            (train, test), keep = task
            train = train[weight[train] > 0]
            part = data[train]
            own = _Fold(self, data.view_names)
            own._set_components(part, codes[train], weight[train], keep_matrix(keep, part, H))
            return [
                balanced_accuracy(own._scores_from(data[test], h + 1), codes[test], weight[test])
                for h in range(H)
            ]

        tasks = [(fold, keep) for fold in folds for keep in keeps.tolist()]
        with Progress(self, n_tasks=len(tasks)) as progress:
            scores = progress.map(evaluate, tasks, "cross-validate")
        ascending = np.reshape(scores, (len(folds), len(keeps), H))
        self.scores_ = ascending[:, order]
        mean = ascending.mean(axis=0)
        best, h = np.unravel_index(mean.argmax(), mean.shape)
        self.best_score_, self.keep_ = float(mean[best, h]), int(keeps[best])
        kept = np.flatnonzero(weight)
        part = data[kept]
        keep = keep_matrix(self.keep_, part, int(h) + 1)
        self._set_components(part, codes[kept], weight[kept], keep)


class _Fold(BlockSPLSDABase):
    """The fit on a fold, with the settings and classes of another estimator."""

    def __init__(self, whole: BlockSPLSDABase, view_names: Sequence[str]) -> None:
        for name in BlockSPLSDABase._parameter_constraints:
            setattr(self, name, getattr(whole, name))
        self.classes_, self.view_names_ = whole.classes_, list(view_names)


def balanced_accuracy(scores: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> float:
    """Mean over the classes of the weighted share of rows whose class has the largest score."""
    is_right = scores.argmax(axis=1) == codes
    present = [k for k in np.unique(codes) if weight[codes == k].any()]
    return float(
        np.mean([np.average(is_right[codes == k], weights=weight[codes == k]) for k in present])
    )
