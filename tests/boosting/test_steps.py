"""The rounds against plain loops, reference numbers, and the invariants of the methods."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience import MultiViewData
from consilience._solvers.exp3p import arm_probabilities, draw_arm, theorem_parameters
from consilience.boosting import (
    IBoostClassifier,
    MuMBoClassifier,
    MVWABClassifier,
    RShareBoostClassifier,
    ShareBoostClassifier,
)
from consilience.boosting._learners import EstimatorLearner
from consilience.boosting._mumbo import cooperation_mask
from consilience.boosting._problem import BoostingProblem
from consilience.boosting._rounds import first_largest, gather_views
from consilience.boosting._samme import (
    learner_weight,
    reweigh,
    split_views,
    update_factors,
    vote_shares,
    vote_sums,
)
from reference import boosting as reference

GOLDEN = Path(__file__).parents[1] / "golden"


class TableLearner:
    """A weak learner that reads its predictions from a table and notes the weights it is given."""

    def __init__(self, table):
        self.table = list(table)
        self.asked = []

    def fit(self, weight, seed):
        self.asked.append(np.array(weight))
        return None, self.table[len(self.asked) - 1]

    fit_costs = fit


class Draws:
    """The random numbers of a table, one for each round."""

    def __init__(self, draws):
        self.draws = list(draws)

    def random_sample(self):
        return self.draws.pop(0)

    def randint(self, high, size):
        return np.zeros(size, dtype=int)


def run(model, P, y, n_classes, weight=None, draws=()):
    """Rounds of a method on a table of predictions; stops where the method stops."""
    P = np.asarray(P)
    problem = BoostingProblem(
        codes=y,
        n_classes=n_classes,
        weight=np.ones(len(y)) if weight is None else weight,
        learners=[TableLearner(P[:, v]) for v in range(P.shape[1])],
        n_rounds=len(P),
        random=Draws(draws),
        prior=np.bincount(y, weights=weight, minlength=n_classes) / len(y),
        map_views=map,
    )
    state = model._start(problem)
    rounds = []
    for _ in P:
        added = model._boost(problem, state)
        if added is None:
            break
        rounds.append(added)
    return rounds, problem, problem.rows.state


@st.composite
def tables(draw, missing=True, two_classes=False):
    """Random predictions, better than chance on average, some of them missing."""
    rng = np.random.RandomState(draw(st.integers(0, 100_000)))
    n, V, T = draw(st.integers(4, 25)), draw(st.integers(1, 4)), draw(st.integers(1, 6))
    K = 2 if two_classes else draw(st.integers(2, 5))
    y = rng.randint(K, size=n)
    skill = draw(st.floats(0, 1))
    P = np.where(rng.rand(T, V, n) < skill, y, rng.randint(K, size=(T, V, n)))
    if missing and draw(st.booleans()):
        P = np.where(rng.rand(V, n) < 0.3, -1, P)
    weight = rng.randint(1, 5, size=n).astype(float) if draw(st.booleans()) else np.ones(n)
    return P, y, K, weight, rng


# -- against the loops ------------------------------------------------------------------------


@given(tables(), st.booleans())
def test_mumbo(problem, cooperation):
    P, y, K, weight, _ = problem
    model = MuMBoClassifier(cooperation=cooperation)
    rounds, seen, _ = run(model, P, y, K, weight)
    expected = reference.mumbo(P, y, K, weight, cooperation)
    for t, (got, want) in enumerate(zip(rounds, expected, strict=False)):
        assert got.members[0].view == want["view"]
        np.testing.assert_allclose(got.weight, want["alpha"], atol=1e-9)
        np.testing.assert_allclose(model._trace["view_edges"][t], want["edges"], atol=1e-9)
        np.testing.assert_allclose(model._trace["bound"][t], want["bound"], rtol=1e-9)
        for v, C in enumerate(want["cost"]):
            w = -C[np.arange(len(y)), y]
            np.testing.assert_allclose(seen.learners[v].asked[t], w / w.sum(), atol=1e-9)
    if len(rounds) < len(P):  # stopped: no view had a positive edge
        assert expected[len(rounds)]["alpha"] < 1e-7


@given(tables())
def test_shareboost(problem):
    P, y, K, weight, _ = problem
    rounds, seen, _ = run(ShareBoostClassifier(), P, y, K, weight)
    expected = reference.shareboost(P, y, K, weight)
    assert len(rounds) == len(expected)
    for t, (got, want) in enumerate(zip(rounds, expected, strict=True)):
        np.testing.assert_allclose(got.weight, want["alpha"], atol=1e-9)
        assert got.members[0].view == want["view"]
        np.testing.assert_allclose(seen.learners[0].asked[t], want["w"], atol=1e-9)


@given(tables())
def test_iboost(problem):
    P, y, K, weight, _ = problem
    rounds, seen, _ = run(IBoostClassifier(), P, y, K, weight)
    expected = reference.iboost(P, y, K, weight)
    assert len(rounds) == len(expected)
    for t, (got, want) in enumerate(zip(rounds, expected, strict=True)):
        np.testing.assert_allclose(got.weight, want["alpha"], atol=1e-9)
        assert got.members[0].view == want["view"]
        for v, w in enumerate(want["w"]):
            np.testing.assert_allclose(seen.learners[v].asked[t], w, atol=1e-9)


def one_per_round(P, views):
    """Tables that put round t's prediction of the drawn view where its learner will read it."""
    tables = [[] for _ in range(P.shape[1])]
    for t, v in enumerate(views):
        tables[v].append(P[t, v])
    return tables


