"""Contributions of columns against slow definitions, and their sums against the scores."""

import numpy as np
import pytest
from sklearn.svm import SVC, NuSVC

from consilience import ConsilienceClassifier, MultiViewData
from consilience.boosting import MuMBoClassifier, MVWABClassifier
from consilience.datasets import make_multiview_classification
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier
from consilience.inspection._default_members import (
    DefaultMembers,
    kernel_agreement,
    linear_member_agreement,
)
from consilience.inspection._evidence import NativeEvidence, find_evidence
from consilience.inspection._group_permutation import GroupPermutation
from consilience.inspection._line_integrals import RadialView, radial_agreement
from consilience.inspection._tree_paths import TreeTable, path_agreement, path_contributions
from consilience.inspection._tree_tables import boosted_table, forest_table
from consilience.landmark import MVLSVMClassifier
from consilience.margin import SMVMEDClassifier, SVM2KClassifier
from consilience.sparse import (
    BlockSPLSDAClassifier,
    CooperativeClassifier,
    SparseGroupLogisticClassifier,
    StackedPenalisedClassifier,
)
from consilience.vote import MwMvC2Classifier
from reference.contributions import integrated_gradients, walk


def problem(n=120, n_classes=3, missing_rate=0.0, n_features=(6, 50), seed=0):
    return make_multiview_classification(
        n,
        n_views=len(n_features),
        n_features=list(n_features),
        n_classes=n_classes,
        missing_rate=missing_rate,
        strength=2.0,
        random_state=seed,
    )


def class_targets(n, n_classes, k):
    return np.tile(np.eye(n_classes)[k], (n, 1))


def total(evidence):
    return sum(E.sum(axis=1) for E in evidence.values())


@pytest.mark.parametrize("joint", [True, False])
def test_radial_agreement_is_the_integral_of_derivatives(joint):
    rng = np.random.default_rng(0)
    centres = [rng.normal(size=(7, 2)), rng.normal(size=(7, 3))]
    X = [rng.normal(size=(4, 2)), rng.normal(size=(4, 3))]
    weights, scales, width, coef = [0.3, 0.7], [4.0, 5.0], 0.8, rng.normal(size=(7, 2))
    T = rng.normal(size=(4, 2))
    views = [RadialView(X[v], centres[v], 1 / scales[v], weights[v]) for v in range(2)]
    ours = np.hstack(radial_agreement(views, width, coef, T, joint))

    def score(x):
        Ds = [((x[:2] - centres[0]) ** 2).sum(axis=1) / scales[0]]
        Ds.append(((x[2:] - centres[1]) ** 2).sum(axis=1) / scales[1])
        K = sum(w * np.exp(-width * D) for w, D in zip(weights, Ds, strict=True))
        if joint:
            K = (K + np.exp(-width * sum(w * D for w, D in zip(weights, Ds, strict=True)))) / 2
        return K @ coef

    mean = np.concatenate([c.mean(axis=0) for c in centres])
    for i in range(4):
        slow = integrated_gradients(score, np.concatenate([X[0][i], X[1][i]]), mean)
        np.testing.assert_allclose(ours[i], slow @ T[i], atol=2e-3)


def random_trees(seed, n_trees=3, d=4, n_classes=2):
    rng = np.random.default_rng(seed)
    feature, left, right, roots = [], [], [], []
    for _ in range(n_trees):
        start = len(feature)
        roots.append(start)
        feature += [*rng.integers(0, d, size=3), -1, -1, -1, -1]
        left += [start + 1, start + 3, start + 5, *range(start + 3, start + 7)]
        right += [start + 2, start + 4, start + 6, *range(start + 3, start + 7)]
    n = len(feature)
    return TreeTable(
        np.array(feature), rng.normal(size=n), np.array(left), np.array(right),
        rng.integers(0, 2, size=n).astype(float), rng.normal(size=(n, n_classes)), np.array(roots),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_paths_of_trees_are_those_of_a_walk(seed):
    trees = random_trees(seed)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 4))
    X[0, 1] = np.nan
    T = rng.normal(size=(6, 2))
    slow = np.array([walk(trees, x) for x in X])
    np.testing.assert_allclose(path_contributions(trees, X), slow, atol=1e-12)
    np.testing.assert_allclose(
        path_agreement(trees, X, T), np.einsum("ijk,ik->ij", slow, T), atol=1e-12
    )


def test_paths_end_at_columns_that_a_row_lacks():
    trees = random_trees(0)
    X, T = np.zeros((2, 4)), np.ones((2, 2))
    present = np.array([[False] * 4, [True] * 4])
    E = path_agreement(trees, X, T, present)
    assert (E[0] == 0).all()
    np.testing.assert_allclose(E[1], path_agreement(trees, X, T)[1])


@pytest.fixture(scope="module", params=[0.0, 0.3])
def fitted(request):
    data, y = problem(missing_rate=request.param)
    model = ConsilienceClassifier(40, random_state=0).fit(data[:90], y[:90])
    return model, model._validate_input(data[90:], reset=False)


