"""Real data as they are in the mirror beside the checkout: sizes, splits, what views carry."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from consilience import datasets
from consilience.datasets import DATASETS, available, load_dataset
from consilience.fusion import EarlyFusionClassifier, LateFusionClassifier

MIRROR = Path(__file__).parents[3] / "shared" / "data"
if not MIRROR.is_dir():
    pytest.skip("the mirror of real data is not beside this checkout", allow_module_level=True)

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
    "acm": (3025, [1870, 3025, 3025], [1061, 965, 999]),
    "adult": (48842, [63, 42, 3], [37155, 11687]),
    "basicmotions": (80, [100] * 6, [20] * 4),
    "landuse21": (2100, [20, 59, 40], [100] * 21),
    "ngs": (500, [2000] * 3, [100] * 5),
    "prokaryotic": (551, [393, 3, 438], [313, 91, 35, 112]),
    "rosmap": (351, [200] * 3, [169, 182]),
    "threesources": (169, [3560, 3631, 3068], [56, 21, 11, 18, 51, 12]),
    "webkb203": (203, [1703, 230, 230], [21, 66, 107, 9]),
}


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


def test_every_set_of_the_mirror_is_known():
    assert set(available(MIRROR)) == {"digits", "digits-features", *FACTS}
    assert set(DATASETS) - set(available(MIRROR)) == {"reuters", "reuters-all", "flower17"}


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


def test_flower_splits_are_stratified():
    bunch = datasets.fetch_flower17(kind="descriptors", data_home=MIRROR)
    for parts in bunch.splits.values():
        for part, size in (("train", 40), ("validation", 20), ("test", 20)):
            assert set(np.bincount(bunch.target[parts[part]])) == {size}


def test_breast_test_part_lacks_protein():
    bunch = datasets.fetch_breast_tcga(data_home=MIRROR)
    train, test = bunch.splits["official"].values()
    present = bunch.data.present
    assert present[train].all()
    assert present[test].tolist() == [[True, True, False]] * 70
    model = LateFusionClassifier(GaussianNB())
    model.fit(bunch.data[train], bunch.target[train])
    assert model.score(bunch.data[test], bunch.target[test]) > 0.85


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
