"""MNIST as four quarters or four overlapping windows of the image."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from consilience.datasets._archives import find_file
from consilience.datasets._download import RemoteFile
from consilience.datasets._formats import read_arff, read_idx
from consilience.datasets._source import DatasetSource, DownloadRoute, load
from consilience.datasets._store import Arrays, LoadedData, as_bunch, leading_rows_split

__all__ = ["fetch_mnist_views"]

DESCR = """MNIST: 70 000 handwritten digits as four windows of the 28 x 28 image.

windows="quarters": four 14 x 14 quarters, the set MNIST_1 of Goyal et al. (2018). windows=16: the
16 x 16 windows in the four corners, which overlap by four pixels; the paper does not give the
window of its MNIST_2, and this one comes closest to its figures. Pixels are 0 … 255.
splits["official"]: 60 000 training and 10 000 test images (the paper draws its own 10 000).

Y. LeCun, L. Bottou, Y. Bengio, P. Haffner (1998), Gradient-based learning applied to document
recognition, Proceedings of the IEEE 86(11). Licence: commonly given as CC BY-SA 3.0.
"""

IMAGE_SIDE = 28
BASE_URLS = (
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
)
CHECKSUMS = {
    "train-images-idx3-ubyte": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}


def convert_idx(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """Read the four idx files and stack training and test images."""
    parts = [
        (read_idx(find_file(folder, images)), read_idx(find_file(folder, labels)))
        for images, labels in zip(list(CHECKSUMS)[::2], list(CHECKSUMS)[1::2], strict=True)
    ]
    (train, train_labels), (test, test_labels) = parts
    arrays: Arrays = {
        "X": np.concatenate([train, test]),
        "y": np.concatenate([train_labels, test_labels]),
        "n_train": np.int64(len(train)),
    }
    if arrays["X"].shape != (len(arrays["y"]), IMAGE_SIDE, IMAGE_SIDE):
        raise ValueError(f"images of shape {arrays['X'].shape} for {len(arrays['y'])} labels")
    yield "mnist", arrays


def convert_openml(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """Read the OpenML table: 784 pixels and the digit per row, training rows first."""
    rows = read_arff(find_file(folder, "mnist_784.arff"))
    images = rows[:, :-1].reshape(-1, IMAGE_SIDE, IMAGE_SIDE)
    yield "mnist", {"X": images, "y": rows[:, -1].copy(), "n_train": np.int64(60_000)}


SOURCE = DatasetSource(
    "mnist",
    routes=(
        DownloadRoute(
            tuple(
                RemoteFile(
                    f"{name}.gz",
                    tuple(f"{url}{name}.gz" for url in BASE_URLS),
                    f"sha256:{checksum}",
                )
                for name, checksum in CHECKSUMS.items()
            ),
            convert_idx,
        ),
        DownloadRoute(
            (
                RemoteFile(
                    "mnist_784.arff",
                    ("https://www.openml.org/data/v1/download/52667/mnist_784.arff",),
                    "md5:0298d579eb1b86163de7723944c7e495",
                ),
            ),
            convert_openml,
        ),
    ),
    rows={"mnist": 70_000},
    digests={
        "mnist": {
            "X": "70d290db2f689ee1677027791e697b791a27e44b4e63550d553a4f05212d69a2",
            "y": "f5f22146d70c111a227fc809109e67ca1402f586030a0954f49e0c461677c45e",
        }
    },
)


def corner_windows(images: np.ndarray, size: int) -> dict[str, np.ndarray]:
    """Flattened ``size`` x ``size`` windows in the four corners."""
    first, last = slice(0, size), slice(IMAGE_SIDE - size, IMAGE_SIDE)
    corners = {
        "top_left": (first, first),
        "top_right": (first, last),
        "bottom_left": (last, first),
        "bottom_right": (last, last),
    }
    n = len(images)
    return {name: images[:, rows, cols].reshape(n, -1) for name, (rows, cols) in corners.items()}


def fetch_mnist_views(
    *,
    windows: str | int = "quarters",
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Load MNIST as four views, each a window in one corner of the image.

    Parameters
    ----------
    windows : "quarters" or int, default="quarters"
        Side of the windows: "quarters" is 14, which cuts the image in four (MNIST_1 of Goyal et
        al. 2018); larger windows overlap, and 16 corresponds to their MNIST_2.
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
        ``data`` (MultiViewData, 70 000 samples), ``target``, ``target_names``, ``splits``
        ("official"), ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import fetch_mnist_views
    >>> data, y = fetch_mnist_views(return_X_y=True)  # doctest: +SKIP
    """
    size: Any = IMAGE_SIDE // 2 if windows == "quarters" else windows
    is_integer = isinstance(size, numbers.Integral) and not isinstance(size, bool)
    if not is_integer or not 1 <= size <= IMAGE_SIDE:
        raise ValueError(
            f"windows must be 'quarters' or a side length from 1 to {IMAGE_SIDE}, got {windows!r}"
        )

    def build(arrays: Arrays) -> LoadedData:
        return as_bunch(
            DESCR,
            corner_windows(arrays["X"], size),
            arrays["y"],
            [str(digit) for digit in range(10)],
            splits=leading_rows_split(int(arrays["n_train"]), len(arrays["y"])),
            return_X_y=return_X_y,
        )

    return load(SOURCE, "mnist", build, data_home, download_if_missing, progress)
