import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience import MultiViewData
from consilience.benchmark.protocol import (
    Folds,
    Holdout,
    Official,
    add_feature_noise,
    add_noise_views,
    balanced_subset,
    ensure_two_groups,
    flip_labels,
    hide_views,
    make_rng,
    n_splits,
    split_rows,
    stratified_subset,
)
from consilience.datasets import make_multiview_classification

SEEDS = st.integers(0, 2**31 - 1)
LABELS = st.lists(st.integers(0, 2), min_size=30, max_size=60).filter(
    lambda y: len(set(y)) == 3 and min(map(y.count, set(y))) >= 6
)


@given(LABELS, st.integers(2, 5), st.integers(1, 3), SEEDS)
def test_folds_partition_the_rows(labels, n, repeats, seed):
    y, split = np.array(labels), Folds(n, repeats)
    tested = []
    for index in range(n_splits(split)):
        rows = split_rows(split, index, y, seed=seed)
        assert sorted([*rows.train, *rows.test]) == list(range(len(y)))
        tested.append(rows.test)
    for repeat in range(repeats):
        part = tested[repeat * n : (repeat + 1) * n]
        assert sorted(np.concatenate(part)) == list(range(len(y)))


@given(LABELS, SEEDS, st.booleans(), st.sampled_from([0, 0.2, 10]))
def test_holdout_has_the_sizes_asked_for(labels, seed, stratified, validation):
    y = np.array(labels)
    split = Holdout(3, 0.25, validation, stratified)
    seen = set()
    for index in range(n_splits(split)):
        rows = split_rows(split, index, y, seed=seed)
        assert sorted(np.concatenate(rows)) == list(range(len(y)))
        assert len(rows.test) == round(0.25 * len(y))
        expected = validation if isinstance(validation, int) else round(validation * len(y))
        assert len(rows.validation) == expected
        again = split_rows(split, index, y, seed=seed)
        assert all((a == b).all() for a, b in zip(rows, again, strict=True))
        seen.add(tuple(rows.test))
    assert len(seen) > 1


@pytest.mark.parametrize("stratified", [True, False])
def test_holdout_keeps_groups_together(stratified):
    y, groups = np.repeat([0, 1], 50), np.repeat(np.arange(20), 5)
    split = Holdout(4, 0.3, 20, stratified)
    tested = set()
    for index in range(4):
        rows = split_rows(split, index, y, seed=0, groups=groups)
        assert sorted(np.concatenate(rows)) == list(range(100))
        assert (len(rows.test), len(rows.validation)) == (30, 20)
        of_parts = [set(groups[part]) for part in rows]
        assert sum(map(len, of_parts)) == 20
        if stratified:
            assert y[rows.test].mean() == y[rows.validation].mean() == 0.5
        tested.add(tuple(rows.test))
    assert len(tested) > 1
    with pytest.raises(ValueError, match="too few groups for 30 test rows"):
        split_rows(split, 0, y, seed=0, groups=np.zeros(100))


def test_official_splits_come_round_again():
    rows = np.arange(9)
    official = {
        "b": {"train": rows[:6], "test": rows[6:]},
        "a": {"train": rows[3:], "validation": rows[:1], "test": rows[1:3]},
    }
    split = Official(repeats=2)
    assert n_splits(split, len(official)) == 4
    tests = [split_rows(split, i, rows, seed=0, official=official).test.tolist() for i in range(4)]
    assert tests == [[1, 2], [6, 7, 8], [1, 2], [6, 7, 8]]
    with pytest.raises(ValueError, match="no official split"):
        split_rows(split, 0, rows, seed=0, official={})


