"""Classifiers of single views, or of all views side by side, fitted on data in blocks.

Three kinds of classifiers learn from blocks: those with ``partial_fit``, which see the blocks in
order; logistic regression, from sums over rows; and classifiers of this package that fit from
blocks themselves. Before the first two there may be transformers with ``partial_fit``, or that
learn nothing. All classifiers share the passes over the data.

A row's fold is a hash of its number over all blocks, or of its group.
"""

from __future__ import annotations

import copy
import inspect
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from consilience._estimators import check_classifier
from consilience._folds import encode_groups
from consilience._solvers.logistic import logistic_sums, minimise_logistic
from consilience._training import LabelledRows, TrainingRows, label_totals
from consilience.distributed._blocks import BlockTraining
from consilience.distributed._mixin import BlockwiseFitMixin
from consilience.distributed._row_sample import hash_uniform
from consilience.views import MultiViewData
from consilience.views._input import read_input
from consilience.views._storage import fill_rows

__all__ = [
    "Columns",
    "Interval",
    "Learner",
    "NumberedRows",
    "Overview",
    "check_groups_of_blocks",
    "check_learns_from_blocks",
    "check_members_learn_from_blocks",
    "fit_learners",
    "left_out_rows",
    "look_at_views",
    "make_learner",
    "number_rows",
]

# updates after which stochastic gradients have usually converged (scikit-learn's user guide), and
# the number of passes at most, if rows are few
SGD_UPDATES, MAX_PASSES = 1_000_000, 20
MAX_PARAMETERS = 2000  # of a logistic regression, whose Hessian is the square of it
FOLD_PURPOSE = 1  # of the hash of row numbers


# -- rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NumberedRows:
    """Training rows, and the number of the first one over all blocks."""

    rows: TrainingRows
    start: int


def number_rows(rows: TrainingRows, start: int) -> NumberedRows:
    """The rows of a block with their numbers."""
    return NumberedRows(rows, start)


Interval = tuple[float, float]  # rows whose number in [0, 1) lies in it are left out


def left_out_rows(block: NumberedRows, interval: Interval) -> np.ndarray:
    """Mask of the rows of a block in a fold or hold-out set; groups are kept together."""
    groups = block.rows.data.groups
    if groups is None:
        uniform = hash_uniform(block.start, len(block.rows.codes), FOLD_PURPOSE)
    else:
        which = encode_groups(groups)
        _, first = np.unique(which, return_index=True)
        numbers = [hash_uniform(group_code(name), 1, FOLD_PURPOSE) for name in groups[first]]
        uniform = np.concatenate(numbers)[which]
    return (uniform >= interval[0]) & (uniform < interval[1])


def group_code(name: Any) -> int:
    """A number that equal names have in common, also if they are floats in some blocks only."""
    is_whole = isinstance(name, (float, np.floating)) and float(name).is_integer()
    return zlib.crc32(str(int(name) if is_whole else name).encode())


def groups_of_classes(block: NumberedRows, n_classes: int) -> list[set[int]] | None:
    """Up to two groups of each class in a block; None if the block has no groups."""
    groups, codes = block.rows.data.groups, block.rows.codes
    if groups is None:
        return None
    which = encode_groups(groups)
    out = []
    for k in range(n_classes):
        _, first = np.unique(which[codes == k], return_index=True)
        out.append({group_code(name) for name in groups[codes == k][first[:2]]})
    return out


def check_groups_of_blocks(overview: Overview, classes: np.ndarray) -> None:
    """Raise an error if folds cannot keep groups together, or leave out all rows of a class."""
    known = [groups for groups in overview.groups if groups is not None]
    if 0 < len(known) < len(overview.groups):
        raise ValueError("some blocks have groups and others do not")
    for k, label in enumerate(classes.tolist()):
        if len(set().union(*(groups[k] for groups in known))) == 1:
            raise ValueError(
                f"class {label!r} occurs in only one group, so it cannot be predicted from the "
                "other groups; leave it out or use other groups"
            )


@dataclass(frozen=True, eq=False)
class Columns:
    """What a classifier sees: one view (in the rows that have it), or all views side by side.

    ``fills`` are rows that replace missing views in the second case.
    """

    view: str | None
    sparse: bool
    fills: dict[str, np.ndarray] | None = None

    def take(self, data: MultiViewData) -> tuple[Any, np.ndarray]:
        """Matrix of the rows that the classifier sees, and their indices."""
        if self.view is not None:
            index = np.flatnonzero(data.present[:, data.view_names.index(self.view)])
            views = [data[self.view][index] if len(index) < len(data) else data[self.view]]
        else:
            assert self.fills is not None
            index = np.arange(len(data))
            views = [
                fill_rows(view, ~data.present[:, v], self.fills[name])
                if not data.present[:, v].all()
                else view
                for v, (name, view) in enumerate(data.items())
            ]
        if self.sparse:
            return sp.hstack([sp.csr_array(view) for view in views], format="csr"), index
        return np.hstack([v.toarray() if sp.issparse(v) else v for v in views]), index


