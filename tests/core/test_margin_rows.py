"""The sample-wise part of the interior point method against dense systems of single samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience._core import MarginRows, MarginWay
from reference import margin_rows as reference

LOW, HIGH = 0.1, 10.0


def made(seed, n, V, k, p, masked):
    """Random constraints, at least one imposed for each slack variable."""
    rng = np.random.default_rng(seed)
    rows = {
        "slot": np.append(np.arange(k), rng.integers(k, size=p)),
        "H": rng.integers(-1, 2, size=(k + p, V)).astype(float),
        "final": rng.integers(2, size=k + p).astype(float),
        "slope": rng.random(k),
        "bend": rng.integers(2, size=k) * rng.random(k),
        "label": rng.choice([-1.0, 1.0], size=n),
        "weight": rng.random(n) + 0.5,
    }
    on = np.ones((k + p, n))
    if masked:
        on[k:] = rng.integers(2, size=(p, n))
    s = np.where(on > 0, rng.random((k + p, n)) + 0.1, 1.0)
    lam = on * (rng.random((k + p, n)) + 0.1)
    kernel = MarginRows(*rows.values(), on if masked else None)
    return rng, rows, on, s, lam, kernel


CASES = (
    st.integers(0, 10_000),
    st.sampled_from([1, 7, 8, 9, 21]),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 5),
    st.booleans(),
)


@given(*CASES)
def test_curvature(seed, n, V, k, p, masked):
    _, rows, _, s, lam, kernel = made(seed, n, V, k, p, masked)
    D = np.empty((V * (V + 1) // 2, n))
    kernel.curvature(s, lam, D)
    for t in range(n):
        expected = rows["weight"][t] * reference.curvature(rows, s[:, t], lam[:, t])
        np.testing.assert_allclose(D[:, t], expected[np.triu_indices(V)], atol=1e-10)


@settings(deadline=None)
@given(*CASES, st.integers(1, 3))
def test_directions(seed, n, V, k, p, masked, n_stages):
    rng, rows, on, s, lam, kernel = made(seed, n, V, k, p, masked)
    dz, xi = rng.standard_normal((3, V, n)), rng.random((k, n))
    kinds = ["plain", "second", "centred"][:n_stages]
    stages = [(kind, rng.random(k + p) + 0.01, rng.random()) for kind in kinds]
    way = MarginWay(kernel, s, lam, LOW, HIGH)
    for stage in [*stages, ("plain", np.ones(k + p), 1.0)]:
        way.add(*stage)
    way.pop()  # the last is taken back

    R = np.empty((V, n))
    way.reduce(dz, R)
    t, new_xi, new_s, new_lam, new_R = 0.3, np.empty((k, n)), *np.empty((2, k + p, n)), R.copy()
    reach, linear, square = way.reach(dz)
    sizes = way.move(dz, t, xi, new_xi, new_s, new_lam, new_R)

    worst, slack, gaps = 0.0, 0.0, np.zeros(2)
    sign = rows["label"] * rows["weight"]
    for i in range(n):
        sample = s[:, i], lam[:, i], on[:, i]
        target, _ = reference.walk(rows, *sample, stages, LOW, HIGH, dz[: n_stages - 1, :, i])
        expected = sign[i] * reference.pulled(rows, *sample, target)
        np.testing.assert_allclose(R[:, i], expected, rtol=1e-9, atol=1e-9)
        _, moved = reference.walk(rows, *sample, stages, LOW, HIGH, dz[:n_stages, :, i])
        dxi, ds, dlam = moved
        scale = 1 + max(np.abs(x).max() for x in moved)
        for new, old, d in ((new_xi, xi, dxi), (new_s, s, ds)):
            np.testing.assert_allclose(new[:, i], old[:, i] + t * d, atol=1e-9 * scale)
        expected = add_up(rows, lam[:, i] + t * dlam)
        np.testing.assert_allclose(new_lam[:, i], expected, rtol=1e-8, atol=1e-9 * scale)
        slack = max(slack, np.abs(rest(rows, new_xi[:, i], lam[:, i] + t * dlam)).max())
        worst = max(worst, *(-ds / s[:, i]), *(-dlam[on[:, i] > 0] / lam[on[:, i] > 0, i]))
        counted = rows["weight"][i] * (rows["final"] == 0)
        gaps += (counted * (lam[:, i] * ds + s[:, i] * dlam)).sum(), (counted * ds * dlam).sum()
    np.testing.assert_allclose(reach, worst, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose([linear, square], gaps, rtol=1e-8, atol=1e-8 * (1 + abs(gaps).max()))
    assert sizes[3] == pytest.approx(slack)
    check_sizes(rows, on, new_xi, new_s, new_lam, new_R, sizes)


def rest(rows, xi, lam):
    """q' − Σλ of a sample."""
    sums = reference.selection(rows["slot"], len(xi)).T @ lam
    return rows["slope"] + rows["bend"] * xi - sums


