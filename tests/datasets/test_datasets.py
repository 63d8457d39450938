import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from consilience.datasets import _digits, load_digits_views, make_multiview_classification
from consilience.datasets._store import sparse_parts, sparse_view


def accuracy(view, y):
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return cross_val_score(model, view, y, cv=3).mean()


def test_quarters_are_the_image():
    digits = load_digits_views()
    data = digits.data
    top = np.concatenate(
        [data["top_left"].reshape(-1, 4, 4), data["top_right"].reshape(-1, 4, 4)], 2
    )
    np.testing.assert_array_equal(top, load_digits().images[:, :4])
    np.testing.assert_array_equal(digits.target, load_digits().target)
    assert data.shape == (1797, 64)


def test_features_are_five_informative_views():
    digits = load_digits_views(kind="features")
    assert digits.data.n_views >= 5
    for name, view in digits.data.items():
        assert np.isfinite(view).all()
        assert accuracy(view, digits.target) > (0.4 if name == "moments" else 0.8), name


def test_bunch():
    digits = load_digits_views()
    assert set(digits) == {"data", "target", "target_names", "splits", "DESCR"}
    assert "Kaynak" in digits.DESCR
    data, target = load_digits_views(return_X_y=True)
    assert len(data) == len(target)
    with pytest.raises(ValueError, match="'quarters' or 'features', got 'halves'"):
        load_digits_views(kind="halves")


def test_strength_is_the_strength():
    data, y = make_multiview_classification(
        600, n_views=4, strength=[0.0, 1.0, 2.0, 4.0], n_classes=3, random_state=0
    )
    scores = [accuracy(view, y) for _, view in data.items()]
    assert scores[0] < 0.42
    assert scores == sorted(scores)
    assert scores[-1] > 0.9


def test_redundant_views_err_together():
    wrong = {}
    for redundancy in (0.0, 1.0):
        data, y = make_multiview_classification(
            800, n_views=2, strength=2.0, redundancy=redundancy, random_state=0
        )
        errors = [
            LogisticRegression().fit(view[:400], y[:400]).predict(view[400:]) != y[400:]
            for _, view in data.items()
        ]
        wrong[redundancy] = np.corrcoef(errors)[0, 1]
    assert wrong[0.0] < 0.2
    assert wrong[1.0] > 0.6


def test_label_noise_missing_and_zeros():
    clean, y = make_multiview_classification(1000, n_classes=4, random_state=0)
    data, noisy = make_multiview_classification(
        1000, n_classes=4, label_noise=0.3, missing_rate=[0, 0.5, 0.9], sparsity=[0, 0.8, 0.8],
        random_state=0,
    )  # fmt: skip
    assert 0.25 < (noisy != y).mean() < 0.35
    np.testing.assert_array_equal(data["view0"], clean["view0"])
    np.testing.assert_allclose(1 - data.present.mean(axis=0), [0, 0.5, 0.9], atol=0.05)
    assert data.present.any(axis=1).all()
    assert sp.issparse(data["view1"])
    assert data["view1"].nnz == pytest.approx(0.2 * 10_000, rel=0.02)
    assert data["view1"].data.min() > 0


def test_every_sample_keeps_a_view():
    data, _ = make_multiview_classification(500, missing_rate=0.95, random_state=0)
    assert data.present.any(axis=1).all()


def test_class_shares_and_widths():
    data, y = make_multiview_classification(
        100, n_views=2, n_features=[1, 7], class_weights=[3, 1], random_state=0
    )
    assert np.bincount(y).tolist() == [75, 25]
    assert data.widths == {"view0": 1, "view1": 7}


def test_same_seed_same_data():
    one, _ = make_multiview_classification(random_state=5)
    two, _ = make_multiview_classification(random_state=5)
    np.testing.assert_array_equal(one["view2"], two["view2"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer >= 1"),
        ({"n_views": 1.5}, "n_views must be an integer"),
        ({"n_classes": 1}, "n_classes must be an integer >= 2"),
        ({"n_features": [1, 2]}, "n_features has 2 entries for 3 views"),
        ({"strength": [1, 2]}, "strength has 2 entries for 3 views"),
        ({"missing_rate": 1.0}, r"missing_rate must be in \[0, 1\)"),
        ({"sparsity": -0.1}, r"sparsity must be in \[0, 1\)"),
        ({"label_noise": 2}, r"label_noise must be in \[0, 1\)"),
        ({"redundancy": 1.1}, r"redundancy must be in \[0, 1\]"),
        ({"class_weights": [1, -1]}, "class_weights must be 2 positive numbers"),
    ],
)
def test_invalid_settings_raise(settings, message):
    with pytest.raises(ValueError, match=message):
        make_multiview_classification(**settings)


def test_features_of_an_image_are_what_they_are_said_to_be():
    image = np.random.default_rng(0).integers(0, 17, size=(8, 8)).astype(float)
    image[:, 0], image[5] = 0.0, 0.0
    mass, *rest = _digits.moments(image[None])[0]
    assert mass == image.sum()
    rows, columns = np.indices((8, 8))
    y, x = rows - (rows * image).sum() / mass, columns - (columns * image).sum() / mass
    central = {
        (p, q): (image * x**p * y**q).sum() / mass
        for order in (2, 3, 4)
        for p, q in ((p, order - p) for p in range(order + 1))
    }
    spread = np.sqrt((central[2, 0] + central[0, 2]) / 2)
    np.testing.assert_allclose(rest, [m / spread ** (p + q) for (p, q), m in central.items()])

    sums, outline = np.split(_digits.profiles(image[None])[0], [16])
    np.testing.assert_array_equal(sums, [*image.sum(axis=1), *image.sum(axis=0)])
    lines = [*image, *image[:, ::-1], *image.T, *image.T[:, ::-1]]
    depths = [np.flatnonzero(line > 4)[0] if (line > 4).any() else 8 for line in lines]
    np.testing.assert_array_equal(outline, depths)

    down, right = np.gradient(image)
    direction = np.floor(np.arctan2(down, right) / (2 * np.pi) * 8).astype(int) % 8
    sizes = np.hypot(down, right)
    expected = [
        sizes[rows, columns][direction[rows, columns] == k].sum()
        for rows in (slice(4), slice(4, 8))
        for columns in (slice(4), slice(4, 8))
        for k in range(8)
    ]
    np.testing.assert_allclose(_digits.gradients(image[None])[0], expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_views_have_as_many_latent_dimensions_as_classes(n_classes):
    data, _ = make_multiview_classification(200, n_classes=n_classes, n_features=8, random_state=0)
    values = np.linalg.svd(data["view0"] - data["view0"].mean(axis=0), compute_uv=False)
    assert values[n_classes - 1] > 5 * values[n_classes]


def test_stored_whole_numbers_become_floats():
    for dtype, expected in ((np.int32, np.float64), (np.float32, np.float32)):
        view = sp.csr_array(np.array([[0, 2], [3, 0]], dtype=dtype))
        stored = sparse_view(sparse_parts("a", view), "a")
        assert stored.dtype == expected
        np.testing.assert_array_equal(stored.toarray(), view.toarray())


def test_strength_is_the_distance_between_classes():
    settings = {"n_views": 1, "n_classes": 3, "n_features": 8, "random_state": 0}
    data, y = make_multiview_classification(20_000, strength=4.0, **settings)
    means = np.array([data["view0"][y == k].mean(axis=0) for k in range(3)])
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(means[a] - means[b]) == pytest.approx(4.0, abs=0.1)
