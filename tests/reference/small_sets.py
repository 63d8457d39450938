"""Small random data sets in the arrays of the ``.npz`` layout."""

import numpy as np
import scipy.sparse as sp

from consilience.datasets._store import sparse_parts

CLASSES = np.array(["C15", "CCAT", "E21", "ECAT", "GCAT", "M11"])
FLOWERS = np.array(
    ["daffodil", "snowdrop", "lily_valley", "bluebell", "crocus", "iris", "tigerlily", "tulip",
     "fritillary", "sunflower", "daisy", "colts_foot", "dandelion", "cowslip", "buttercup",
     "windflower", "pansy"]
)  # fmt: skip
WORDS = {"EN": 21_531, "FR": 24_893, "GR": 34_279, "IT": 15_506, "SP": 11_547}


def mnist():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (12, 28, 28)).astype(np.uint8)
    y = np.arange(12, dtype=np.uint8) % 10
    return {"mnist": {"X": X, "y": y, "n_train": np.int64(8)}}


def mfeat():
    rng = np.random.default_rng(0)
    arrays = {"y": np.repeat(np.arange(10, dtype=np.uint8), 2)}
    for name, width in (("fou", 76), ("fac", 216), ("kar", 64), ("pix", 240), ("zer", 47)):
        arrays[name] = rng.normal(size=(20, width))
    arrays["fac"] = rng.integers(0, 1300, (20, 216)).astype(np.int16)
    arrays["pix"] = rng.integers(0, 7, (20, 240)).astype(np.int16)
    arrays["mor"] = rng.normal(size=(20, 6)) * 1e4
    return {"mfeat": arrays}


def uwave():
    rng = np.random.default_rng(0)
    arrays = {axis: rng.normal(size=(10, 315)).astype(np.float32) for axis in ("x", "y_axis", "z")}
    y = np.array([3, 1, 8, 2, 5, 4, 6, 7, 1, 8], dtype=np.uint8)
    return {"uwave": {**arrays, "y": y, "n_train": np.int64(4)}}


def ads():
    rng = np.random.default_rng(0)
    names, group = ["height", "width", "aratio", "local"], ["geometry"] * 4
    arrays = {}
    for word, width in (("url", 4), ("origurl", 3), ("ancurl", 2), ("alt", 2), ("caption", 1)):
        arrays[word] = rng.integers(0, 2, (9, width)).astype(np.uint8)
        names += [f"{word}*w:{number}" for number in range(width)]
        group += [word] * width
    geometry = np.column_stack([rng.integers(1, 640, (9, 2)), rng.random(9), rng.integers(0, 2, 9)])
    geometry[[0, 2], [1, 3]] = np.nan
    return {
        "ads": {
            "y": np.array([1, 0, 0, 1, 0, 0, 0, 1, 0], dtype=np.uint8),
            "target_names": np.array(["nonad", "ad"]),
            "feature_names": np.array(names),
            "feature_group": np.array(group),
            "geometry": geometry.astype(np.float32),
            **arrays,
        }
    }


def ujiindoorloc():
    rng = np.random.default_rng(0)
    rssi = np.where(rng.random((14, 520)) < 0.1, rng.integers(-104, 1, (14, 520)), 100)
    return {
        "ujiindoorloc": {
            "rssi": rssi.astype(np.int8),
            "longitude": rng.normal(-7000, 500, 14),
            "latitude": rng.normal(4.8e6, 500, 14),
            "floor": (np.arange(14) % 5).astype(np.uint8),
            "building": (np.arange(14) % 3).astype(np.uint8),
            "space_id": rng.integers(1, 250, 14).astype(np.int16),
            "relative_position": rng.integers(1, 3, 14).astype(np.uint8),
            "user_id": rng.integers(0, 19, 14).astype(np.uint8),
            "phone_id": rng.integers(0, 25, 14).astype(np.uint8),
            "timestamp": 1371713733 + rng.integers(0, 1000, 14),
            "n_train": np.int64(10),
        }
    }


