"""The members of the default: fitted on the same rows, and asked one by one.

The kernel and the linear member see the mapped views, the forests the columns of all views and
their principal components, and the boosted trees the columns as they were given. Each member has
predictions for training rows left out, by which ``_combine`` weighs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from consilience._compat import Progress
from consilience._core.threads import map_in_threads
from consilience._default._boosted import fit_boosted_member, is_boostable
from consilience._default._columns import Columns, Mapped, fit_columns
from consilience._default._forest import assign_folds
from consilience._default._kernel import KernelMember, fit_kernel_member
from consilience._default._linear import fit_linear_member
from consilience._default._row_features import choose_row_features
from consilience._default._trees import ViewColumns, fit_tree_member
from consilience.views import MultiViewData

__all__ = ["FEW_ROWS", "LOG_ODDS_SCALE", "MemberFit", "member_scores"]

N_COMPONENT_FOLDS = 5  # of the training rows, left out when their components are computed
COLUMN_SHARE = 0.3  # of the columns, at which half of the trees look for each node
FEW_ROWS = 1000  # with more rows boosting finds a few strong columns as well
LOG_ODDS_SCALE = 5.0  # so that log-odds are of the size of the other members' scores


@dataclass(eq=False)
class MemberFit:
    """Rows that have a class, and the members that are fitted on them one after the other.

    ``members`` and ``left_out`` (name -> scores of the ``tested`` rows, t x K) are in the order in
    which they were fitted; ``folds`` are None if each row may be left out alone.
    """

    data: MultiViewData
    codes: np.ndarray
    weight: np.ndarray
    prior: np.ndarray
    folds: np.ndarray | None
    progress: Progress
    has_time_left: Callable[[], bool] | None
    members: dict[str, Any] = field(default_factory=dict)
    left_out: dict[str, np.ndarray] = field(default_factory=dict)

    kernel: KernelMember = field(init=False)
    columns: Columns = field(init=False)
    tested: np.ndarray = field(init=False)
    _mapped: Mapped = field(init=False)

    def fit_on_mapped_views(self, mixed: set[str], n_jobs: int | None) -> None:
        """Map the views and fit the kernel and the linear member.

        ``mixed`` are the views of tables of numbers and categories.
        """
        data, codes, weight, prior, folds = self._rows
        with map_in_threads(effective_n_jobs(n_jobs)) as run:
            columns, mapped = fit_columns(data, weight, mixed, run)
            columns, mapped = choose_row_features(
                columns, mapped, data, codes, weight, prior, folds, mixed, run
            )
            ((self.kernel, scores, self.tested),) = self.progress.map(
                lambda filled: fit_kernel_member(data, filled, codes, weight, prior, folds, run),
                [mapped.filled],
                "fit kernel",
            )
            linear = fit_linear_member(
                data, mapped.filled, codes, weight, prior, self.kernel.n_copies, folds, run
            )
        self.columns, self._mapped = columns.with_components(self.kernel.reference_set), mapped
        self.members["kernel"], self.left_out["kernel"] = self.kernel, scores
        if linear is not None:
            self._add("linear", *linear)

    def fit_forests(self, seeds: np.ndarray) -> None:
        """Fit a forest on the columns, and one on the components; seeds (2 x V + 1 x T)."""
        data, codes, weight, prior, folds = self._rows
        # as many as divide those of the forests: rows that a tree leaves out stay left out
        own_folds = assign_folds(codes, N_COMPONENT_FOLDS) if folds is None else folds
        components = self.columns.left_out_components_of(self._mapped, data, own_folds)
        column_share = COLUMN_SHARE if len(codes) <= FEW_ROWS else 0.0
        for name, blocks, share, own_seeds in (
            ("columns", self._mapped.raw, column_share, seeds[0]),
            ("components", components, 0.0, seeds[1]),
        ):
            if any(block is not None for block in blocks):
                member, votes = fit_tree_member(
                    blocks,
                    data.present,
                    codes,
                    weight,
                    prior,
                    self.kernel.view_weights,
                    own_seeds,
                    self._run("grow trees"),
                    self.has_time_left,
                    folds,
                    share,
                )
                self._add(name, member, votes)

    def fit_boosted(self, seed: int) -> None:
        """Fit boosted trees, if there are columns to boost on and time is left."""
        data, codes, weight, prior, folds = self._rows
        given = self.columns.as_given(data, self._mapped)
        has_time = self.has_time_left is None or self.has_time_left()
        if is_boostable(given) and has_time:
            run = self._run("boost trees")
            boosted, log_odds = fit_boosted_member(
                given, data.present, codes, weight, prior, seed, run, folds
            )
            self._add("boosted", boosted, log_odds / LOG_ODDS_SCALE)

    @property
    def _rows(self) -> tuple[MultiViewData, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        return self.data, self.codes, self.weight, self.prior, self.folds

    def _run(self, name: str) -> Callable[[Callable, Iterable[Any]], list[Any]]:
        return lambda function, items: self.progress.map(function, items, name)

    def _add(self, name: str, member: Any, scores: np.ndarray) -> None:
        self.members[name], self.left_out[name] = member, scores[self.tested]


def member_scores(
    names: Sequence[str], members: Sequence[Any], columns: Columns, data: MultiViewData
) -> np.ndarray:
    """Scores (M x n x K) of each member for new rows."""
    mapped = columns.apply(data)
    tree_columns: dict[str, ViewColumns] = {
        "columns": mapped.raw,
        "components": columns.components_of(mapped, data),
    }
    out = []
    for name, member in zip(names, members, strict=True):
        if name in tree_columns:
            out.append(member.predict(tree_columns[name], data.present))
        elif name == "boosted":
            log_odds = member.predict(columns.as_given(data, mapped), data.present)
            out.append(log_odds / LOG_ODDS_SCALE)
        else:
            out.append(member.predict(data, mapped.filled))
    return np.stack(out)
