"""The SMO kernels: step by step against plain loops, rows on demand, what they refuse."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience._core import smo_joint, smo_pair
from reference.smo import second_order_hinge


def problem(n, seed, V=1):
    rng = np.random.RandomState(seed)
    y = np.where(rng.rand(n) < 0.5, 1.0, -1.0)
    y[:2] = 1, -1
    Ks = []
    for _ in range(V):
        X = rng.randn(n, 3) + 0.5 * y[:, None]
        Ks.append(np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2)))
    return Ks, y


def whole(K):
    return K, np.arange(len(K)), np.zeros(len(K), dtype=np.int64), K.diagonal().astype(float)


def hinge(K, y, C, tol=1e-6, max_steps=10_000, kernel=None, fetch=None, batch=4):
    n = len(y)
    lam, F, zero = np.zeros((1, n)), y[None].copy(), np.zeros(n)
    parts = [whole(K) if kernel is None else kernel]
    done = smo_joint(
        parts, fetch, y, C[None].copy(), zero, zero, 0.0, lam, F, tol, max_steps, batch
    )
    return lam[0], F[0], done


@given(n=st.integers(2, 40), seed=st.integers(0, 10_000), cost=st.sampled_from([0.1, 1.0, 100.0]))
def test_steps_equal_the_plain_loop(n, seed, cost):
    (K,), y = problem(n, seed)
    C = cost * (1 + np.random.RandomState(seed).rand(n))
    for steps in (1, 2, 5, 20):
        alpha, F, taken = second_order_hinge(K, y, C, 1e-9, steps)
        ours, gradient, (done, gap) = hinge(K, y, C, 1e-9, steps)
        assert done == taken
        np.testing.assert_allclose(ours, alpha, atol=1e-9 * cost)
        np.testing.assert_allclose(gradient, F, atol=1e-9 * cost)
        assert gap >= 0
    # float32 rows: the same problem to seven digits
    single = hinge(K.astype(np.float32), y, C, 1e-4)[0]
    exact = hinge(K, y, C, 1e-4)[0]
    value = [a.sum() - (y * a) @ K @ (y * a) / 2 for a in (single, exact)]
    assert value[0] == pytest.approx(value[1], rel=1e-3, abs=1e-3)


@given(
    n=st.integers(2, 60),
    seed=st.integers(0, 10_000),
    cost=st.sampled_from([0.01, 1.0, 1e4]),
    scale=st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_loops_in_single_precision_are_made_exact(n, seed, cost, scale):
    (K,), y = problem(n, seed)
    K, C = (scale * K).astype(np.float32), np.full(n, cost / scale)
    tol = 1e-7 * min(cost, 1)
    alpha, F, (_, gap) = hinge(K, y, C, tol, 1_000_000)
    exact = y - K.astype(np.float64) @ (y * alpha)
    np.testing.assert_allclose(F, exact, atol=1e-13 * max(cost, 1) * n)
    can_rise, can_fall = np.where([y > 0, y > 0], [alpha < C, alpha > 0], [alpha > 0, alpha < C])
    ends = np.max(F, where=can_rise, initial=-np.inf), np.min(F, where=can_fall, initial=np.inf)
    assert gap == pytest.approx(max(ends[0] - ends[1], 0))
    assert gap <= tol
    double = hinge(K.astype(np.float64), y, C, tol, 1_000_000)[0]
    value = [a.sum() - (y * a) @ K.astype(np.float64) @ (y * a) / 2 for a in (alpha, double)]
    assert value[0] == pytest.approx(value[1], rel=1e-6)
    # a start that is good enough stays as it is
    lam, zero = alpha[None].copy(), np.zeros(n)
    again = smo_joint(
        [whole(K)], None, y, C[None], zero, zero, 0.0, lam, F[None].copy(), 2 * tol, 100, 4
    )
    assert again == (0, gap)
    np.testing.assert_array_equal(lam[0], alpha)


def test_loops_in_double_precision_go_on_where_single_fails():
    (K,), y = problem(60, 0)
    # F starts beyond the largest float
    K, F, C = (1e33 * K).astype(np.float32), 1e39 * y[None], np.full((1, 60), 1e6)
    lam, zero = np.zeros((1, 60)), np.zeros(60)
    settings = y, C, zero, zero, 0.0, lam, F, 1e30, 100_000, 4
    _, gap = smo_joint([whole(K)], None, *settings)
    assert gap <= 1e30
    assert (lam < C).any()
    np.testing.assert_allclose(F[0], 1e39 * y - K.astype(np.float64) @ (y * lam[0]), rtol=1e-9)


class Store:
    """Room for a few rows, filled when asked."""

    def __init__(self, K, room, dtype=np.float64):
        self.K, self.asked = K, []
        self.store = np.full((room, len(K)), np.nan, dtype=dtype)
        self.slots = np.full(len(K), -1)
        self.used = np.zeros(room, dtype=np.int64)
        self.owner = np.full(room, -1)

    @property
    def parts(self):
        return self.store, self.slots, self.used, self.K.diagonal().astype(float)

    def fetch(self, view, samples):
        self.asked.append(len(samples))
        for t in samples:
            slot = int(self.used.argmin())
            if self.owner[slot] >= 0:
                self.slots[self.owner[slot]] = -1
                self.store[slot] = np.nan
            self.store[slot], self.slots[t], self.owner[slot] = self.K[t], slot, t
            self.used[slot] = self.used.max() + 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_on_demand(dtype):
    (K,), y = problem(101, 0)
    K, C = K.astype(dtype), np.full(101, 10.0)
    for room, batch in ((101, 8), (12, 4), (8, 1)):
        # where rows make room for others F is kept in double precision
        expected = hinge(K if room == 101 else K.astype(np.float64), y, C)
        rows = Store(K, room, dtype)
        ours = hinge(K, y, C, kernel=rows.parts, fetch=rows.fetch, batch=batch)
        np.testing.assert_array_equal(ours[0], expected[0])
        assert ours[2] == expected[2]
        assert max(rows.asked) <= batch
        assert len(rows.asked) > 1


def test_errors_of_fetch_arrive():
    (K,), y = problem(20, 0)
    rows = Store(K, 20)

    def fail(view, samples):
        raise RuntimeError("no such row")

    with pytest.raises(RuntimeError, match="no such row"):
        hinge(K, y, np.ones(20), kernel=rows.parts, fetch=fail)
    with pytest.raises(ValueError, match="did not bring the rows"):
        hinge(K, y, np.ones(20), kernel=rows.parts, fetch=lambda view, samples: None)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("V", [1, 2, 3])
@pytest.mark.parametrize(
    ("own", "shared", "c"), [(0.5, 0.3, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 3.0)]
)
def test_views_and_potentials(V, own, shared, c, dtype):
    for n in (7, 16, 33):
        Ks, y = problem(n, n, V)
        Ks = [K.astype(dtype) for K in Ks]
        upper = np.full((V, n), np.inf)
        upper[:, 3] = 0
        lam = np.zeros((V, n))
        F = np.tile(y * (1 - (1 / c if c else 0)), (V, 1))
        own_, shared_ = np.full(n, own), np.full(n, shared)
        settings = [whole(K) for K in Ks], None, y, upper, own_, shared_, c, lam, F
        _, gap = smo_joint(*settings, 1e-9, 100_000, 4)
        assert gap <= 1e-9
        assert (lam[:, 3] == 0).all()
        mu = lam.sum(axis=0)
        assert c == 0 or (mu < c).all()
        slope = 1 / (c - mu) if c else own * lam + shared * mu
        for v in range(V):
            expected = y * (1 - (slope if c else slope[v])) - Ks[v] @ (y * lam[v])
            np.testing.assert_allclose(F[v], expected, atol=1e-9)
        np.testing.assert_allclose(lam @ y, 0, atol=1e-9)


@given(n=st.integers(2, 30), seed=st.integers(0, 10_000), epsilon=st.sampled_from([0.0, 0.1]))
def test_pair(n, seed, epsilon):
    Ks, y = problem(n, seed, 2)
    C, D = np.ones((2, n)), np.full(n, 0.5)
    a, beta, F = np.zeros((2, n)), np.zeros(n), np.tile(y, (2, 1))
    kernels = [whole(K) for K in Ks]
    _, gap = smo_pair(kernels, None, y, C, D, epsilon, a, beta, F, 1e-8, 1_000_000, 4)
    assert gap <= 1e-8
    assert ((a >= 0) & (a <= 1)).all()
    assert (np.abs(beta) <= 0.5).all()
    g = y * a + np.outer([-1, 1], beta)
    np.testing.assert_allclose(g.sum(axis=1), 0, atol=1e-9)
    for v in range(2):
        np.testing.assert_allclose(F[v], y - Ks[v] @ g[v], atol=1e-8)


def test_threads_do_not_matter():
    (K,), y = problem(150, 0)
    expected = hinge(K, y, np.full(150, 10.0))[0]
    with ThreadPoolExecutor(4) as pool:
        for ours in pool.map(lambda _: hinge(K, y, np.full(150, 10.0))[0], range(8)):
            np.testing.assert_array_equal(ours, expected)


def test_invalid_input_raises():
    (K,), y = problem(6, 0)
    n, zero = 6, np.zeros(6)
    lam, F, upper = np.zeros((1, n)), y[None].copy(), np.ones((1, n))

    def call(kernels=None, **changes):
        values = {
            "y": y,
            "upper": upper,
            "own": zero,
            "shared": zero,
            "c": 0.0,
            "lam": lam,
            "F": F,
            "tol": 1e-3,
            "max_steps": 10,
            "batch": 4,
            **changes,
        }
        return smo_joint([whole(K)] if kernels is None else kernels, None, *values.values())

    with pytest.raises(ValueError, match="at least one kernel"):
        call([])
    store, slots, used, diagonal = whole(K)
    for bad, message in (
        ((store, slots, used), r"\(store, slots, used, diagonal\)"),
        ((store.astype(int), slots, used, diagonal), "float32 or float64"),
        ((store[:, :5].copy(), slots, used, diagonal), "one entry for each sample"),
        ((store, slots[:5], used, diagonal), "one entry for each sample"),
        ((store, slots + 1, used, diagonal), "slots names a row that is not there"),
        ((store, slots, used[:3], diagonal), "used must have one entry"),
    ):
        with pytest.raises(ValueError, match=message):
            call([bad])
    with pytest.raises(ValueError, match="own and shared"):
        call(own=zero[:3])
    with pytest.raises(ValueError, match="upper, lam and F"):
        call(upper=np.ones((2, n)))
    with pytest.raises(ValueError, match="batch"):
        call(batch=0)
    with pytest.raises(TypeError):  # a copy would swallow the result
        call(lam=lam.astype(np.float32))
    with pytest.raises(ValueError, match="two kernels"):
        smo_pair([whole(K)], None, y, upper, zero, 0.1, lam, zero.copy(), F, 1e-3, 5, 4)