def bags_of_words(n, widths, seed):
    rng = np.random.default_rng(seed)
    arrays = {"y": (np.arange(n) % 6).astype(np.uint8), "target_names": CLASSES}
    for language, width in widths.items():
        words = sp.random_array((n, width), density=20 / width, format="csr", random_state=rng)
        words.data = rng.normal(size=words.nnz).astype(np.float32)
        arrays |= sparse_parts(language, words.astype(np.float32))
    return arrays


def reuters_full():
    sets = {s: bags_of_words(6 + i, WORDS, i) for i, s in enumerate(WORDS)}
    sets["GR"]["EN_indices"][0] = 0  # the word that tells from where words are counted
    return {f"reuters_{source.lower()}": arrays for source, arrays in sets.items()}


def reuters_sample():
    return {"reuters1200": bags_of_words(12, dict.fromkeys(WORDS, 30), 0)}


def flower17():
    rng = np.random.default_rng(0)
    arrays = {"y": np.repeat(np.arange(17, dtype=np.uint8), 4), "target_names": FLOWERS}
    for name in ("colourgc", "shapegc", "texturegc", "hsv", "hog", "siftint", "siftbdy"):
        points = rng.normal(size=(68, 3))
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        arrays[name] = distances.astype(np.float32)
    for number in (1, 2, 3):
        rows = rng.permutation(68).astype(np.int16)
        parts = np.split(rows, [34, 51])
        arrays |= {f"{k}{number}": p for k, p in zip(("trn", "val", "tst"), parts, strict=True)}
    return {"flower17": arrays}


def course():
    pages = [
        b"<HTML><TITLE>CS 414</TITLE><!-- none <b> --> Operating&nbsp;Systems &amp; more",
        b"<script>var hidden = 1;</script>x2 assignments x2 d'\xe9t\xe9",
        b"my <a href='home.html'>home page</a> page",
        b"",
    ]
    links = [b"CS414 course", b"Course two", b"", b"home"]
    arrays = {
        "y": np.array([1, 1, 0, 0], dtype=np.uint8),
        "target_names": np.array(["non-course", "course"]),
        "sample_id": np.array(["http:^^a^1.html", "http:^^b^?x%20", "http:^^a^2", "http:^^c^~d"]),
    }
    for view, texts in (("fulltext", pages), ("inlinks", links)):
        arrays[f"{view}_bytes"] = np.frombuffer(b"".join(texts), dtype=np.uint8)
        arrays[f"{view}_offsets"] = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return {"course_raw": arrays}


def breast_tcga():
    rng = np.random.default_rng(0)
    arrays = {"target_names": np.array(["Basal", "Her2", "LumA"])}
    for view, width in (("mrna", 5), ("mirna", 4), ("protein", 3)):
        arrays[view] = rng.normal(size=(6, width)).astype(np.float32)
        arrays[f"{view}_names"] = np.array([f"{view}-{j}é" for j in range(width)])
    for view in ("mrna", "mirna"):
        arrays[f"{view}_test"] = rng.normal(size=(3, arrays[view].shape[1])).astype(np.float32)
    arrays |= {"y": np.array([2, 0, 1, 2, 2, 0]), "y_test": np.array([1, 2, 0])}
    arrays |= {
        "sample_id": np.array([f"A{i}" for i in range(6)]),
        "sample_id_test": np.array([f"B{i}" for i in range(3)]),
    }
    return {"breast_tcga": arrays}


def nutrimouse():
    rng = np.random.default_rng(0)
    return {
        "nutrimouse": {
            "gene": rng.normal(size=(10, 4)).astype(np.float32),
            "lipid": rng.normal(size=(10, 3)).astype(np.float32),
            "gene_names": np.array(["X36b4", "ACAT1", "ACAT2", "ACBP"]),
            "lipid_names": np.array(["C14.0", "C16.0", "C18.0"]),
            "genotype": np.arange(10) % 2,
            "genotype_names": np.array(["wt", "ppar"]),
            "diet": np.arange(10) % 5,
            "diet_names": np.array(["coc", "fish", "lin", "ref", "sun"]),
        }
    }