@dataclass(frozen=True, eq=False)
class Overview:
    """Counts of classes (V x K) among the rows with each view, storage, density and means.

    ``groups`` are those of ``groups_of_classes``, one entry for each block.
    """

    counts: np.ndarray
    sparse: np.ndarray
    density: float
    means: dict[str, np.ndarray]
    groups: list[list[set[int]] | None]


def summarise_views(block: NumberedRows, n_classes: int) -> tuple:
    """Counts of classes, storage, stored and all values, sums and weights of columns, groups."""
    rows, data = block.rows, block.rows.data
    counts, sparse, sizes, sums = [], [], np.zeros(2), []
    for v, (_, X) in enumerate(data.items()):
        index = np.flatnonzero(data.present[:, v])
        counts.append(np.bincount(rows.codes[index], minlength=n_classes))
        sparse.append(sp.issparse(X) or len(index) == 0)
        part = (sp.csr_array(X) if sp.issparse(X) else X)[index]
        if len(index):
            sizes += [part.nnz if sp.issparse(part) else part.size, np.prod(part.shape)]
        part, weight = (part.toarray() if sp.issparse(part) else part), rows.weight[index]
        is_known = ~np.isnan(part)
        known = np.where(is_known, part, 0.0).astype(np.float64, copy=False)
        sums.append((weight @ known, weight @ is_known))
    groups = groups_of_classes(block, n_classes)
    return np.array(counts), np.array(sparse), sizes, sums, groups


def look_at_views(blocks: Any, names: Sequence[str], n_classes: int) -> Overview:
    """What classifiers must know about the views before they see the rows, in one pass."""
    parts = blocks.collect(summarise_views, n_classes)
    counts, sparse, sizes, sums, groups = zip(*parts, strict=True)
    n_stored, n_values = sum(sizes)
    means = {}
    for v, name in enumerate(names):
        total, weight = (sum(part[v][j] for part in sums) for j in range(2))
        means[name] = (total / np.where(weight > 0, weight, 1.0))[None, :]
    density = n_stored / max(n_values, 1.0)
    return Overview(sum(counts), np.all(sparse, axis=0), density, means, list(groups))


# -- classifiers ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Learner:
    """A classifier on its way through the blocks, from which some rows may be left out.

    ``classes`` are those of the rows with its columns, ``codes`` maps the classes of all rows to
    them.
    """

    estimator: Any
    columns: Columns
    classes: np.ndarray
    codes: np.ndarray
    where: str
    left_out: Interval | None = None

    def rows(self, block: NumberedRows) -> tuple[Any, np.ndarray, np.ndarray]:
        """Matrix, codes and weights of the rows of a block that the classifier learns from."""
        rows = block.rows
        X, index = self.columns.take(rows.data)
        if self.left_out is not None:
            kept = ~left_out_rows(block, self.left_out)[index]
            X, index = X[np.flatnonzero(kept)], index[kept]
        return X, self.codes[rows.codes[index]], rows.weight[index]


def make_learner(
    estimator: Any,
    columns: Columns,
    counts: np.ndarray,
    classes: np.ndarray,
    where: str,
    left_out: Interval | None = None,
) -> Learner:
    """Learner of a clone of the classifier, for the classes that occur."""
    check_classifier(estimator, where)
    occurs = counts > 0
    codes = np.cumsum(occurs) - 1
    return Learner(clone(estimator), columns, classes[occurs], codes, where, left_out)


def steps_of(estimator: Any) -> list[Any]:
    """Steps of a pipeline that do something, or the classifier alone."""
    if not isinstance(estimator, Pipeline):
        return [estimator]
    return [step for _, step in estimator.steps if step not in (None, "passthrough")]


def learns_by_sums(classifier: Any) -> bool:
    """Return True for a logistic regression with an L2 penalty and an intercept."""
    if type(classifier) is not LogisticRegression:
        return False
    plain = LogisticRegression().get_params()
    free = {"C", "tol", "max_iter", "random_state", "solver", "verbose", "n_jobs", "warm_start"}
    given = classifier.get_params()
    is_plain = all(given[name] == plain[name] for name in plain if name not in free)
    return is_plain and bool(np.isfinite(classifier.C))


