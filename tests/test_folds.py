"""Folds and hold-out sets that keep groups together, and near-copies of rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, StratifiedKFold

from consilience import MultiViewData
from consilience._copies import _continuous_columns, find_near_copies, warn_of_near_copies
from consilience._folds import (
    _count_rows,
    check_groups_for_folds,
    encode_groups,
    group_folds,
    group_holdout,
    split_rows,
)


def random_groups(seed, n_groups=12, n_classes=3):
    """Rows of groups of several sizes, each class in at least two groups."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, size=n_groups)
    groups = np.repeat(np.arange(n_groups), sizes)
    codes = rng.integers(n_classes, size=n_groups)[groups]
    for k in range(n_classes):
        codes[groups == 2 * k] = codes[groups == 2 * k + 1] = k
    order = rng.permutation(len(groups))
    return codes[order], groups[order]


@given(st.integers(0, 10**6), st.integers(2, 10))
def test_folds_keep_groups_and_leave_every_class_for_training(seed, n_folds):
    codes, groups = random_groups(seed)
    folds = group_folds(codes, groups, n_folds)
    assert len(set(zip(groups, folds, strict=True))) == len(set(groups))
    assert set(folds) == set(range(n_folds))
    for fold in range(n_folds):
        assert set(codes[folds != fold]) == set(codes)


def test_folds_do_not_depend_on_the_names_of_groups():
    codes, groups = random_groups(0)
    names = np.array([f"patient {99 - group}" for group in groups], dtype=object)
    np.testing.assert_array_equal(group_folds(codes, groups, 5), group_folds(codes, names, 5))
    assert encode_groups(np.array([7, "b", 7, 2.5], dtype=object)).tolist() == [0, 1, 0, 2]


def test_folds_are_stratified():
    groups = np.arange(40).repeat(5)
    codes = (np.arange(40) < 10).astype(int).repeat(5)
    folds = group_folds(codes, groups, 5)
    assert [np.bincount(codes[folds == fold]).tolist() for fold in range(5)] == [[30, 10]] * 5


@given(st.integers(0, 10**6))
def test_holdout_keeps_groups_and_leaves_every_class_for_training(seed):
    codes, groups = random_groups(seed, n_groups=30)
    train, test = group_holdout(codes, groups, 0.2, np.random.RandomState(seed))
    assert sorted([*train, *test]) == list(range(len(codes)))
    assert not set(groups[train]) & set(groups[test])
    assert set(codes[train]) == set(codes)
    assert 0.05 < len(test) / len(codes) < 0.4


def test_holdout_is_random():
    codes, groups = np.tile([0, 1], 20), np.arange(40)
    tests = [group_holdout(codes, groups, 0.1, np.random.RandomState(s))[1] for s in range(5)]
    assert [len(test) for test in tests] == [4] * 5
    assert len({tuple(test) for test in tests}) == 5


def test_class_in_one_group_is_named():
    codes, groups = np.array([0, 1, 0, 1, 2, 2]), np.array(["a", "a", "b", "b", "c", "c"])
    with pytest.raises(ValueError, match="class 'ill' occurs in only one group, 'c'"):
        check_groups_for_folds(codes, groups, np.array(["fit", "old", "ill"]), 3)


def test_fewer_groups_than_folds():
    codes, groups = np.tile([0, 1], 6), np.repeat([3, 4, 5], 4)
    with pytest.warns(UserWarning, match="only 3 groups, so 3 folds instead of 5"):
        assert check_groups_for_folds(codes, groups, np.array([0, 1]), 5) == 3


def test_splitters_get_the_groups():
    codes, groups = np.tile([0, 1], 20), np.arange(10).repeat(4)
    data = MultiViewData({"a": np.zeros((40, 1))}, groups=groups)
    for train, test in split_rows(GroupKFold(3), codes, data, np.array([0, 1])):
        assert not set(groups[train]) & set(groups[test])
    folds = [(train, test) for train, test in StratifiedKFold(4).split(codes, codes)]
    with pytest.warns(UserWarning, match="split 0 of cv has rows of .* groups among both"):
        split_rows(folds, codes, data, np.array([0, 1]))


# -- near-copies -------------------------------------------------------------------------------


def patients(seed, n_patients, n_copies, noise, n_columns):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_patients, n_columns)).repeat(n_copies, axis=0)
    return X + noise * rng.normal(size=X.shape)


