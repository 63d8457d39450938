"""Loaders of real data: small sets of the same format, damaged and strange files."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from consilience import ViewTransformer, datasets
from consilience.datasets import DatasetError, available, load_dataset
from consilience.datasets._store import DATA_HOME_VARIABLE, data_folder, write_arrays
from reference import small_sets

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
        (
            datasets.fetch_mnist_views,
            {"windows": "halves"},
            "'quarters' or a side length from 1 to 28",
        ),
        (datasets.fetch_mnist_views, {"windows": 29}, "got 29"),
        (datasets.fetch_mnist_views, {"windows": True}, "got True"),
        (datasets.fetch_reuters_multilingual, {"subset": "some"}, "subset must be"),
        (datasets.fetch_reuters_multilingual, {"source": "DE"}, "source must be one of EN, FR"),
        (datasets.fetch_reuters_multilingual, {"subset": 600, "source": "FR"}, "English"),
        (datasets.fetch_flower17, {"kind": "images"}, "'distances' or 'descriptors'"),
        (datasets.fetch_course, {"kind": "words"}, "kind must be one of reduced"),
        (datasets.fetch_course, {"widths": (500,)}, "two integers"),
        (datasets.fetch_course, {"widths": (500, 0)}, "two integers"),
        (datasets.fetch_ads, {"views": "three"}, "'paper' or 'groups'"),
        (datasets.fetch_ujiindoorloc, {"task": "room"}, "task must be one of indoor"),
        (datasets.fetch_nutrimouse, {"target": "age"}, "'genotype' or 'diet'"),
        (load_dataset, {"name": "flowers"}, "unknown data set 'flowers'; known are digits"),
    ],
)
def test_invalid_settings_raise(loader, settings, message, tmp_path):
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
    monkeypatch.setenv(DATA_HOME_VARIABLE, str(tmp_path / "variable"))
    assert data_folder() == tmp_path / "variable"
    assert data_folder(tmp_path / "given") == tmp_path / "given"
    assert data_folder("~/data") == Path.home() / "data"
    monkeypatch.setenv(DATA_HOME_VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder().name == "data"
    assert "consilience" in data_folder().parts


def test_variable_is_a_mirror(home, monkeypatch):
    monkeypatch.setenv(DATA_HOME_VARIABLE, str(home))
    assert "nutrimouse" in available()
    assert len(load_dataset("nutrimouse-diet", download_if_missing=False).target) == 10