def check_learns_from_blocks(estimator: Any, method: str, where: str) -> None:
    """Raise an error for classifiers that need all rows at once."""
    if estimator is None or isinstance(estimator, BlockwiseFitMixin):
        return
    *transformers, classifier = steps_of(estimator)
    for step in transformers:
        if not hasattr(step, "partial_fit") and get_tags(step).requires_fit:
            raise TypeError(
                f"{method} cannot fit {type(step).__name__} on {where} from blocks, because it has "
                "no partial_fit; use StandardScaler, MaxAbsScaler, IncrementalPCA or another "
                "transformer that has"
            )
    if not hasattr(classifier, "partial_fit") and not learns_by_sums(classifier):
        raise TypeError(
            f"{method} cannot fit {type(classifier).__name__} on {where} from blocks, because it "
            "needs all rows at once; use SGDClassifier or another classifier with partial_fit, "
            "LogisticRegression with an L2 penalty and no class_weight, or a classifier of this "
            "package that fits from blocks"
        )


def check_members_learn_from_blocks(estimators: Any, method: str) -> None:
    """Check one classifier, or each of a dict of view -> classifier."""
    if isinstance(estimators, Mapping):
        for name, estimator in estimators.items():
            check_learns_from_blocks(estimator, method, f"view {name!r}")
    else:
        check_learns_from_blocks(estimators, method, "the views")


# -- passes --------------------------------------------------------------------------------------


def fit_learners(blocks: Any, n_rows: int, learners: Sequence[Learner]) -> list[Any]:
    """Fitted classifiers of the learners, which share the passes over the blocks."""
    fitted: dict[int, Any] = {}
    waiting = {
        j: learner
        for j, learner in enumerate(learners)
        if not isinstance(learner.estimator, BlockwiseFitMixin)
    }
    for j, learner in enumerate(learners):
        if j not in waiting:
            fitted[j] = fit_own(blocks, learner)
    schedules = {j: schedule(learner.estimator, n_rows) for j, learner in waiting.items()}
    for number in range(max(map(len, schedules.values()), default=0)):
        chosen = [j for j in waiting if number < len(schedules[j])]
        states = [(waiting[j], schedules[j][number]) for j in chosen]
        for j, (learner, _) in zip(chosen, blocks.fold(advance, states), strict=True):
            waiting[j] = learner
    by_sums = [j for j in waiting if learns_by_sums(steps_of(waiting[j].estimator)[-1])]
    regressions = fit_regressions(blocks, [waiting[j] for j in by_sums])
    fitted.update({j: learner.estimator for j, learner in waiting.items()})
    fitted.update(zip(by_sums, regressions, strict=True))
    return [fitted[j] for j in range(len(learners))]