def add_up(rows, lam):
    """Multipliers scaled to the slopes, where these are all there is."""
    sums = reference.selection(rows["slot"], len(rows["bend"])).T @ lam
    return lam * np.where(rows["bend"] == 0, rows["slope"] / sums, 1.0)[rows["slot"]]


def check_sizes(rows, on, xi, s, lam, R, sizes):
    """What ``move`` says of the place where it comes to."""
    gap, loss, mass, _, slope, off = sizes
    weight, final = rows["weight"], rows["final"]
    pull = rows["H"].T @ lam
    gradient = rows["slope"][:, None] + rows["bend"][:, None] * xi
    value = rows["slope"][:, None] * xi + rows["bend"][:, None] * xi**2 / 2
    off_there = on[final > 0] * np.abs(lam * s - 1)[final > 0]
    np.testing.assert_allclose(R, rows["label"] * weight * pull, atol=1e-9)
    expected = [
        (weight * (lam * s)[final == 0]).sum(),
        (weight * np.abs(value)).sum(),
        (weight * np.abs(pull)).sum(),
        np.abs(gradient).max(),
        off_there.max(initial=0.0),
    ]
    scale = 1 + np.abs(expected).max()
    np.testing.assert_allclose([gap, loss, mass, slope, off], expected, atol=1e-9 * scale)


def test_arrays_that_do_not_fit():
    _, _, _, s, lam, kernel = made(0, 9, 2, 2, 3, False)
    dz, R = np.zeros((1, 2, 9)), np.empty((2, 9))
    with pytest.raises(ValueError, match="wrong number"):
        kernel.curvature(s[:, :-1].copy(), lam, np.empty((3, 9)))
    with pytest.raises(ValueError, match="wrong number"):
        MarginWay(kernel, s[:-1], lam, LOW, HIGH)
    way = MarginWay(kernel, s, lam, LOW, HIGH)
    with pytest.raises(ValueError, match="no stage"):
        way.reduce(dz, R)
    with pytest.raises(ValueError, match="no stage"):
        way.pop()
    with pytest.raises(ValueError, match="first stage"):
        way.add("second", np.ones(5))
    way.add("plain", np.ones(5))
    with pytest.raises(ValueError, match="each constraint"):
        way.add("second", np.ones(4))
    with pytest.raises(ValueError, match="plain, second or centred"):
        way.add("third", np.ones(5))
    with pytest.raises(ValueError, match="stages x views x samples"):
        way.reach(np.zeros((0, 2, 9)))
    with pytest.raises(ValueError, match="wrong number"):
        way.reduce(dz, np.empty((1, 9)))
    with pytest.raises(ValueError, match="number slack variables"):
        MarginRows(
            np.array([0, 2]),
            np.ones((2, 1)),
            np.zeros(2),
            np.ones(2),
            np.ones(2),
            np.ones(3),
            np.ones(3),
            None,
        )