@pytest.mark.parametrize("n_columns", [5, 10, 100])
def test_near_copies_are_found(n_columns):
    X = patients(0, 40, 5, 0.05, n_columns)
    copies, neighbours = find_near_copies(X)
    assert len(copies) > 100
    np.testing.assert_array_equal(copies // 5, neighbours // 5)


@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1e200, 1e300])
def test_near_copies_of_tiny_and_huge_values_are_found(unit):
    X = patients(0, 40, 5, 0.05, 10)
    expected = find_near_copies(X)
    found = find_near_copies(X * unit)
    assert len(found[0]) == pytest.approx(len(expected[0]), abs=2)


@pytest.mark.parametrize("n_columns", [2, 5, 20])
@pytest.mark.parametrize("transform", [np.asarray, np.exp, np.round, lambda X: X**3])
def test_samples_at_random_are_no_copies(n_columns, transform):
    X = transform(np.random.default_rng(1).normal(size=(400, n_columns)))
    assert len(find_near_copies(X)[0]) < 0.05 * len(X)


def test_few_dimensions_in_many_columns_are_no_copies():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 40))
    assert len(find_near_copies(X)[0]) < 0.05 * len(X)


def test_exact_copies_are_rows_of_larger_weight():
    X = np.random.default_rng(1).normal(size=(100, 5)).repeat(3, axis=0)
    assert len(find_near_copies(X)[0]) == 0


def test_rows_that_occur_very_often_have_no_distances():
    X = np.random.default_rng(1).normal(size=(10, 5)).repeat(40, axis=0)
    X += np.random.default_rng(2).normal(size=X.shape) * (np.arange(400) >= 200)[:, None]
    copies, _ = find_near_copies(X)
    assert len(copies) < 0.05 * len(X)


def test_rows_of_each_class_are_counted_in_each_group():
    codes, groups = np.array([0, 1, 1, -1, 0]), np.array([0, 0, 2, 2, 2])
    assert _count_rows(codes, groups).tolist() == [[1, 1], [0, 0], [1, 1]]
    assert _count_rows(codes, groups, 3).tolist() == [[1, 1, 0], [0, 0, 0], [1, 1, 0]]


def test_near_copies_give_a_warning_that_names_rows():
    X = patients(0, 40, 5, 0.01, 10)
    data = MultiViewData({"rna": X}, sample_ids=[f"s{i}" for i in range(200)])
    with pytest.warns(UserWarning, match=r"200 rows of view 'rna' .* rows s0 and s\d, "):
        warn_of_near_copies(data)
    warn_of_near_copies(data.with_groups(np.arange(40).repeat(5)))


def test_only_complete_columns_of_distinct_values_are_compared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    X[7, 1] = np.nan
    X[:, 2] = X[:, 2] > 0
    Z = _continuous_columns(X)
    np.testing.assert_allclose(Z, (X - X.mean(axis=0))[:, [0, 3]] / X.std(axis=0)[[0, 3]])


def test_every_class_has_training_rows_if_the_groups_allow():
    def has_all(codes, folds):
        return all(len(np.unique(codes[folds != k])) == 3 for k in range(2))

    # groups that the first order of dealing leads to a dead end
    groups = np.array([0, 2, 1, 3, 0, 0, 0, 0, 1, 3, 2, 2, 1, 0, 1, 1, 1, 3, 3, 1])
    codes = np.array([1, 2, 2, 1, 1, 1, 1, 1, 2, 1, 2, 2, 2, 1, 2, 2, 2, 0, 1, 0])
    folds = group_folds(codes, groups, 2)
    assert has_all(codes, folds)
    np.testing.assert_array_equal(folds, group_folds(codes, groups, 2))
    # three groups with a class in each pair of them cannot be divided
    codes, groups = np.array([0, 1, 1, 2, 2, 0]), np.array([0, 0, 1, 1, 2, 2])
    assert len(np.unique(group_folds(codes, groups, 2))) == 2
    n_tried = 0
    for seed in range(300):
        rng = np.random.RandomState(seed)
        groups = rng.permutation(np.arange(30) % rng.randint(3, 6))
        codes = np.where(
            rng.rand(30) < 0.8, rng.randint(3, size=6)[groups], rng.randint(3, size=30)
        )
        if min(len(np.unique(groups[codes == k])) for k in range(3)) < 2:
            continue
        options = itertools.product(range(2), repeat=groups.max() + 1)
        if any(has_all(codes, np.array(option)[groups]) for option in options):
            assert has_all(codes, group_folds(codes, groups, 2)), seed
            n_tried += 1
    assert n_tried > 100