@given(tables(), st.floats(0.01, 1), st.floats(0.01, 2))
def test_rshareboost(problem, gamma, a):
    P, y, K, weight, rng = problem
    draws = rng.rand(len(P))
    expected = reference.rshareboost(P, y, K, weight, draws, a, gamma)
    model = RShareBoostClassifier(a=a, gamma=gamma)
    learners = [TableLearner(t) for t in one_per_round(P, [r["view"] for r in expected])]
    problem = BoostingProblem(y, K, weight, learners, len(P), Draws(draws), np.ones(K) / K, map)
    state = model._start(problem)
    for want in expected:
        np.testing.assert_allclose(problem.rows.state["w"], want["w"], atol=1e-9)
        got = model._boost(problem, state)
        assert got.members[0].view == want["view"]
        np.testing.assert_allclose(got.weight, want["alpha"], atol=1e-9)
        p = model._probability_rounds[-1]
        np.testing.assert_allclose(p, want["p"], atol=1e-9)
        assert p.sum() == pytest.approx(1)
        assert (p >= gamma / len(p) - 1e-12).all()


@given(tables())
def test_mvwab(problem):
    P, y, K, weight, _ = problem
    rounds, seen, _ = run(MVWABClassifier(), P, y, K, weight)
    expected = reference.mvwab(P, y, K, weight)
    assert len(rounds) == len(expected)
    for t, (got, want) in enumerate(zip(rounds, expected, strict=True)):
        np.testing.assert_allclose(got.weight, want["alpha"], atol=1e-9)
        inner = {v: a for v, a in enumerate(want["inner"]) if a > 0}
        assert {m.view: pytest.approx(m.weight) for m in got.members} == inner
        np.testing.assert_allclose(seen.learners[0].asked[t], want["w"], atol=1e-9)


# -- invariants -------------------------------------------------------------------------------


@given(tables(), st.booleans())
def test_mumbo_costs_and_bounds(problem, cooperation):
    P, y, K, weight, _ = problem
    n = weight.sum()
    model = MuMBoClassifier(cooperation=cooperation)
    rounds, _, state = run(model, P, y, K, weight)
    for C in [*state["views"], state["global"]]:
        dense = C.dense()
        np.testing.assert_allclose(dense.sum(axis=1), 0, atol=1e-9 * np.abs(dense).max())
        assert (dense[np.arange(len(y)), y] <= 0).all()
    # per-view loss: L_t <= sqrt(1 − δ²) L_{t−1} with the clipped edge
    before = np.full(P.shape[1], n * (K - 1))
    votes = np.zeros((len(y), K))
    twin = reference.mumbo(P, y, K, weight, cooperation)
    for t, added in enumerate(rounds):
        later = (
            [-C[np.arange(len(y)), y].sum() for C in twin[t + 1]["cost"]]
            if t + 1 < len(twin)
            else [C.row_weights().sum() for C in state["views"]]
        )
        clipped = np.clip(model._trace["view_edges"][t], 0, 1 - 1 / n)
        assert (np.array(later) <= np.sqrt(1 - clipped**2) * before * (1 + 1e-9)).all()
        before = np.array(later)
        h = P[t, added.members[0].view]
        is_present = h >= 0
        votes[np.flatnonzero(is_present), h[is_present]] += added.weight
        rivals = np.where(np.arange(K) == y[:, None], -np.inf, votes)
        wrong = rivals.max(axis=1) >= votes[np.arange(len(y)), y]
        assert weight[wrong].sum() / n <= model._trace["bound"][t] + 1e-9