def test_contributions_in_the_members_add_up_to_their_scores(fitted):
    model, data = fitted
    data = model._in_name_order(data)
    mapped, scores = model._columns.apply(data), model._member_scores(data)
    members = DefaultMembers(model)
    complete = data.present.all(axis=1)
    for k in range(3):
        T = class_targets(len(data), 3, k)
        for name, tolerance in (("kernel", 0.03), ("linear", 0.02)):
            m = model.member_names_.index(name)
            part = members._member_agreement(name, model._members[m], data, mapped, T)
            rest = (scores[m][:, k] - total(part))[complete]  # the score of the mean row
            assert np.ptp(rest) < tolerance
        m = model.member_names_.index("columns")
        member = model._members[m]
        if member.joint is not None:
            part = members._member_agreement("columns", member, data, mapped, T)
            np.testing.assert_allclose(np.ptp(scores[m][:, k] - total(part)), 0, atol=1e-5)


def test_contributions_of_the_model_follow_its_scores(fitted):
    model, data = fitted
    evidence = DefaultMembers(model)
    scores = model._scores(data)
    for k in range(3):
        parts = total(evidence.agreement(data, class_targets(len(data), 3, k)))
        assert np.corrcoef(parts, scores[:, k])[0, 1] > 0.95


def test_missing_views_contribute_nothing(fitted):
    model, data = fitted
    E = DefaultMembers(model).agreement(data, np.ones((len(data), 3)))
    for v, name in enumerate(data.view_names):
        assert (E[name][~data.present[:, v]] == 0).all()


def test_an_unknown_member_is_an_error(fitted):
    model, data = fitted
    members = DefaultMembers(model)
    with pytest.raises(TypeError, match="member 'oracle'"):
        members._member_agreement("oracle", None, data, None, np.ones((len(data), 3)))


def test_kernel_and_linear_member_of_a_small_model_are_integrals():
    data, y = problem(40, n_classes=2, n_features=(2, 3))
    model = ConsilienceClassifier(10, random_state=0).fit(data[:36], y[:36])
    test = model._in_name_order(model._validate_input(data[36:], reset=False))
    mapped = model._columns.apply(test).filled
    members, T = DefaultMembers(model), np.tile([0.3, -0.7], (4, 1))
    means, names = members._means(), test.view_names
    kernel, linear = model._members[:2]
    widths = [mapped[name].shape[1] for name in names]
    mean = np.concatenate([means[name] for name in names])

    def score_of(member, i):
        def score(x):
            parts = np.split(x, np.cumsum(widths)[:-1])
            rows = dict(zip(names, [part[None] for part in parts], strict=True))
            return member.predict(test[[i]], rows)[0]

        return score

    E_kernel = kernel_agreement(kernel, test, mapped, T)
    E_linear = linear_member_agreement(linear, test, mapped, means, T)
    for i in range(2):
        x = np.concatenate([mapped[name][i] for name in names])
        for member, E in ((kernel, E_kernel), (linear, E_linear)):
            slow = integrated_gradients(score_of(member, i), x, mean, n_points=30) @ T[i]
            ours = np.concatenate([E[name][i] for name in names])
            np.testing.assert_allclose(ours, slow, atol=5e-3)


def test_tables_of_the_tree_members_predict_as_they_do():
    data, y = make_multiview_classification(1010, n_views=2, n_features=4, random_state=0)
    model = ConsilienceClassifier(10, random_state=0).fit(data, y)
    rows = model._in_name_order(data[:50])
    forest = model._members[model.member_names_.index("columns")].joint
    X = np.hstack(model._columns.apply(rows).raw)
    table = forest_table(forest)
    at_root = table.value[table.roots].sum(axis=0)
    contributions = path_contributions(table, X).sum(axis=1)
    np.testing.assert_allclose(contributions + at_root, forest.predict(X), atol=1e-5)
    boosted = model._members[model.member_names_.index("boosted")]
    blocks = [view for _, view in rows.items()]
    table = boosted_table(boosted, 2)
    scores = path_contributions(table, np.hstack(blocks)).sum(axis=1)
    rest = boosted.predict(blocks, rows.present) - scores
    np.testing.assert_allclose(np.ptp(rest, axis=0), 0, atol=1e-4)
    assert model._scores(rows).shape == (50, 2)
    assert total(DefaultMembers(model).agreement(rows, np.ones((50, 2)))).shape == (50,)