@given(LABELS, st.integers(2, 40), SEEDS)
def test_subset_is_balanced(labels, size, seed):
    y = np.array(labels)
    rows = np.random.default_rng(seed).permutation(len(y))[: len(y) // 2 + 10]
    kept = balanced_subset(rows, y[rows], size, make_rng(seed, 0, "subset"))
    assert set(kept) <= set(rows)
    assert len(set(kept)) == len(kept)
    counts, is_present = (
        [(y[part] == k).sum() for k in np.unique(y[rows])] for part in (kept, rows)
    )
    each, rest = divmod(size, len(counts))
    short = [count == of and of < each + 1 for count, of in zip(counts, is_present, strict=True)]
    for count, of in zip(counts, is_present, strict=True):
        assert min(max(2, each), of) <= count <= min(max(2, each + (rest > 0)), of)
    if not any(short) and each >= 2:
        assert len(kept) == size


def test_stratified_subsets_have_the_shares_of_all_rows():
    labels = np.repeat([0, 1, 2, 3], [50, 30, 19, 1])
    rows = np.arange(100) + 1000
    subset = stratified_subset(rows, labels, 15, make_rng(0, 0, "subset"))
    counts = np.bincount(labels[subset - 1000], minlength=4)
    # 7.5, 4.5, 2.85 and 0.15 of 15: the first remainders win; at least two, if there are two
    assert counts.tolist() == [8, 4, 3, 1]
    assert len(set(subset)) == 16
    again = stratified_subset(rows, labels, 16, make_rng(0, 0, "subset"))
    assert np.bincount(labels[again - 1000], minlength=4).tolist() == [8, 5, 3, 1]
    few = stratified_subset(rows, labels, 4, make_rng(0, 0, "subset"))
    assert np.bincount(labels[few - 1000], minlength=4).tolist() == [2, 2, 2, 1]
    assert set(stratified_subset(rows, labels, 1000, make_rng(0, 0, "subset"))) == set(rows)


def test_subset_has_two_groups_of_each_class():
    labels, groups = np.repeat([0, 1], 10), np.arange(20) // 5
    rows = np.arange(1, 20)
    subset = ensure_two_groups(np.array([1, 2, 12, 17]), rows, labels, groups)
    assert subset.tolist() == [1, 5, 12, 17]
    # a single row of a class is left, and so is a class that has no other group
    assert ensure_two_groups(np.array([1, 12, 13]), rows, labels, groups).tolist() == [1, 12, 15]
    few = np.array([0, 1, 10, 15])
    assert ensure_two_groups(few[:2], few, labels, groups).tolist() == [0, 1]


@given(LABELS, st.floats(0, 1), SEEDS)
def test_flipped_labels_are_other_labels(labels, rate, seed):
    y = np.array(list("abc"))[labels]
    flipped = flip_labels(y, rate, make_rng(seed, 0, "labels"))
    assert (flipped != y).sum() == round(rate * len(y))
    assert set(flipped) <= set(y)


@given(st.floats(0, 1), st.floats(0, 0.5), SEEDS)
def test_hidden_views_are_as_many_as_asked_for(rate, missing, seed):
    data, _ = make_multiview_classification(40, n_views=4, missing_rate=missing, random_state=seed)
    free = data.present.sum() - len(data)
    if round(rate * 160) > free:
        with pytest.raises(ValueError, match="cannot be hidden"):
            hide_views(data, rate, make_rng(seed, 0, "views"))
        return
    less = hide_views(data, rate, make_rng(seed, 0, "views"))
    assert less.present.any(axis=1).all()
    assert data.present.sum() - less.present.sum() == round(rate * 160)
    assert not (less.present & ~data.present).any()


def test_junk_views_are_appended():
    data, _ = make_multiview_classification(40, n_views=2, missing_rate=0.3, random_state=0)
    more = add_noise_views(data, 3, make_rng(0, 0, "junk"))
    assert more.view_names == (*data.view_names, "junk 1", "junk 2", "junk 3")
    np.testing.assert_array_equal(more.present[:, :2], data.present)
    assert more.present[:, 2:].all()
    np.testing.assert_array_equal(
        more["junk 2"], add_noise_views(data, 2, make_rng(0, 0, "junk"))["junk 2"]
    )
    noise = np.hstack([more[f"junk {v}"] for v in (1, 2, 3)])
    assert noise.shape == (40, 300)
    assert abs(noise.mean()) < 0.05
    assert abs(noise.std() - 1) < 0.05
    with pytest.raises(ValueError, match="there is a view 'junk 1' already"):
        add_noise_views(more, 1, make_rng(0, 0, "junk"))


def test_junk_beside_a_kernel():
    ids = np.arange(20)
    kernel = MultiViewData({"k": np.eye(20)}, sample_ids=ids, kinds={"k": "kernel"})
    more = add_noise_views(kernel, 1, make_rng(0, 0, "junk"))
    assert more.kinds == {"k": "kernel", "junk 1": "features"}
    np.testing.assert_array_equal(more[ids[5:]]["k"], kernel[ids[5:]]["k"])


def test_hidden_kernel_views_still_find_their_columns():
    X = np.random.default_rng(0).normal(size=(20, 3))
    kernels = {"a": X @ X.T, "b": (X @ X.T) ** 2}
    data = MultiViewData(kernels, kinds=dict.fromkeys(kernels, "kernel"))
    less = hide_views(data, 0.3, make_rng(0, 0, "views"))
    train, test = less[:12], less[12:]
    np.testing.assert_allclose(test.against("a", train.reference()), kernels["a"][12:, :12])


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Folds(1),
        lambda: Folds(5, 0),
        lambda: Holdout(0, 0.5),
        lambda: Holdout(1, 0),
        lambda: Holdout(1, 1.0),
        lambda: Holdout(1, 0.5, -1),
        lambda: Official(0),
    ],
)
def test_bad_protocols(bad):
    with pytest.raises(ValueError):
        bad()


def test_feature_noise_leaves_empty_cells_empty_and_no_others():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[0, 0] = X[:10, 2] = np.nan
    noisy = add_feature_noise(MultiViewData({"a": X}), 0.5, np.arange(10), make_rng(0, 0, "views"))
    np.testing.assert_array_equal(np.isnan(noisy["a"]), np.isnan(X))
    noise = make_rng(0, 0, "views").standard_normal((10, 3))
    expected = X[1:10, 0] + 0.5 * X[1:10, 0].std() * noise[1:, 0]
    np.testing.assert_allclose(noisy["a"][1:10, 0], expected)


def test_feature_noise_is_added_to_some_rows():
    data, _ = make_multiview_classification(
        400, n_views=2, n_features=3, missing_rate=0.2, random_state=0
    )
    rows = np.arange(300)
    noisy = add_feature_noise(data, 0.5, rows, np.random.default_rng(0))
    np.testing.assert_array_equal(noisy.present, data.present)
    for v, name in enumerate(data.view_names):
        there = data.present[:, v]
        change = (noisy[name] - data[name])[there & (np.arange(400) < 300)]
        expected = 0.5 * data[name][there & (np.arange(400) < 300)].std(axis=0)
        np.testing.assert_allclose(change.std(axis=0), expected, rtol=0.15)
        np.testing.assert_array_equal(noisy[name][300:], data[name][300:])
    kernel = MultiViewData({"k": np.eye(4)}, kinds={"k": "kernel"})
    with pytest.raises(ValueError, match="view 'k' is a kernel view: noise needs features"):
        add_feature_noise(kernel, 0.5, np.arange(2), np.random.default_rng(0))
