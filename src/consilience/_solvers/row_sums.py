"""Sums over blocks of rows for squared hinge machines: losses, gradients, Hessians and products.

Each function takes a block and a state and returns a tuple of arrays to be added up over the
blocks, wherever they are. Every pass serves all P problems (one class against the rest each); θ is
a matrix (d + 1) x P whose last row holds the intercepts.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from consilience._core.threads import stopping_threads

__all__ = [
    "Block",
    "InMemoryRows",
    "changes",
    "curvature",
    "hessian_product",
    "hessians",
    "loss_and_gradient",
    "scaled_rows",
    "shared_hessian",
]

# entries of a block of rows: what a core keeps at hand between two products with it
BLOCK_ENTRIES = 1 << 18


_scratch = threading.local()
Arrays = tuple[np.ndarray, ...]


def scratch(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array to be overwritten, of this thread: fresh memory can cost more than a sum over it."""
    size, held = math.prod(shape), _scratch.__dict__
    if size > 2 * BLOCK_ENTRIES:
        return np.empty(shape)
    if name not in held or held[name].size < size:
        held[name] = np.empty(size)
    return held[name][:size].reshape(shape)


def as_float64(X: np.ndarray) -> np.ndarray:
    """X, or a copy in the scratch memory for rows."""
    if X.dtype == np.float64:
        return X
    out = scratch("rows", X.shape)
    out[...] = X
    return out


@dataclass
class Block:
    """Rows x (n x d), labels ±1 (n x P), costs ω (n,) and the value of the intercept's column.

    Rows may be stored as float32; sums are taken in float64. ``memo`` keeps what the products of
    one step share; a block that is made anew just lacks it.
    """

    X: np.ndarray
    signs: np.ndarray
    cost: np.ndarray
    bias: float = 1.0
    memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def rows(self) -> np.ndarray:
        """X as float64, until the next call."""
        return as_float64(self.X)