FAMILIES = {
    "linear margin": (SMVMEDClassifier(), 1e-8),
    "radial margin": (SMVMEDClassifier(kernel="rbf"), 0.05),
    "best view": (SMVMEDClassifier(combine="view0"), 1e-8),
    "two views": (SVM2KClassifier(), 1e-8),
    "landmarks": (MVLSVMClassifier(n_landmarks=10, C=1.0, random_state=0), 0.1),
    "boosting": (MuMBoClassifier(n_estimators=5, random_state=0), 1e-6),
    "vote": (MwMvC2Classifier(random_state=0), 1e-6),
    "greedy vote": (MwMvC2Classifier("trees"), 1e-6),
    "late fusion": (LateFusionClassifier(), 0.05),
    "one view votes": (LateFusionClassifier(weights=[1, 0]), 0.05),
    "cooperative": (CooperativeClassifier(), 1e-8),
    "sparse group": (SparseGroupLogisticClassifier(), 1e-8),
    "stacked": (StackedPenalisedClassifier(), 0.05),
    "block spls": (BlockSPLSDAClassifier(keep=3), 1e-8),
    "block spls, plain average": (BlockSPLSDAClassifier(keep=3, prediction="average"), 1e-8),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", FAMILIES)
def test_contributions_add_up_to_the_scores_of_a_method(name, n_classes):
    model, tolerance = FAMILIES[name]
    data, y = problem(n_classes=n_classes)
    model.fit(data[:90], y[:90])
    evidence = find_evidence(model, data[:90])
    assert isinstance(evidence, NativeEvidence)
    scores = model._scores(model._validate_input(data[90:], reset=False))
    scale = scores.std()
    for k in range(n_classes):
        parts = total(evidence.agreement(data[90:], class_targets(30, n_classes, k)))
        assert np.ptp(scores[:, k] - parts) <= tolerance * max(scale, 1e-3) + 1e-6


def test_columns_off_the_panel_contribute_nothing():
    data, y = problem(n_classes=2)
    model = CooperativeClassifier(penalty=0.5).fit(data[:90], y[:90])
    E = find_evidence(model, data[:90]).agreement(data[90:], class_targets(30, 2, 1))
    for name, panel in model.selected_.items():
        np.testing.assert_array_equal(np.flatnonzero(E[name].any(axis=0)), panel)
    votes = BlockSPLSDAClassifier(keep=3, prediction="weighted_vote").fit(data[:90], y[:90])
    assert not isinstance(find_evidence(votes, data[:90]), NativeEvidence)


def test_early_fusion_contributes_to_the_logits():
    data, y = problem(n_classes=2)
    model = EarlyFusionClassifier().fit(data[:90], y[:90])
    T = np.tile([-1.0, 1.0], (30, 1))
    parts = total(find_evidence(model, data[:90]).agreement(data[90:], T))
    p = model.predict_proba(data[90:])[:, 1]
    np.testing.assert_allclose(np.ptp(np.log(p / (1 - p)) - parts), 0, atol=1e-6)


def test_rounds_of_several_members_share_the_vote():
    data, y = problem(n_classes=2)
    model = MVWABClassifier(n_estimators=3, random_state=0).fit(data[:90], y[:90])
    parts = total(find_evidence(model, data[:90]).agreement(data[90:], class_targets(30, 2, 1)))
    scores = model.decision_function(data[90:])
    assert np.corrcoef(parts, scores)[0, 1] > 0.7


def test_categories_and_skewed_columns_are_joined():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    table = pd.DataFrame(
        {
            "skewed": rng.lognormal(size=80) + 2 * y,
            "kind": np.where(rng.random(80) < 0.2, "c", np.where(y == 1, "a", "b")),
            "empty": np.where(rng.random(80) < 0.3, np.nan, rng.normal(size=80)),
        }
    )
    data = MultiViewData({"table": table, "rest": rng.normal(size=(80, 3))})
    model = ConsilienceClassifier(20, random_state=0).fit(data[:60], y[:60])
    T = np.eye(2)[y[60:]] - 0.5
    E = find_evidence(model, None).agreement(data[60:], T)
    assert E["table"].shape == (20, 3)
    assert E["rest"].shape == (20, 3)
    strength = E["table"].mean(axis=0)
    assert strength[1] > 3 * abs(strength[2])
    assert np.isfinite(E["table"]).all()


def test_scaled_columns_of_linear_classifiers_are_those_of_the_input():
    data, y = problem(n_classes=2)
    scaled = MultiViewData({name: 10 * X + 3 for name, X in data.items()})
    parts = []
    for views in (data, scaled):
        model = LateFusionClassifier().fit(views[:90], y[:90])
        evidence = find_evidence(model, views[:90])
        parts.append(evidence.agreement(views[90:], class_targets(30, 2, 1))["view0"])
    np.testing.assert_allclose(parts[0], parts[1], atol=1e-8)


@pytest.mark.filterwarnings("ignore:.*probability:FutureWarning")
@pytest.mark.parametrize("svc", [SVC, NuSVC])
@pytest.mark.parametrize("fusion", [EarlyFusionClassifier, LateFusionClassifier])
def test_coefficients_of_pairs_of_classes_are_not_those_of_classes(svc, fusion):
    data, y = make_multiview_classification(60, n_views=2, n_features=2, n_classes=3)
    base = svc(kernel="linear", probability=True, random_state=0)
    three = fusion(base).fit(data, y)
    assert isinstance(find_evidence(three, data), GroupPermutation)
    two = fusion(base).fit(data[y < 2], y[y < 2])
    assert isinstance(find_evidence(two, data), NativeEvidence)