@given(tables(missing=False))
def test_the_last_learner_becomes_useless(problem):
    P, y, K, weight, _ = problem
    rounds, _, state = run(ShareBoostClassifier(), P[:1], y, K, weight)
    if not rounds:
        return
    h = P[0, rounds[0].members[0].view]
    right, wrong, _ = vote_shares(vote_sums(weight / weight.sum(), y, h))
    clip = 1 / (2 * weight.sum())
    if clip < wrong < 1 - clip:
        error = vote_shares(vote_sums(state["w"], y, h))[1]
        assert error == pytest.approx(1 - 1 / K)
    assert right > 0


@given(tables(), st.floats(-3, 3))
def test_weights_stay_a_distribution(problem, alpha):
    P, y, K, weight, _ = problem
    w, h = weight / weight.sum(), P[0, 0]
    w = reweigh(w, y, h, update_factors(vote_shares(vote_sums(w, y, h)), alpha, K))
    assert (w > 0).all()
    assert w.sum() == pytest.approx(1)


def test_cooperation_leaves_rows_to_those_who_manage_them():
    y = np.array([0, 1, 1, 0])
    P = np.array([[0, 0, 0, -1], [1, 1, 0, 1], [-1, 0, -1, 1]])
    assert cooperation_mask(y, P).tolist() == [
        [True, False, True, False],
        [False, True, True, True],
        [False, False, False, True],
    ]


def test_a_view_of_five_rows_cannot_win():
    y = np.arange(100) % 2
    rare = np.where(np.arange(100) < 5, y, -1)
    common = np.where(np.arange(100) % 4 == 0, 1 - y, y)
    rounds, _, _ = run(ShareBoostClassifier(), [[rare, common]], y, 2)
    assert rounds[0].members[0].view == 1


def test_useless_and_perfect_learners():
    y = np.arange(12) % 3
    for model in (MuMBoClassifier(), ShareBoostClassifier(), IBoostClassifier(), MVWABClassifier()):
        rounds, _, _ = run(model, [[np.zeros(12, int)]], y, 3)
        assert rounds == []  # a constant is exactly chance
        rounds, _, _ = run(model, [[y]], y, 3)
        assert rounds[0].last
        assert np.isfinite(rounds[0].weight)
        rounds, _, _ = run(model, [[np.full(12, -1)]], y, 3)
        assert rounds == []  # nobody has the view


def test_bandit():
    p = arm_probabilities(np.array([1000.0, 0.0, -1000.0]), 0.3)
    np.testing.assert_allclose(p, [0.8, 0.1, 0.1])
    assert [draw_arm(p, u) for u in (0.0, 0.79, 0.81, 0.999, 1.0)] == [0, 0, 1, 2, 2]
    a, gamma = theorem_parameters(4, 100, 0.05)
    assert a == pytest.approx(2 * np.sqrt(np.log(400 / 0.05)))
    assert gamma == pytest.approx(2 * np.sqrt(12 * np.log(4) / 500))
    assert theorem_parameters(4, 2, 0.05)[1] == 0.6


def test_learner_weight_is_clipped():
    alpha, error = learner_weight(1.0, 0.0, 2, 50)
    assert error == pytest.approx(0.01)
    assert alpha == pytest.approx(0.5 * np.log(99))
    assert learner_weight(0.0, 1.0, 2, 50)[0] == pytest.approx(-0.5 * np.log(99))
    assert learner_weight(0.0, 0.0, 3, 50) == (0, pytest.approx(2 / 3))
    # right on next to nothing: worth nothing
    assert learner_weight(0.019, 0.0, 2, 50)[0] == 0
    assert 0 < learner_weight(0.04, 0.0, 2, 50)[0] < alpha / 3


def test_four_sums_belong_to_each_view():
    assert split_views(range(8)) == [range(4), range(4, 8)]


def test_the_first_of_the_largest_values_of_any_size():
    assert first_largest([1.0, 1e6, 1e6]) == 1
    assert first_largest([1e-6, 1.0 - 1e-13, 1.0]) == 1
    assert first_largest([[0.0, 1.0], [1.0, 0.0]]).tolist() == [1, 0]


# -- reference numbers ------------------------------------------------------------------------