class InMemoryRows:
    """Rows in memory, cut into blocks that do not depend on the number of threads.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    signs : array of shape (n, P)
        Labels ±1 of the P problems.
    cost : array of shape (n,)
        Costs ω > 0.
    intercept : bool
        Whether the machines have a (free) intercept.
    n_jobs : int or None
        Threads over the blocks.
    """

    def __init__(
        self,
        X: np.ndarray,
        signs: np.ndarray,
        cost: np.ndarray,
        *,
        intercept: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        (self.n, self.d), self.P, self.n_jobs = X.shape, signs.shape[1], n_jobs
        self.whole = Block(X, signs, cost, float(intercept))
        size = max(1, BLOCK_ENTRIES // max(1, self.d))
        cuts = [slice(start, start + size) for start in range(0, self.n, size)]
        self.blocks = [Block(X[cut], signs[cut], cost[cut], float(intercept)) for cut in cuts]

    def __reduce__(self) -> tuple[Any, ...]:
        # the pieces are parts of the whole and need not travel
        block = self.whole
        parts = block.X, block.signs, block.cost, bool(block.bias), self.n_jobs
        return _make_rows, parts

    def problems(self, which: np.ndarray) -> InMemoryRows:
        """The same rows with some of the problems."""
        block = self.whole
        signs, intercept = block.signs[:, which], bool(block.bias)
        return InMemoryRows(block.X, signs, block.cost, intercept=intercept, n_jobs=self.n_jobs)

    def sum(self, function: Callable[..., Arrays], *state: Any) -> Arrays:
        """Sum of the tuples of arrays ``function(block, *state)`` over the blocks, in order."""
        if len(self.blocks) == 1:
            return function(self.blocks[0], *state)
        run = Parallel(n_jobs=self.n_jobs, require="sharedmem", return_as="generator")
        with stopping_threads() as call:
            parts = run(delayed(call)(function, block, *state) for block in self.blocks)
            total = next(parts)
            for part in parts:
                for mine, other in zip(total, part, strict=True):
                    mine += other
        return total

    def sample(self, size: int, rng: Any) -> Block:
        """At most ``size`` rows as a block, with costs scaled to the same total."""
        if size >= self.n:
            return self.whole
        block, rows = self.whole, np.sort(rng.choice(self.n, size, replace=False))
        cost = block.cost[rows]
        cost = cost * (block.cost.sum() / cost.sum())
        return Block(block.X[rows], block.signs[rows], cost, block.bias)


def _make_rows(
    X: np.ndarray, signs: np.ndarray, cost: np.ndarray, intercept: bool, n_jobs: int | None
) -> InMemoryRows:
    return InMemoryRows(X, signs, cost, intercept=intercept, n_jobs=n_jobs)


def decisions(block: Block, X: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """f = Xw + b, n x P."""
    out = X @ theta[:-1]
    out += block.bias * theta[-1]
    return out


def rmatvec(block: Block, X: np.ndarray, R: np.ndarray) -> np.ndarray:
    """The adjoint [Xᵀ R; 1ᵀ R]."""
    out = np.empty((X.shape[1] + 1, R.shape[1]))
    out[:-1] = X.T @ R
    out[-1] = block.bias * R.sum(axis=0)
    return out


def loss_and_gradient(block: Block, theta: np.ndarray, which: Any) -> Arrays:
    """Σ ω s², its gradient −2 Σ ω y s x and Σ 2 ω s, where s = max(0, 1 − y f)."""
    X, signs = block.rows(), block.signs[:, which]
    slack = decisions(block, X, theta)
    slack *= signs
    np.subtract(1.0, slack, out=slack)
    np.maximum(slack, 0.0, out=slack)
    costly = slack * (2.0 * block.cost[:, None])
    loss = np.einsum("ij,ij->j", costly, slack) / 2.0
    mass = costly.sum(axis=0)
    costly *= signs
    return loss, -rmatvec(block, X, costly), mass


def curvature(block: Block, theta: np.ndarray, which: Any) -> np.ndarray:
    """2 ω [s > 0], n x P: the weight of every row in every Hessian."""
    active = decisions(block, block.rows(), theta[:, which]) * block.signs[:, which] < 1.0
    return active * (2.0 * block.cost[:, None])


def hessian_product(block: Block, theta: np.ndarray, directions: np.ndarray, which: Any) -> Arrays:
    """Σ 2 ω [s > 0] x xᵀ d for the problems ``which``."""
    if "theta" not in block.memo or not np.array_equal(block.memo["theta"], theta):
        weight = curvature(block, theta, slice(None))
        rows = np.flatnonzero(weight.any(axis=1))
        few = len(rows) < 0.7 * len(weight)  # else copying costs more than it saves
        part = (block.X[rows], weight[rows]) if few else (block.X, weight)
        block.memo.update(theta=theta.copy(), part=part)
    X, weight = block.memo["part"]
    X = as_float64(X)
    moved = decisions(block, X, directions)
    moved *= weight[:, which]
    return (rmatvec(block, X, moved),)


def scaled_rows(
    block: Block, weight: np.ndarray, make: Callable[..., np.ndarray] = np.empty
) -> np.ndarray:
    """√weight [x, 1] for the rows of positive weight, in what ``make(shape)`` gives."""
    rows = np.flatnonzero(weight > 0)
    root = np.sqrt(weight[rows])
    A = make((len(rows), block.X.shape[1] + 1))
    np.multiply(block.X[rows], root[:, None], out=A[:, :-1])
    A[:, -1] = block.bias * root
    return A


def gram(block: Block, weight: np.ndarray) -> np.ndarray:
    """[X, 1]ᵀ diag(weight) [X, 1]."""
    A = scaled_rows(block, weight, partial(scratch, "scaled rows"))
    return A.T @ A


def shared_hessian(block: Block) -> Arrays:
    """Σ 2 ω [x, 1][x, 1]ᵀ, the Hessian of every problem at θ = 0."""
    return (gram(block, 2.0 * block.cost),)


def changes(block: Block, theta: np.ndarray, previous: np.ndarray, which: Any) -> Arrays:
    """For each problem, how many rows are active, and how many became so or ceased to be."""
    now, before = (curvature(block, t, which) > 0 for t in (theta, previous))
    return now.sum(axis=0), (now != before).sum(axis=0)


def hessians(
    block: Block, theta: np.ndarray, previous: np.ndarray, which: Any, fresh: np.ndarray
) -> Arrays:
    """Σ 2 ω [s > 0] [x, 1][x, 1]ᵀ for the problems ``which``; its change where not ``fresh``."""
    now, before = (curvature(block, t, which) for t in (theta, previous))
    out = []
    for k, anew in enumerate(fresh):
        if anew:
            out.append(gram(block, now[:, k]))
            continue
        change = now[:, k] - before[:, k]
        out.append(gram(block, change))
        out[-1] -= gram(block, -change)
    return (np.stack(out),)
