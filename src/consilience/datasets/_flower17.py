"""Oxford Flower17: images by seven distances, or by seven descriptors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from consilience.datasets._archives import find_file
from consilience.datasets._download import RemoteFile
from consilience.datasets._source import DatasetSource, DownloadRoute, load
from consilience.datasets._store import Arrays, LoadedData, as_bunch

__all__ = ["fetch_flower17"]

DESCR = """Oxford Flower17: 1 360 images of 17 flowers, 80 of each, with three official splits.

kind="distances": the seven matrices of distances between images that the authors published, as
used by Zantedeschi et al. (2018): colour, shape and texture (2006), HSV, HOG, SIFT of the interior
and of the boundary (2008).
kind="descriptors": seven descriptors computed afresh from the images: hsv_hist, lab_bow, hog,
sift_dense_bow, sift_keypoint_bow, lbp, gabor. They are not the views of the literature, and
figures had from them cannot be compared with published ones. They cannot be downloaded, only be
read from a folder that has them.
splits["1"], ["2"], ["3"]: 680 training, 340 validation and 340 test rows each.

M.-E. Nilsback, A. Zisserman (2006), A visual vocabulary for flower classification, CVPR; (2008),
Automated flower classification over a large number of classes, ICVGIP. Licence: none stated.
"""

DISTANCES = ("colourgc", "shapegc", "texturegc", "hsv", "hog", "siftint", "siftbdy")
DESCRIPTORS = ("hsv_hist", "lab_bow", "hog", "sift_dense_bow", "sift_keypoint_bow", "lbp", "gabor")
PART_KEYS = {"train": "trn", "validation": "val", "test": "tst"}
BASE_URL = "https://www.robots.ox.ac.uk/~vgg/data/flowers/17/"
DISTANCE_FILES = ("distancematrices17gcfeat06.mat", "distancematrices17itfeat08.mat")
FLOWERS = (
    "daffodil", "snowdrop", "lily_valley", "bluebell", "crocus", "iris", "tigerlily", "tulip",
    "fritillary", "sunflower", "daisy", "colts_foot", "dandelion", "cowslip", "buttercup",
    "windflower", "pansy",
)  # fmt: skip


def convert(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """Read Matlab files: distance matrices ``D_hog`` … and splits with row numbers from 1."""
    distances: Arrays = {}
    for name in DISTANCE_FILES:
        distances |= loadmat(find_file(folder, name))
    views = {name: distances[f"D_{name}"].astype(np.float32) for name in DISTANCES}
    n = len(views[DISTANCES[0]])
    if n % len(FLOWERS) or any(view.shape != (n, n) for view in views.values()):
        raise ValueError(f"distance matrices of shapes {[view.shape for view in views.values()]}")
    splits = loadmat(find_file(folder, "datasplits.mat"))
    rows = {
        f"{key}{number}": splits[f"{key}{number}"].ravel().astype(np.int16) - 1
        for key in PART_KEYS.values()
        for number in (1, 2, 3)
    }
    for number in (1, 2, 3):
        all_rows = np.concatenate([rows[f"{key}{number}"] for key in PART_KEYS.values()])
        if not np.array_equal(np.sort(all_rows), np.arange(n)):
            raise ValueError(f"split {number} does not contain every image exactly once")
    y = np.repeat(np.arange(len(FLOWERS), dtype=np.uint8), n // len(FLOWERS))
    yield "flower17", {"y": y, "target_names": np.array(FLOWERS), **views, **rows}


SOURCE = DatasetSource(
    "flower17",
    routes=(
        DownloadRoute(
            (
                *(
                    RemoteFile(name, (f"{BASE_URL}{name}",), trust_first_use=True)
                    for name in DISTANCE_FILES
                ),
                RemoteFile(
                    "datasplits.mat",
                    (f"{BASE_URL}datasplits.mat",),
                    "md5:4828cddfd0d803c5abbdebcb1e148a1e",
                ),
            ),
            convert,
        ),
    ),
    rows={"flower17": 1_360},
    digests={
        "flower17": {
            "trn1": "0819a8df9701f9a5b64fe77a0d5bd70caf571bffb3fc2e086b28352adf7bf1b9",
            "val1": "0f628721bd07229f1d2c8e2dde14aa2b6bf52f845e806eaf297bfb70ce18ad9d",
            "tst1": "33ee8800ec6bd48e38a3c65552fe9a20906c159a6fec8f953435f0c80646e679",
            "trn2": "f30143afeb3da29ef70655a3a629d96c2c3e6d3799ea65a9b8745ef2dcc83d20",
            "val2": "ae8c2c963d8b6798c10f50307974261f867a65b0905656774741a8ed6c2cd1d8",
            "tst2": "4aa627c68694665ea678970fd58a863504a7a2f4aea964d93eb234a3c5d5e097",
            "trn3": "d8ad74bf3c84c46b24ebdf56929dfd9f2dd7a2481e00199971a097e7ab0bf472",
            "val3": "74c051f5137801dd783a5ba8a7bcf63eaff3611ea23092135907832aae007c0f",
            "tst3": "942b3fc086aa3cab9fcdd4a2ccc710c6a6c78caed8e9bbb303cc4849ba544e7d",
        }
    },
)
RECOMPUTED = DatasetSource("flower17_recomputed")


def official_splits(arrays: Arrays) -> dict[str, dict[str, np.ndarray]]:
    """Training, validation and test rows of the three official splits."""
    return {
        str(number): {
            part: arrays[f"{key}{number}"].astype(np.intp) for part, key in PART_KEYS.items()
        }
        for number in (1, 2, 3)
    }


def fetch_flower17(
    *,
    kind: str = "distances",
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Load Flower17 as seven views.

    Parameters
    ----------
    kind : {"distances", "descriptors"}, default="distances"
        The published distance matrices, or descriptors computed afresh from the images.
    data_home : path, optional
        Folder of the data sets; by default ``CONSILIENCE_DATA`` or the user's cache.
    download_if_missing : bool, default=True
        Whether to download the data set if it is not in the folder.
    progress : bool, optional
        Whether to show a progress bar; by default if standard error is a terminal.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data`` (MultiViewData, 1 360 samples), ``target``, ``target_names``, ``splits``
        ("1", "2", "3"), ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import fetch_flower17
    >>> data, y = fetch_flower17(return_X_y=True)  # doctest: +SKIP
    """
    if kind not in ("distances", "descriptors"):
        raise ValueError(f"kind must be 'distances' or 'descriptors', got {kind!r}")
    original = kind == "distances"

    def build(arrays: Arrays) -> LoadedData:
        names = DISTANCES if original else DESCRIPTORS
        return as_bunch(
            DESCR,
            {name: arrays[name] for name in names},
            arrays["y"],
            arrays["target_names"],
            splits=official_splits(arrays),
            kinds=dict.fromkeys(names, "distance") if original else None,
            return_X_y=return_X_y,
        )

    source = SOURCE if original else RECOMPUTED
    return load(source, source.folder, build, data_home, download_if_missing, progress)
