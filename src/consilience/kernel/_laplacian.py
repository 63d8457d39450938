"""Laplacian completion of kernel views in which some samples are missing.

The other views say which samples are similar. A missing sample is imputed, in the feature space of
the kernel, with the mean of all other samples weighted by that similarity; for all missing samples
together this is the smoothest function on the graph, given by its Laplacian.

Reference: A. Trivedi, P. Rai, H. Daumé III, S. DuVall, "Multiview clustering with incomplete
views", NIPS workshop 2010.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from consilience._kernel_views import check_repeated_samples, present_rows, read_pairwise
from consilience._model_types import model_type
from consilience._parameters import VIEWS, validate_parameters
from consilience._warnings import warn_user
from consilience.views import MultiViewData
from consilience.views._input import read_input
from consilience.views._pairwise import PairwiseView, Reference, number_ids
from consilience.views._storage import format_list

__all__ = ["MOST_PRESENT", "LaplacianCompletion"]


MOST_PRESENT = "most-present"

# rows, columns and similarities of one view; rows and columns that lack the view are left out
Block = tuple[np.ndarray, np.ndarray, np.ndarray]


def mean_similarity(blocks: list[Block], shape: tuple[int, ...]) -> np.ndarray:
    """Mean similarity over the views that both samples have, 0 where there is no such view.

    Negative similarities count as 0, because the edges of a graph have no negative weights.
    """
    total, count = np.zeros(shape), np.zeros(shape)
    for rows, columns, block in blocks:
        where = np.ix_(rows, columns)
        total[where] += np.maximum(block, 0.0)
        count[where] += 1
    return total / np.maximum(count, 1)


def reachable(W: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Mask of the samples that a path of positive weights connects to a known one."""
    _, part = connected_components(W > 0, directed=False)
    return np.isin(part, np.unique(part[known]))


def extension_weights(W: np.ndarray, missing: np.ndarray, known: np.ndarray) -> np.ndarray:
    """T = −L_mm⁻¹ L_mc with L = diag(W1) − W: missing samples as means of known ones."""
    degree = W[missing].sum(axis=1) - W[missing, missing]
    # rows are divided by their degrees: similarities may be tiny, their proportions are not
    inner = np.eye(len(missing)) - W[np.ix_(missing, missing)] / degree[:, None]
    np.fill_diagonal(inner, 1.0)
    return np.linalg.solve(inner, W[np.ix_(missing, known)] / degree[:, None])


def complete_kernel(
    K: np.ndarray, T: np.ndarray, known: np.ndarray, missing: np.ndarray, n: int
) -> np.ndarray:
    """K_mc = T K_cc, K_mm = T K_cc Tᵀ around the known K_cc; NaN in rows that are neither."""
    out = np.full((n, n), np.nan)
    cross = T @ K
    out[np.ix_(known, known)] = K
    out[np.ix_(missing, known)], out[np.ix_(known, missing)] = cross, cross.T
    out[np.ix_(missing, missing)] = cross @ T.T
    return out


