"""Loaders of real data: what is in the mirror beside the checkout, and damaged or strange files."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from consilience import ViewTransformer, datasets
from consilience.datasets import DATASETS, DatasetError, available, load_dataset
from consilience.datasets._store import VARIABLE, data_folder, write_arrays
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier
from reference import small_sets

MIRROR = Path(__file__).parents[3] / "shared" / "data"
needs_mirror = pytest.mark.skipif(
    not MIRROR.is_dir(), reason="the mirror of real data is not beside this checkout"
)
# name: samples, widths of the views, samples of the classes
FACTS = {
    "mnist-1": (70_000, [196] * 4, [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]),
    "mnist-2": (70_000, [256] * 4, [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]),
    "reuters-1200": (1200, [2000] * 5, [200] * 6),
    "reuters-600": (600, [21531, 24892, 34251, 15506, 11547], [100] * 6),
    "uwave": (4478, [315] * 3, [559, 560, 560, 560, 560, 560, 559, 560]),
    "flower17-descriptors": (1360, [300, 400, 1764, 800, 800, 28, 384], [80] * 17),
    "course": (1051, [500, 82], [821, 230]),
    "course-counts": (1051, [16916, 1875], [821, 230]),
    "ads": (3279, [587, 967], [2820, 459]),
    "ads-groups": (3279, [4, 457, 495, 472, 111, 19], [2820, 459]),
    "indoor": (21048, [300, 220], [9760, 11288]),
    "indoor-subset": (11288, [300, 220], [5785, 5503]),
    "indoor-floor": (21048, [300, 220], [4501, 5464, 4722, 5220, 1141]),
    "mfeat": (2000, [76, 216, 64, 240, 47, 6], [200] * 10),
    "breast-tcga": (220, [200, 184, 142], [66, 44, 110]),
    "nutrimouse": (40, [120, 21], [20, 20]),
    "nutrimouse-diet": (40, [120, 21], [8] * 5),
}


@needs_mirror
@pytest.mark.parametrize("name", FACTS)
def test_facts(name):
    bunch = load_dataset(name, data_home=MIRROR, download_if_missing=False)
    n, widths, counts = FACTS[name]
    assert bunch.data.shape == (n, sum(widths))
    assert list(bunch.data.widths.values()) == widths
    assert np.bincount(bunch.target).tolist() == counts
    assert len(bunch.target_names) == len(counts)
    assert "Licence" in bunch.DESCR
    assert any(year in bunch.DESCR for year in map(str, range(1998, 2020)))
    for view, names in bunch.feature_names.items():
        assert len(names) == bunch.data.widths[view]
    for values in bunch.sample_info.values():
        assert len(values) == n
    for parts in bunch.splits.values():
        rows = np.concatenate(list(parts.values()))
        assert np.array_equal(np.sort(rows), np.arange(n))


@needs_mirror
def test_every_set_of_the_mirror_is_known():
    assert set(available(MIRROR)) == {"digits", "digits-features", *FACTS}
    assert set(DATASETS) - set(available(MIRROR)) == {"reuters", "flower17"}


@needs_mirror
def test_official_splits():
    def sizes(name):
        bunch = load_dataset(name, data_home=MIRROR)
        return {
            split: [len(rows) for rows in parts.values()] for split, parts in bunch.splits.items()
        }

    assert sizes("uwave") == {"official": [896, 3582]}
    assert sizes("indoor") == {"official": [19_937, 1_111]}
    assert sizes("indoor-subset") == {"official": [10_445, 843]}
    assert sizes("mnist-1") == {"official": [60_000, 10_000]}
    assert sizes("breast-tcga") == {"official": [150, 70]}
    assert sizes("flower17-descriptors") == {key: [680, 340, 340] for key in "123"}
    assert sizes("mfeat") == {}


@needs_mirror
def test_flower_splits_are_stratified():
    bunch = datasets.fetch_flower17(kind="descriptors", data_home=MIRROR)
    for parts in bunch.splits.values():
        for part, size in (("train", 40), ("validation", 20), ("test", 20)):
            assert set(np.bincount(bunch.target[parts[part]])) == {size}


@needs_mirror
def test_breast_test_part_lacks_protein():
    bunch = datasets.fetch_breast_tcga(data_home=MIRROR)
    train, test = bunch.splits["official"].values()
    present = bunch.data.present
    assert present[train].all()
    assert present[test].tolist() == [[True, True, False]] * 70
    model = LateFusionClassifier(GaussianNB())
    model.fit(bunch.data[train], bunch.target[train])
    assert model.score(bunch.data[test], bunch.target[test]) > 0.85


@needs_mirror
def test_views_carry_what_the_papers_say():
    """Rough accuracies, far below what good methods reach, that a shuffled row would spoil."""
    ads = datasets.fetch_ads(data_home=MIRROR)
    rows = np.random.default_rng(0).permutation(len(ads.target))
    train, test = rows[:1000], rows[1000:]
    model = EarlyFusionClassifier(LogisticRegression(C=10, max_iter=500))
    accuracy = model.fit(ads.data[train], ads.target[train]).score(ads.data[test], ads.target[test])
    assert accuracy > 0.94
    indoor = datasets.fetch_ujiindoorloc(data_home=MIRROR)
    train, test = indoor.splits["official"].values()
    train = train[::20]
    model = LogisticRegression(C=100, max_iter=500)
    model.fit(indoor.data["wifi_a"][train], indoor.target[train])
    assert model.score(indoor.data["wifi_a"][test], indoor.target[test]) > 0.97


# -- settings, on small sets ---------------------------------------------------------------------


@pytest.fixture
def home(tmp_path):
    """A folder with every small set."""
    for name in ("mnist", "uwave", "ads", "ujiindoorloc", "course", "flower17", "nutrimouse"):
        for stem, arrays in getattr(small_sets, name)().items():
            write_arrays(tmp_path / name / f"{stem}.npz", arrays)
    return tmp_path


def test_mnist_windows(home):
    images = small_sets.mnist()["mnist"]["X"]
    quarters = datasets.fetch_mnist_views(data_home=home).data
    top = np.concatenate([quarters[k].reshape(-1, 14, 14) for k in ("top_left", "top_right")], 2)
    np.testing.assert_array_equal(top, images[:, :14])
    windows = datasets.fetch_mnist_views(windows=16, data_home=home).data
    np.testing.assert_array_equal(windows["bottom_left"].reshape(-1, 16, 16), images[:, 12:, :16])
    whole = datasets.fetch_mnist_views(windows=np.int64(28), data_home=home).data
    np.testing.assert_array_equal(whole["top_right"], images.reshape(len(images), -1))


def test_uwave_gestures_are_counted_from_zero(home):
    data, target = datasets.fetch_uwave(data_home=home, return_X_y=True)
    assert target.tolist() == [2, 0, 7, 1, 4, 3, 5, 6, 0, 7]
    assert data.view_names == ("x", "y", "z")


def test_ads_groups(home):
    groups = datasets.fetch_ads(views="groups", data_home=home)
    assert groups.data.view_names[0] == "geometry"
    assert np.flatnonzero(~groups.data.present[:, 0]).tolist() == [0, 2]
    assert groups.data.present[:, 1:].all()
    paper = datasets.fetch_ads(data_home=home)
    assert paper.feature_names["links"].tolist()[0] == "origurl*w:0"
    together = sp.hstack([groups.data[k] for k in ("url", "alt", "caption")]).toarray()
    np.testing.assert_array_equal(paper.data["image"].toarray(), together)


def test_indoor_columns_and_scale(home):
    stored = small_sets.ujiindoorloc()["ujiindoorloc"]
    bunch = datasets.fetch_ujiindoorloc(task="building", data_home=home)
    dealt = np.concatenate(list(bunch.feature_names.values())) - 1
    assert sorted(dealt) == list(range(520))
    signals = sp.hstack([view for _, view in bunch.data.items()]).toarray()
    heard = stored["rssi"][:, dealt] != 100
    np.testing.assert_array_equal(signals > 0, heard)
    scaled = (stored["rssi"][:, dealt].astype(float) + 105) / 105
    np.testing.assert_allclose(signals[heard], scaled[heard])
    assert 0 < signals[heard].min() <= signals.max() <= 1
    other = datasets.fetch_ujiindoorloc(random_state=1, data_home=home)
    assert other.feature_names["wifi_a"].tolist() != bunch.feature_names["wifi_a"].tolist()
    assert other.target.tolist() == (stored["building"] < 2).astype(int).tolist()
    subset = datasets.fetch_ujiindoorloc(task="indoor_subset", data_home=home)
    kept = stored["building"] < 2
    assert subset.target.tolist() == stored["building"][kept].tolist()
    assert len(subset.splits["official"]["train"]) == kept[:10].sum()
    assert subset.sample_info["user_id"].tolist() == stored["user_id"][kept].tolist()


def test_course_text_and_reduction(home):
    text = datasets.fetch_course(kind="text", data_home=home)
    assert text.data["inlinks"].tolist() == ["CS414 course", "Course two", "", "home"]
    assert "été" in text.data["fulltext"][1]
    counted = ViewTransformer(CountVectorizer()).fit_transform(text.data)
    assert counted["inlinks"].shape[0] == 4


def test_flower_distances_follow_the_rows(home):
    bunch = datasets.fetch_flower17(data_home=home)
    assert set(bunch.data.kinds.values()) == {"distance"}
    assert bunch.splits["2"]["validation"].dtype == np.intp
    train = bunch.splits["1"]["train"]
    cut = bunch.data[train]
    assert cut.against("hog", cut.reference()).shape == (34, 34)


def test_nutrimouse_targets(home):
    assert len(datasets.fetch_nutrimouse(data_home=home).target_names) == 2
    diet = datasets.fetch_nutrimouse(target="diet", data_home=home)
    assert diet.target_names.tolist() == ["coc", "fish", "lin", "ref", "sun"]
    assert diet.feature_names["lipid"].tolist() == ["C14.0", "C16.0", "C18.0"]


@pytest.mark.parametrize(
    ("loader", "settings", "message"),
    [
        (datasets.fetch_mnist_views, {"windows": "halves"}, "'quarters' or a side from 1 to 28"),
        (datasets.fetch_mnist_views, {"windows": 29}, "got 29"),
        (datasets.fetch_mnist_views, {"windows": True}, "got True"),
        (datasets.fetch_reuters_multilingual, {"subset": "some"}, "subset must be"),
        (datasets.fetch_reuters_multilingual, {"source": "DE"}, "source must be one of EN, FR"),
        (datasets.fetch_reuters_multilingual, {"subset": 600, "source": "FR"}, "English"),
        (datasets.fetch_flower17, {"kind": "images"}, "'distances' or 'descriptors'"),
        (datasets.fetch_course, {"kind": "words"}, "kind must be one of reduced"),
        (datasets.fetch_course, {"widths": (500,)}, "two numbers"),
        (datasets.fetch_course, {"widths": (500, 0)}, "two numbers"),
        (datasets.fetch_ads, {"views": "three"}, "'paper' or 'groups'"),
        (datasets.fetch_ujiindoorloc, {"task": "room"}, "task must be one of indoor"),
        (datasets.fetch_nutrimouse, {"target": "age"}, "'genotype' or 'diet'"),
        (load_dataset, {"name": "flowers"}, "unknown data set 'flowers'; known are digits"),
    ],
)
def test_refuses_settings(loader, settings, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        loader(data_home=tmp_path, download_if_missing=False, **settings)


# -- damaged files -------------------------------------------------------------------------------


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip_a_byte(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def pickled(path):
    np.savez(path, gene=np.array([{}, None], dtype=object))


def one_array(path):
    with open(path, "wb") as file:
        np.save(file, np.arange(3))


def text(path):
    path.write_text("<html>Log in to this network</html>")


def empty(path):
    path.write_bytes(b"")


def another_set(path):
    np.savez(path, y=np.arange(3))


def other_rows(path):
    arrays = small_sets.nutrimouse()["nutrimouse"]
    write_arrays(path, {**arrays, "gene": arrays["gene"][:-1]})


def other_labels(path):
    arrays = small_sets.nutrimouse()["nutrimouse"]
    write_arrays(path, {**arrays, "genotype": arrays["genotype"] + 1})


@pytest.mark.parametrize(
    "damage",
    [
        cut_short,
        flip_a_byte,
        pickled,
        one_array,
        text,
        empty,
        another_set,
        other_rows,
        other_labels,
    ],
)
def test_damaged_file(home, damage):
    path = home / "nutrimouse" / "nutrimouse.npz"
    damage(path)
    with pytest.raises(DatasetError, match=r"nutrimouse\.npz is damaged .*delete that file"):
        datasets.fetch_nutrimouse(data_home=home)
    assert path.exists()


def test_folder(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "variable"))
    assert data_folder() == tmp_path / "variable"
    assert data_folder(tmp_path / "given") == tmp_path / "given"
    assert data_folder("~/data") == Path.home() / "data"
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder().name == "data"
    assert "consilience" in data_folder().parts


def test_variable_is_a_mirror(home, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(home))
    assert "nutrimouse" in available()
    assert len(load_dataset("nutrimouse-diet", download_if_missing=False).target) == 10
