"""MNIST as four quarters or four overlapping windows of the image."""

from __future__ import annotations

import numbers

from consilience.datasets._store import Source, as_bunch, first_rows_split, load

__all__ = ["fetch_mnist_views"]

DESCR = """MNIST: 70 000 handwritten digits as four windows of the 28 x 28 image.

windows="quarters": four 14 x 14 quarters, the set MNIST_1 of Goyal et al. (2018). windows=16: the
16 x 16 windows in the four corners, which overlap by four pixels; the paper does not give the
window of its MNIST_2, and this one comes closest to its figures. Pixels are 0 … 255.
splits["official"]: 60 000 training and 10 000 test images (the paper draws its own 10 000).

Y. LeCun, L. Bottou, Y. Bengio, P. Haffner (1998), Gradient-based learning applied to document
recognition, Proceedings of the IEEE 86(11). Licence: commonly given as CC BY-SA 3.0.
"""

SIDE = 28
SOURCE = Source("mnist")


def corner_windows(images, size):
    """The ``size`` x ``size`` windows in the four corners, flattened."""
    first, last = slice(0, size), slice(SIDE - size, SIDE)
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
    windows="quarters",
    data_home=None,
    download_if_missing=True,
    progress=None,
    return_X_y=False,
):
    """Load MNIST as four views, each a window in one corner of the image.

    Parameters
    ----------
    windows : "quarters" or int, default="quarters"
        Side of the windows: "quarters" is 14, which cuts the image in four (MNIST_1 of Goyal et
        al. 2018); larger windows overlap, 16 stands for their MNIST_2.
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
        ``data`` (MultiViewData, 70 000 samples), ``target``, ``target_names``, ``splits``
        ("official"), ``DESCR``.
    """
    size = SIDE // 2 if windows == "quarters" else windows
    if not isinstance(size, numbers.Integral) or isinstance(size, bool) or not 1 <= size <= SIDE:
        raise ValueError(f"windows must be 'quarters' or a side from 1 to {SIDE}, got {windows!r}")

    def build(arrays):
        return as_bunch(
            DESCR,
            corner_windows(arrays["X"], size),
            arrays["y"],
            [str(digit) for digit in range(10)],
            splits=first_rows_split(int(arrays["n_train"]), len(arrays["y"])),
            return_X_y=return_X_y,
        )

    return load(SOURCE, "mnist", build, data_home, download_if_missing, progress)