@model_type("kernel.LaplacianCompletion")
class LaplacianCompletion(TransformerMixin, BaseEstimator):
    """Fill the missing rows of kernel views from the similarity of samples in the other views.

    With L the Laplacian of the graph whose weights are the other views' kernels, the rows m that
    lack a view get K_mc = T K_cc and K_mm = T K_cc Tᵀ, T = −L_mm⁻¹ L_mc. ``transform`` imputes each
    new row by itself with the weighted mean of the training samples, which gives training rows the
    values that they got in ``fit``. The columns of the result are the training samples.

    Similarities are divided by the mean of their kernel's diagonal; negative ones count as 0.
    Views of other kinds pass unchanged. A row that has no positive similarity with a sample of
    the view, not even through other samples, stays missing, with a warning.

    Parameters
    ----------
    reference : view name, list of view names or None, default=None
        Kernel views that say which samples are similar; None means all except the one that is
        being completed. "most-present", unless it is the name of a view, is the view that most
        training samples have, the first of several; it is not completed itself, and a sample that
        lacks it stays as it is.
    views : None or list of view names, default=None
        Names of the views to use.

    Attributes
    ----------
    kernels_ : dict of view -> ndarray of shape (n_train, n_train)
        Completed kernels of the training samples.
    extensions_ : dict of view -> ndarray of shape (n_missing, n_known)
        T: the training rows that lacked the view as means of those that had it.
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
    MKLClassifier : Learns how much each kernel counts.

    References
    ----------
    A. Trivedi, P. Rai, H. Daumé III, S. DuVall, "Multiview clustering with incomplete views",
    NIPS workshop 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from consilience import MultiViewData
    >>> from consilience.kernel import LaplacianCompletion
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> present = np.ones((6, 2), dtype=bool)
    >>> present[2, 1] = False
    >>> kernels = {"a": rbf_kernel(X), "b": rbf_kernel(X, gamma=0.1)}
    >>> data = MultiViewData(kernels, present=present, kinds={"a": "kernel", "b": "kernel"})
    >>> filled = LaplacianCompletion().fit_transform(data)
    >>> filled.present.all()
    np.True_
    >>> filled["b"][2].round(2)
    array([0.65, 0.83, 0.82, 0.83, 0.65, 0.44])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "reference": [str, "array-like", None],
        "views": VIEWS,
    }

    def __init__(self, reference: Any = None, *, views: Any = None) -> None:
        self.reference = reference
        self.views = views

    def fit(self, X: Any, y: Any = None) -> LaplacianCompletion:
        """Complete the kernels of the training samples.

        Parameters
        ----------
        X : MultiViewData
            Training samples with kernel views.
        y : ignored
            For pipelines.

        Returns
        -------
        self
        """
        validate_parameters(self)
        data = read_input(self, X, reset=True)
        check_repeated_samples(data)
        # a bootstrap repeats samples: one column is enough for each
        first, _ = number_ids(data.sample_ids)
        train = data if len(first) == len(data) else data[first]
        self._reference = train.reference()
        self._check_reference(train)
        kinds = enumerate(train.kinds.items())
        self._known = {
            name: np.flatnonzero(train.present[:, v]) for v, (name, k) in kinds if k == "kernel"
        }
        blocks = self._blocks(train)
        means = {name: np.trace(K) / max(len(K), 1) for name, (_, _, K) in blocks.items()}
        self._scales = {name: mean if mean > 0 else 1.0 for name, mean in means.items()}
        self.kernels_: dict[str, np.ndarray] = {}
        self.extensions_: dict[str, np.ndarray] = {}
        for name in blocks:
            self._complete(name, blocks, len(train))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> MultiViewData:
        """Complete the kernels of the training samples and return them.

        Parameters
        ----------
        X : MultiViewData
            Training samples with kernel views.
        y : ignored
            For pipelines.

        Returns
        -------
        MultiViewData
        """
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> MultiViewData:
        """Complete the kernels between samples and the training samples.

        Parameters
        ----------
        X : MultiViewData
            Samples with the views seen in fit.

        Returns
        -------
        MultiViewData
            Complete kernel views with a column for each training sample.
        """
        check_is_fitted(self)
        data = read_input(self, X, reset=False)
        blocks = self._blocks(data)
        views, present = dict(data._views), data.present.copy()
        for name in blocks:
            v = data.view_names.index(name)
            rows, present[:, v] = self._completed_rows(name, blocks, len(data))
            views[name] = PairwiseView(rows, None, self._reference.ids)
            warn_of_missing_rows(name, np.flatnonzero(~present[:, v]))
        # sample ids still number rows of the matrices they came from: the origin stays
        return data._replace(views, present=present)

    def _check_reference(self, data: MultiViewData) -> None:
        kernels = [name for name, kind in data.kinds.items() if kind == "kernel"]
        if not kernels:
            raise ValueError(
                f"{type(self).__name__} completes kernel views, but X has none: say "
                "kinds={'name': 'kernel'} where a view is a kernel between samples"
            )
        given = [self.reference] if isinstance(self.reference, str) else self.reference
        given = kernels if given is None else list(given)
        is_word = len(given) == 1 and isinstance(given[0], str) and given[0] == MOST_PRESENT
        if is_word and MOST_PRESENT not in kernels:
            counts = {name: len(present_rows(data, name)) for name in kernels}
            given = [max(counts, key=lambda name: counts[name])]
        if not given or not all(isinstance(name, str) and name in kernels for name in given):
            raise ValueError(
                f"reference must name kernel views, {format_list(kernels)}; got {self.reference!r}"
            )
        self._similarity_views = given

    def _blocks(self, data: MultiViewData) -> dict[str, Block]:
        """Blocks of the kernel views in the columns of training samples that have the view."""
        blocks = {}
        for name, columns in self._known.items():
            rows = present_rows(data, name)
            block = np.empty((0, len(columns)))
            if len(rows):
                part = Reference(self._reference.ids[columns], self._reference.origin)
                block = read_pairwise(data, name, part, rows).astype(np.float64, copy=False)
            blocks[name] = rows, columns, block
        return blocks

    def _similarity(
        self, name: str, blocks: dict[str, Block], shape: tuple[int, ...]
    ) -> np.ndarray:
        """Similarity of samples in the views other than ``name``."""
        others = [u for u in self._similarity_views if u != name]
        scaled = [(r, c, K / self._scales[u]) for u in others for r, c, K in [blocks[u]]]
        return mean_similarity(scaled, shape)

    def _complete(self, name: str, blocks: dict[str, Block], n: int) -> None:
        known, _, K = blocks[name]
        missing = np.setdiff1d(np.arange(n), known)
        T = np.zeros((0, len(known)))
        if len(missing):
            W = self._similarity(name, blocks, (n, n))
            missing = missing[reachable(W, known)[missing]]
            T = extension_weights(W, missing, known)
        self.extensions_[name] = T
        self.kernels_[name] = complete_kernel(K, T, known, missing, n)

    def _completed_rows(
        self, name: str, blocks: dict[str, Block], n_rows: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the completed kernel, and the mask of those that could be completed."""
        completed = self.kernels_[name]
        filled = np.flatnonzero(~np.isnan(completed.diagonal()))
        rows, known, block = blocks[name]
        added = np.setdiff1d(filled, known)
        out = np.full((n_rows, len(completed)), np.nan)
        out[np.ix_(rows, known)] = block
        out[np.ix_(rows, added)] = block @ self.extensions_[name].T
        missing = np.setdiff1d(np.arange(n_rows), rows)
        if len(missing) and len(filled):
            W = self._similarity(name, blocks, out.shape)[np.ix_(missing, filled)]
            total = W.sum(axis=1)
            missing, W, total = missing[total > 0], W[total > 0], total[total > 0]
            means = (W / total[:, None]) @ completed[np.ix_(filled, filled)]
            out[np.ix_(missing, filled)] = means
            rows = np.union1d(rows, missing)
        return out, np.isin(np.arange(n_rows), rows)


def warn_of_missing_rows(name: str, rows: np.ndarray) -> None:
    """Warn of the rows that could not be completed."""
    if len(rows):
        warn_user(
            f"view {name!r} stays missing in {len(rows)} rows that are similar, in other views, "
            f"to no sample that has it: rows {format_list(rows)}"
        )
