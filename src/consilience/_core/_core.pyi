"""Compiled kernels. Arrays are C-contiguous and never copied; inputs may be read-only."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from numpy import bool_, float32, float64, int16, int32, int64, uint8, uint16, uint32, uint64
from numpy.typing import NDArray

T = TypeVar("T", float32, float64)
I = TypeVar("I", int32, int64)
J = TypeVar("J", int32, int64)

class StopFlag:
    """Stops compiled loops in other threads; as a context, it is the flag of the calling thread.

    Loops of a thread whose flag is set raise KeyboardInterrupt. In the main thread, loops handle
    signals themselves.
    """

    def set(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

def rbf_epilogue(
    products: NDArray[T], x_norms: NDArray[T], z_norms: NDArray[T], gamma: float
) -> None:
    """products[i, j] <- exp(-gamma * max(0, x_norms[i] + z_norms[j] - 2 * products[i, j]))."""

def combined_rbf(
    products: NDArray[float32],
    x_norms: NDArray[float32],
    z_norms: NDArray[float32],
    factors: NDArray[float32],
    weights: NDArray[float32],
    width: float,
    out: NDArray[float32],
) -> None:
    """out <- (Σ_v w_v exp(-f D_v) + exp(-f Σ_v w_v D_v)) / 2 of V x n x m products of rows.

    D_v = factors[v] * max(0, x_norms[v, i] + z_norms[v, j] - 2 * products[v, i, j]), w are the
    weights, f is the width.
    """

def pack_panels(Z: NDArray[float32]) -> NDArray[float32]:
    """The rows of Z in panels of 32, as ``gaussian_rows`` reads them."""

def gaussian_rows(
    X: NDArray[float32],
    x_norms: NDArray[float32],
    packed: NDArray[float32],
    z_norms: NDArray[float32],
    out: NDArray[float32],
) -> None:
    """out[i, j] <- exp(-max(0, x_norms[i] + z_norms[j] - 2 X[i] @ Z[j])) with Z packed."""

def local_patterns(
    X: NDArray[float32],
    distances: NDArray[int64],
    biases: NDArray[float32],
    out: NDArray[float32],
) -> None:
    """out <- how strongly 84 patterns of nine points, at each of D distances, occur in each row.

    X is n x d and finite, biases D x 84, out n x (84 * D): means of what exceeds the biases.
    """

# SMO, used through consilience._solvers.smo. A kernel is (store, slots, used, diagonal): the row of
# sample t is store[slots[t]], float32 or float64. Where slots[t] < 0 it is not in the store yet and
# fetch(view, samples) is called to compute it. ``used`` records when each slot was last read.
Kernels = list[tuple[NDArray[Any], NDArray[int64], NDArray[int64], NDArray[float64]]]
Fetch = Callable[[int, NDArray[int64]], None]

def smo_joint(
    kernels: Kernels,
    fetch: Fetch,
    y: NDArray[float64],
    upper: NDArray[float64],
    own: NDArray[float64],
    shared: NDArray[float64],
    c: float,
    lam: NDArray[float64],
    F: NDArray[float64],
    tol: float,
    max_steps: int,
    batch: int,
) -> tuple[int, float]:
    """Solve the margin problem in V views; return the number of steps and the gap.

    lam and F (V x n) are updated in place.

    c = 0: ψ is ½ own Σ_v λ² + ½ shared μ²; c > 0: −own log(1 − μ/(c own)), μ = Σ_v λ_v.
    """

def smo_pair(
    kernels: Kernels,
    fetch: Fetch,
    y: NDArray[float64],
    C: NDArray[float64],
    D: NDArray[float64],
    epsilon: float,
    a: NDArray[float64],
    beta: NDArray[float64],
    F: NDArray[float64],
    tol: float,
    max_steps: int,
    batch: int,
) -> tuple[int, float]:
    """Solve SVM-2K; return the number of steps and the gap. a, F (2 x n), beta are updated."""

# Penalised regression, used through consilience._solvers.penalised. A view is (matrix,), n x d by
# columns, or (data, indices, indptr, mean) of a CSC matrix whose columns are centred by ``mean``.
DesignView = tuple[NDArray[Any], ...]

def solve_penalised(
    views: list[DesignView],
    present: NDArray[uint8],
    weight: NDArray[float64],
    codes: NDArray[int64],
    view_counts: NDArray[float64],
    column_norms: NDArray[float64],
    group_starts: NDArray[int64],
    l1: NDArray[float64],
    tau: NDArray[float64],
    ridge: NDArray[float64],
    rho: float,
    lam: float,
    last_lam: float,
    non_negative: bool,
    coef: NDArray[float64],
    intercept: NDArray[float64],
    norms: NDArray[float64],
    reference: NDArray[float64],
    tol: float,
    max_iter: int,
    max_passes: int,
) -> tuple[float, float, int, int, float]:
    """Solve for one lam; return gap, objective, iterations, working columns and the next last_lam.

    coef (d x outputs), intercept, norms (d) and reference (slots x outputs x n) are updated.
    """

@overload
def sparse_gram(
    data: NDArray[float64],
    indices: NDArray[I],
    indptr: NDArray[I],
    weight: NDArray[float64],
    mean: NDArray[float64],
    sums: NDArray[float64],
    out: NDArray[float64],
) -> float:
    """out += (A − mean)ᵀW(A − mean), upper triangle; sums = (A − mean)ᵀw; returns Σw."""

@overload
def sparse_gram(
    a_data: NDArray[float64],
    a_indices: NDArray[I],
    a_indptr: NDArray[I],
    b_data: NDArray[float64],
    b_indices: NDArray[J],
    b_indptr: NDArray[J],
    weight: NDArray[float64],
    mean_a: NDArray[float64],
    mean_b: NDArray[float64],
    sums_a: NDArray[float64],
    sums_b: NDArray[float64],
    out: NDArray[float64],
) -> float:
    """The same for two canonical CSR matrices A and B; rows with weight 0 are skipped."""

class MarginRows:
    """Samples of the interior point method: constraints, costs, labels ±1 and weights."""

    def __init__(
        self,
        slot: NDArray[int64],
        H: NDArray[float64],
        final: NDArray[float64],
        slope: NDArray[float64],
        bend: NDArray[float64],
        label: NDArray[float64],
        weight: NDArray[float64],
        on: NDArray[float64] | None,
    ) -> None: ...
    def curvature(self, s: NDArray[float64], lam: NDArray[float64], D: NDArray[float64]) -> None:
        """ω times the curvature in z, D[u, v] for u ≤ v in the rows of ``D``."""

class MarginWay:
    """A search direction, built in stages; ``dz`` (stages x V x n) is the change of z in each."""

    def __init__(
        self,
        rows: MarginRows,
        s: NDArray[float64],
        lam: NDArray[float64],
        low: float,
        high: float,
    ) -> None: ...
    def add(self, target: str, goal: NDArray[float64], aim: float = 1.0) -> None:
        """Add a stage with a "plain", "second" or "centred" target."""

    def pop(self) -> None:
        """Remove the last stage."""

    def reduce(self, dz: NDArray[float64], R: NDArray[float64]) -> None:
        """Right-hand side of the last stage in z, from the dz of the previous stages."""

    def reach(self, dz: NDArray[float64]) -> tuple[float, float, float]:
        """1 / (maximum step), and the coefficients of t and t² in the change of the gap."""

    def move(
        self,
        dz: NDArray[float64],
        t: float,
        xi: NDArray[float64],
        new_xi: NDArray[float64],
        new_s: NDArray[float64],
        new_lam: NDArray[float64],
        R: NDArray[float64],
    ) -> tuple[float, float, float, float, float, float]:
        """Take a step t; y ω Hᵀλ is written to R.

        Returns gap, loss, Σ ω|Hᵀλ|, and the maxima of |q' − Σλ|, |q'| and |λs − 1|.
        """

# Trees, used through consilience._core.binned.
#   Limits   minimum and maximum of every bin, and the first bin of each feature (d + 1)
#   Entries  indptr, middle, rows, codes, zero_bin, outside_in of the sparse columns
#   Arrays   feature, threshold, left, right, bin, missing_left, depth, decision, gain, value
#   Params   max_depth, min_samples_leaf, min_weight_leaf, max_features, random_splits, seed,
#            exponent, key, depth
Limits = tuple[NDArray[float64], NDArray[float64], NDArray[int64]]
Arrays = tuple[NDArray[Any], ...]
Params = tuple[Any, ...]

def bin_dense(
    x: NDArray[T], mass: NDArray[int64] | None, present: NDArray[bool_] | None, max_bins: int
) -> tuple[NDArray[uint8], Limits]:
    """Bin codes (blocks x n x 8, flat) and limits; x may have any strides and is not copied."""

def find_limits(x: NDArray[T], mass: NDArray[int64] | None, max_bins: int) -> Limits:
    """The limits of ``bin_dense`` alone."""

def bin_sparse(
    data: NDArray[float64],
    indices: NDArray[int32],
    indptr: NDArray[int64],
    n_rows: int,
    mass: NDArray[int64] | None,
    present: NDArray[bool_] | None,
    max_bins: int,
) -> tuple[Any, ...]:
    """Entries and limits of a canonical CSC matrix."""

def grow_dense(
    bins: NDArray[uint8],
    least: NDArray[float64],
    greatest: NDArray[float64],
    start: NDArray[int64],
    codes: NDArray[int32] | None,
    weights: NDArray[float64] | None,
    costs: NDArray[float64] | None,
    rows: NDArray[bool_] | None,
    n_classes: int,
    params: Params,
) -> Arrays:
    """Grow a tree for codes and weights, or for costs (n x n_classes)."""

def grow_sparse(
    indptr: NDArray[int64],
    middle: NDArray[int64],
    entry_rows: NDArray[int32],
    entry_codes: NDArray[uint8],
    zero_bin: NDArray[uint8],
    outside_in: NDArray[uint32],
    n_rows: int,
    least: NDArray[float64],
    greatest: NDArray[float64],
    start: NDArray[int64],
    codes: NDArray[int32] | None,
    weights: NDArray[float64] | None,
    costs: NDArray[float64] | None,
    rows: NDArray[bool_] | None,
    n_classes: int,
    params: Params,
) -> Arrays:
    """The same on sparse entries."""

def apply_dense(tree: Arrays, x: NDArray[T], n_depths: int) -> NDArray[int32]:
    """Node of each row at depths 1 ... n_depths (n x n_depths); n_depths = 0: the leaf (n x 1)."""

def apply_csr(
    tree: Arrays,
    data: NDArray[float64],
    indices: NDArray[int32],
    indptr: NDArray[int64],
    n_depths: int,
) -> NDArray[int32]:
    """The same for a canonical CSR matrix."""

def apply_bins(tree: Arrays, bins: NDArray[uint8], n_depths: int) -> NDArray[int32]:
    """The same for binned rows."""

def predict_bins(
    tree: tuple[NDArray[Any], ...],
    decision: NDArray[int32],
    bins: NDArray[uint8],
    out: NDArray[int32],
) -> None:
    """The decision at the leaf of each binned row."""

def apply_sparse_bins(
    tree: Arrays,
    indptr: NDArray[int64],
    middle: NDArray[int64],
    entry_rows: NDArray[int32],
    entry_codes: NDArray[uint8],
    zero_bin: NDArray[uint8],
    outside_in: NDArray[uint32],
    n_rows: int,
    n_depths: int,
) -> NDArray[int32]:
    """The same for binned sparse rows."""

# Trees on blocks of rows (levels.hpp, coding.hpp, exact_sum.hpp), used through
# consilience.distributed._trees and consilience._core.exact.
def exact_sums(
    values: NDArray[float64], groups: NDArray[int32] | None, n_groups: int
) -> NDArray[uint32]:
    """Exact sums of each group: integers in units of 2^-1074, 32 bits each, the lowest first."""

def cost_total(costs: NDArray[float64], rows: NDArray[bool_] | None) -> NDArray[uint32]:
    """Exact sum over the rows of the largest difference from the cost of class 0."""

def code_dense(
    x: NDArray[T], cuts: NDArray[float64], start: NDArray[int64], present: NDArray[bool_] | None
) -> tuple[NDArray[uint8], NDArray[float64], NDArray[float64]]:
    """Codes (blocks x n x 8, flat) by given cuts, and the range of the values of each code."""

def code_sparse(
    data: NDArray[float64],
    indices: NDArray[int32],
    indptr: NDArray[int64],
    n_rows: int,
    cuts: NDArray[float64],
    start: NDArray[int64],
    present: NDArray[bool_] | None,
) -> tuple[Any, ...]:
    """Entries of a canonical CSC matrix by given cuts, and the range of the values of each code."""

class GrowingRows:
    """The rows of a block while a tree is grown on all blocks; its memory is used again."""

    def start(
        self,
        n_rows: int,
        n_features: int,
        codes: NDArray[int32] | None,
        weights: NDArray[float64] | None,
        costs: NDArray[float64] | None,
        rows: NDArray[bool_] | None,
        n_classes: int,
        params: Params,
    ) -> None: ...
    def dense_level(
        self,
        bins: NDArray[uint8],
        tree: tuple[NDArray[Any], ...],
        start: NDArray[int64],
        place: NDArray[int32],
        slot: NDArray[int32],
        n_places: int,
        n_slots: int,
    ) -> tuple[NDArray[int64], NDArray[int64]]:
        """Sums and histograms of the nodes of a level."""

    def sparse_level(self, *args: Any) -> tuple[NDArray[int64], NDArray[int64]]:
        """The same on sparse entries."""

# Rounds of boosting (round_rows.hpp); sums are limbs of 32 bits, as those of exact_sums
def cost_sums(
    scale: NDArray[float64],
    base: NDArray[float64],
    total: NDArray[float64],
    codes: NDArray[int32],
    predictions: NDArray[int32],
    mask: NDArray[bool_],
) -> NDArray[Any]: ...
def update_costs(
    scale: NDArray[float64],
    base: NDArray[float64],
    total: NDArray[float64],
    codes: NDArray[int32],
    predictions: NDArray[int32],
    mask: NDArray[bool_],
    shrink: float,
    grow: float,
    rescale_above: float,
) -> None: ...
def vote_sums(
    w: NDArray[float64], codes: NDArray[int32], predictions: NDArray[int32]
) -> NDArray[Any]: ...
def reweigh(
    w: NDArray[float64],
    codes: NDArray[int32],
    predictions: NDArray[int32],
    factors: NDArray[float64],
    out: NDArray[float64],
) -> None: ...

class LevelGrower:
    """A tree that is grown from the sums of all blocks."""

    def __init__(
        self,
        least: NDArray[float64],
        greatest: NDArray[float64],
        start: NDArray[int64],
        n_classes: int,
        cost: bool,
        params: Params,
    ) -> None: ...
    def level(self) -> NDArray[int32]: ...
    def built(self) -> NDArray[int32]: ...
    def advance(self, hist: NDArray[int64], totals: NDArray[int64], few_rows: int) -> None: ...
    def unfinished(self) -> NDArray[int32]: ...
    def keys(self) -> NDArray[Any]: ...
    def arrays(self) -> Arrays: ...

# Forests (forest.hpp): arrays over the inner nodes of all trees. A child >= 0 is an inner node of
# the same tree, counted from its first one; a child < 0 is leaf −1 − child.
def grow_trees(
    codes: NDArray[uint8],
    least: NDArray[float64],
    greatest: NDArray[float64],
    start: NDArray[int64],
    y: NDArray[int32],
    weight: NDArray[float64],
    folds: NDArray[int32],
    sample_share: float,
    seeds: NDArray[uint64],
    n_classes: int,
    max_features: int,
    max_depth: int,
) -> Arrays:
    """Grow one tree for each seed on columns of bins (d x n); tree t leaves out fold t.

    The other rows take part in a tree with probability sample_share each.

    Returns feature, threshold, left, right, missing_left, left_share, starts, roots, the class
    shares of mixed leaves (numbered from n_classes on), and the leaf that each row reaches in the
    tree that leaves it out (−1 if there is none).
    """

def grow_sparse_trees(
    indptr: NDArray[int64],
    middle: NDArray[int64],
    entry_rows: NDArray[int32],
    entry_codes: NDArray[uint8],
    zero_bin: NDArray[uint8],
    outside_in: NDArray[uint32],
    n_rows: int,
    least: NDArray[float64],
    greatest: NDArray[float64],
    start: NDArray[int64],
    y: NDArray[int32],
    weight: NDArray[float64],
    folds: NDArray[int32],
    sample_share: float,
    seeds: NDArray[uint64],
    n_classes: int,
    max_features: int,
    max_depth: int,
) -> Arrays:
    """The same on sparse entries."""

class ForestPredictor:
    """The arrays of a forest, checked once."""

    def __init__(
        self,
        feature: NDArray[uint16] | NDArray[int32],
        threshold: NDArray[float32] | NDArray[float64],
        left: NDArray[int16] | NDArray[int32],
        right: NDArray[int16] | NDArray[int32],
        missing_left: NDArray[uint8],
        left_share: NDArray[float32],
        starts: NDArray[int64],
        roots: NDArray[int32],
        leaf_shares: NDArray[float32],
    ) -> None: ...
    def predict_dense(
        self,
        x: NDArray[T],
        present: NDArray[bool_] | None,
        view_of_column: NDArray[int32] | None,
        min_path_weight: float,
    ) -> NDArray[float64]:
        """Mean class shares (n x K) of the leaves that the rows reach.

        present (n x V) says which view a row has; it descends to both children of a node that
        splits on a column of another view, unless its path is lighter than min_path_weight.
        """
    def predict_csr(
        self,
        data: NDArray[float64],
        indices: NDArray[int32],
        indptr: NDArray[int64],
        n_columns: int,
        present: NDArray[bool_] | None,
        view_of_column: NDArray[int32] | None,
        min_path_weight: float,
    ) -> NDArray[float64]:
        """The same for a canonical CSR matrix."""

# Boosted trees, used through consilience._default._boosted.
#   Boosted  feature, threshold, left, right, missing_left, value, starts of all trees
Boosted = tuple[NDArray[Any], ...]

def boost(
    bins: NDArray[uint8],
    least: NDArray[float64],
    greatest: NDArray[float64],
    start: NDArray[int64],
    codes: NDArray[int32],
    weight: NDArray[float64],
    left_out: NDArray[bool_],
    base: NDArray[float64],
    n_classes: int,
    params: tuple[float, ...],
) -> tuple[Boosted, NDArray[float64], NDArray[float64]]:
    """Trees, scores of the rows left out (scores x rows, flat), and their loss by round.

    params: max_rounds, patience, max_leaves, max_depth, learning_rate, l2, min_hessian, row_share,
    max_features, seed.
    """

def boosted_scores(trees: Boosted, x: NDArray[T], n_scores: int) -> NDArray[float64]:
    """Sums (n x n_scores) of the leaves that the rows reach; tree t adds to score t % n_scores."""
