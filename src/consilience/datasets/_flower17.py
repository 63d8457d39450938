"""Oxford Flower17: images by seven distances, or by seven descriptors."""

from __future__ import annotations

import numpy as np

from consilience.datasets._store import Source, as_bunch, load

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
PARTS = {"train": "trn", "validation": "val", "test": "tst"}
SOURCE = Source("flower17")
RECOMPUTED = Source("flower17_recomputed")


def official_splits(arrays):
    """Three times training, validation and test rows."""
    return {
        str(number): {part: arrays[f"{key}{number}"].astype(np.intp) for part, key in PARTS.items()}
        for number in (1, 2, 3)
    }


def fetch_flower17(
    *,
    kind="distances",
    data_home=None,
    download_if_missing=True,
    progress=None,
    return_X_y=False,
):
    """Load Flower17 as seven views.

    Parameters
    ----------
    kind : {"distances", "descriptors"}, default="distances"
        The published distance matrices, or descriptors computed afresh from the images.
    data_home : path, optional
        Folder of the data sets; by default ``CONSILIENCE_DATA`` or the user's cache.
    download_if_missing : bool, default=True
        Whether a set that is not in the folder may be downloaded.
    progress : bool, optional
        Whether a download shows a progress bar; by default where it can be seen.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data`` (MultiViewData, 1 360 samples), ``target``, ``target_names``, ``splits``
        ("1", "2", "3"), ``DESCR``.
    """
    if kind not in ("distances", "descriptors"):
        raise ValueError(f"kind must be 'distances' or 'descriptors', got {kind!r}")
    original = kind == "distances"

    def build(arrays):
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