def golden(name):
    path = GOLDEN / f"{name}.npz"
    return np.load(path)


TIGHT = {"rtol": 0, "atol": 1e-10}


@pytest.mark.parametrize("name", ["mumbo_binary", "mumbo_multiclass"])
def test_golden_mumbo(name):
    g = golden(name)
    y, P, K = g["y"], g["P"], g["fG"].shape[1]
    model = MuMBoClassifier()
    rounds, seen, state = run(model, P, y, K)
    assert [r.members[0].view for r in rounds] == g["view"].tolist()
    np.testing.assert_allclose([r.weight for r in rounds], g["alpha"], **TIGHT)
    np.testing.assert_allclose(model._trace["view_edges"], g["edges"], **TIGHT)
    np.testing.assert_allclose(np.array(model._trace["bound"]) * len(y), g["LG"], **TIGHT)
    for t in range(len(P)):
        np.testing.assert_array_equal(cooperation_mask(y, P[t]), g["d"][t])
        for v in range(P.shape[1]):
            np.testing.assert_allclose(seen.learners[v].asked[t], g["w"][t, v], **TIGHT)
    last = [C.row_weights().sum() for C in state["views"]]
    np.testing.assert_allclose(last, g["L"][-1], **TIGHT)


def test_golden_mumbo_costs():
    g = golden("mumbo_multiclass")
    for t in range(1, len(g["P"])):
        _, _, state = run(MuMBoClassifier(), g["P"][:t], g["y"], g["fG"].shape[1])
        for v, C in enumerate(state["views"]):
            np.testing.assert_allclose(C.dense(), g["cost"][t, v], **TIGHT)


@pytest.mark.parametrize(
    ("name", "model"), [("share", ShareBoostClassifier()), ("iboost", IBoostClassifier())]
)
def test_golden_shared_and_independent(name, model):
    g = golden(name)
    y, P = (g["y"] > 0).astype(int), (g["P"] > 0).astype(int)
    rounds, seen, _ = run(model, P, y, 2)
    assert [r.members[0].view for r in rounds] == g["view"].tolist()
    np.testing.assert_allclose([r.weight for r in rounds], g["alpha"], **TIGHT)
    for t in range(len(P)):
        w = g["w"][t] if g["w"].ndim == 3 else [g["w"][t]] * P.shape[1]
        for v in range(P.shape[1]):
            np.testing.assert_allclose(seen.learners[v].asked[t], w[v], **TIGHT)


def test_golden_rshareboost():
    g = golden("rshare")
    y, P = (g["y"] > 0).astype(int), (g["P"] > 0).astype(int)
    model = RShareBoostClassifier(a=float(g["alpha_param"]), gamma=float(g["gamma"]))
    learners = [TableLearner(table) for table in one_per_round(P, g["view"])]
    problem = BoostingProblem(
        y, 2, np.ones(len(y)), learners, len(P), Draws(g["u"]), np.ones(2) / 2, map
    )
    state = model._start(problem)
    for t in range(len(P)):
        np.testing.assert_allclose(problem.rows.state["w"], g["w"][t], **TIGHT)
        # a constant in log_d changes nothing, and theirs starts at another one
        np.testing.assert_allclose(state["log_d"] + g["logd"][0], g["logd"][t], **TIGHT)
        added = model._boost(problem, state)
        assert added.members[0].view == g["view"][t]
        np.testing.assert_allclose(added.weight, g["est_alpha"][t], **TIGHT)
    np.testing.assert_allclose(model._probability_rounds, g["p"], **TIGHT)
    np.testing.assert_allclose(state["log_d"] + g["logd"][0], g["logd"][-1], **TIGHT)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_rows_are_drawn_in_proportion_to_their_weights(scale):
    weight = scale * np.tile([0.0, 3.0, 1.0], 1000)
    drawn = EstimatorLearner._draw(None, weight, seed=0)
    assert len(drawn) == len(weight)
    np.testing.assert_allclose(np.bincount(drawn % 3) / len(drawn), [0, 0.75, 0.25], atol=0.03)
    assert len(EstimatorLearner._draw(None, np.zeros(3), seed=0)) == 0


def test_only_views_without_floats_are_converted():
    data = MultiViewData({"a": np.ones((4, 2), dtype=np.float32), "b": np.arange(4)[:, None] > 1})
    (single, _), (converted, _) = gather_views(data)
    assert np.shares_memory(single, data["a"])
    assert converted.dtype == np.float64
