"""Problems with known features: the informative ones differ between the classes, no others do."""

import numpy as np
import pytest
from sklearn.feature_selection import f_classif

from consilience.datasets import make_multiview_biomarkers


def test_informative_features_differ_between_classes():
    problem = make_multiview_biomarkers(
        2000, n_features=[30, 40], n_informative=8, n_classes=3, random_state=0
    )
    for view, mask in problem.informative.items():
        assert mask.sum() == 4
        F = f_classif(problem.data[view], problem.target)[0]
        assert F[mask].min() > F[~mask].max()


def test_blocks_and_copies():
    problem = make_multiview_biomarkers(
        3000, n_features=[40, 40], n_informative=4, block_size=3, n_copies=2, random_state=0
    )
    assert [int(mask.sum()) for mask in problem.informative.values()] == [7, 7]
    X = np.hstack([view for _, view in problem.data.items()])
    r = np.abs(np.corrcoef(X.T)) - np.eye(80)
    informative = np.concatenate(list(problem.informative.values()))
    assert (r[informative].max(axis=1) > 0.5).all()
    # blocks without information are correlated as well
    assert (r[~informative].max(axis=1) > 0.5).sum() == 12
    F = f_classif(X, problem.target)[0]
    assert F[informative].min() > F[~informative].max()


def test_pairs_tell_the_class_only_together():
    problem = make_multiview_biomarkers(
        4000, n_features=[20], n_informative=4, n_interactions=2, effect=1.5, random_state=0
    )
    X, mask = problem.data["view0"], problem.informative["view0"]
    assert mask.sum() == 4
    assert f_classif(X, problem.target)[1][mask].min() > 1e-3
    columns = np.flatnonzero(mask)
    products = np.column_stack([X[:, a] * X[:, b] for a in columns for b in columns if a < b])
    assert (f_classif(products, problem.target)[1] < 1e-20).sum() == 2


def test_effect_is_the_difference_of_means():
    problem = make_multiview_biomarkers(
        20_000, n_features=[5], n_informative=1, effect=0.6, random_state=0
    )
    (column,) = np.flatnonzero(problem.informative["view0"])
    x = problem.data["view0"][:, column]
    difference = x[problem.target == 1].mean() - x[problem.target == 0].mean()
    assert abs(difference) == pytest.approx(0.6, abs=0.05)


def test_bad_arguments():
    for wrong, match in (
        ({"n_informative": 4, "n_interactions": 3}, "n_interactions"),
        ({"n_features": [3], "n_informative": 5}, "too narrow"),
        ({"n_copies": 50}, "n_copies"),
        ({"label_noise": 1.5}, "label_noise"),
    ):
        with pytest.raises(ValueError, match=match):
            make_multiview_biomarkers(**wrong)


def test_signs_of_pairs_follow_the_class_as_often_as_the_effect_says():
    problem = make_multiview_biomarkers(
        4000, n_features=[5], n_informative=2, n_interactions=1, effect=0.5, random_state=0
    )
    a, b = problem.data["view0"][:, problem.informative["view0"]].T
    share = np.mean((a * b > 0) == (problem.target == 1))
    assert max(share, 1 - share) == pytest.approx((1 + np.tanh(0.5)) / 2, abs=0.03)