def schedule(estimator: Any, n_rows: int) -> list[int]:
    """Step that learns in each pass over the blocks with ``partial_fit``."""
    *transformers, classifier = steps_of(estimator)
    passes = [k for k, step in enumerate(transformers) if hasattr(step, "partial_fit")]
    if learns_by_sums(classifier):
        return passes
    max_iter = getattr(classifier, "max_iter", None)
    n_passes = 1  # without iterations, a second pass would count every row twice
    if max_iter is not None:
        n_passes = min(max_iter, MAX_PASSES, -(-SGD_UPDATES // n_rows))
    return passes + [len(transformers)] * n_passes


def advance(block: NumberedRows, state: tuple[Learner, int]) -> tuple[Learner, int]:
    """Show a block to one step of a classifier; the state is not changed but copied."""
    learner, number = state
    X, codes, weight = learner.rows(block)
    if X.shape[0] == 0:
        return state
    estimator = copy.deepcopy(learner.estimator)
    steps = steps_of(estimator)
    try:
        for step in steps[:number]:
            X = step.transform(X)
        given = weight_argument(steps[number], weight, number == len(steps) - 1, learner.where)
        if number < len(steps) - 1:
            steps[number].partial_fit(X, **given)
        else:
            steps[number].partial_fit(X, learner.classes[codes], classes=learner.classes, **given)
    except Exception as error:
        error.add_note(f"raised by the estimator {type(estimator).__name__} on {learner.where}")
        raise
    return replace(learner, estimator=estimator), number


def weight_argument(step: Any, weight: np.ndarray, is_classifier: bool, where: str) -> dict:
    """Keyword argument of ``partial_fit`` for the weights; an error if a classifier has none."""
    if (weight == 1).all():
        return {}
    if "sample_weight" in inspect.signature(step.partial_fit).parameters:
        return {"sample_weight": weight}
    if is_classifier:
        raise ValueError(
            f"sample_weight or class_weight was given, but partial_fit of {type(step).__name__} on "
            f"{where} does not support sample_weight"
        )
    return {}


def transformed_rows(block: NumberedRows, learner: Learner) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows as the last step of the classifier sees them."""
    X, codes, weight = learner.rows(block)
    if X.shape[0]:
        for step in steps_of(learner.estimator)[:-1]:
            X = step.transform(X)
    return X, codes, weight


def sums_of_regressions(
    block: NumberedRows, learners: list[Learner], thetas: list[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Sums of several logistic regressions, one after the other."""
    out: list[np.ndarray] = []
    for learner, theta in zip(learners, thetas, strict=True):
        out += logistic_sums(*transformed_rows(block, learner), theta, len(learner.classes))
    return tuple(out)


def fit_regressions(blocks: Any, learners: list[Learner]) -> list[Any]:
    """Fitted logistic regressions (in their pipelines), by sums over the rows."""
    if not learners:
        return []
    widths = np.max(blocks.collect(transformed_widths, learners), axis=0).tolist()
    shapes = []
    for learner, width in zip(learners, widths, strict=True):
        n_classes = len(learner.classes)
        shapes.append((width + 1, 1 if n_classes == 2 else n_classes))
        if shapes[-1][0] * shapes[-1][1] > MAX_PARAMETERS:
            raise ValueError(
                f"LogisticRegression on {learner.where} has {shapes[-1][0] * shapes[-1][1]} "
                f"parameters, but blocks support {MAX_PARAMETERS}; use "
                "SGDClassifier(loss='log_loss') instead"
            )
    classifiers = [steps_of(learner.estimator)[-1] for learner in learners]

    def evaluate(which: list[int], thetas: list[np.ndarray]) -> list[Any]:
        sums = blocks.sum(sums_of_regressions, [learners[j] for j in which], thetas)
        return [sums[k : k + 3] for k in range(0, len(sums), 3)]

    solutions = minimise_logistic(evaluate, shapes, [step.C for step in classifiers])
    return [
        with_solution(learner.estimator, learner.classes, *solution)
        for learner, solution in zip(learners, solutions, strict=True)
    ]


def transformed_widths(block: NumberedRows, learners: list[Learner]) -> list[int]:
    """Number of columns that the last steps see; 0 if the block has no rows for them."""
    shapes = [transformed_rows(block, learner)[0].shape for learner in learners]
    return [width if rows else 0 for rows, width in shapes]


def with_solution(estimator: Any, classes: np.ndarray, theta: np.ndarray, n_iter: int) -> Any:
    """The pipeline, or logistic regression, with these parameters."""
    estimator = copy.deepcopy(estimator)
    last = steps_of(estimator)[-1]
    last.classes_, last.n_features_in_ = classes, len(theta) - 1
    last.coef_, last.intercept_ = theta[:-1].T.copy(), theta[-1].copy()
    last.n_iter_ = np.array([n_iter], dtype=np.int32)
    return estimator


# -- classifiers of this package -----------------------------------------------------------------


def fit_own(blocks: Any, learner: Learner) -> Any:
    """A classifier of this package, fitted from the blocks of its columns."""
    estimator = learner.estimator
    estimator._check_blockwise_parameters()
    width = max(blocks.collect(learner_width, learner))
    example = sp.csr_array((1, width)) if learner.columns.sparse else np.zeros((1, width))
    (name,) = read_input(estimator, example, reset=True).view_names
    summaries = blocks.collect(summarise_rows, learner)
    sizes, totals, counts, n_values = zip(*summaries, strict=True)
    classes = estimator._set_classes(list(totals))
    rows = blocks.map(rows_of_learner, learner, name, classes.factors)
    n_rows = np.array(sizes)
    training = BlockTraining(
        rows, n_rows, n_rows[:, None], classes.totals, (width,), sum(counts), sum(n_values)
    )
    estimator._fit_blocks(training)
    return estimator


def learner_width(block: NumberedRows, learner: Learner) -> int:
    """Number of columns that a classifier sees."""
    return learner.columns.take(block.rows.data)[0].shape[1]


def summarise_rows(block: NumberedRows, learner: Learner) -> tuple:
    """Number of rows, total weights and counts of the classes, and number of values."""
    X, codes, weight = learner.rows(block)
    totals = label_totals(LabelledRows(block.rows.data, learner.classes[codes], weight))
    n_values = X.nnz if sp.issparse(X) else X.size
    return X.shape[0], totals, np.bincount(codes, minlength=len(learner.classes)), n_values


def rows_of_learner(
    block: NumberedRows, learner: Learner, name: str, factors: np.ndarray
) -> TrainingRows:
    """Training rows of a classifier of this package, whose only view has this name."""
    X, codes, weight = learner.rows(block)
    data = MultiViewData({name: X}, present=np.ones((X.shape[0], 1), dtype=bool))
    return TrainingRows(data, codes, weight * factors[codes])
