"""UCI Multiple Features: six representations of handwritten digits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from consilience.datasets._archives import find_file
from consilience.datasets._download import RemoteFile
from consilience.datasets._source import DatasetSource, DownloadRoute, load
from consilience.datasets._store import Arrays, LoadedData, as_bunch

__all__ = ["fetch_mfeat"]

DESCR = """Multiple Features: 2 000 handwritten digits, 200 of each class, in six representations.

fou: 76 Fourier coefficients of the outline; fac: 216 profile correlations; kar: 64 Karhunen-Loève
coefficients; pix: 240 averages of 2 x 3 pixels; zer: 47 Zernike moments; mor: 6 morphological
features. Rows are sorted by class; there is no official split.

M. van Breukelen, R. P. W. Duin, D. M. J. Tax, J. E. den Hartog (1998), Handwritten digit
recognition by combined classifiers, Kybernetika 34(4). UCI Machine Learning Repository, id 72, doi
10.24432/C5HC70. Licence: CC BY 4.0.
"""

VIEWS = {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}
INTEGER_VIEWS = ("fac", "pix")
CHECKSUMS = {
    "mfeat-fou": "d2bed48a4d302efe77bd80d52e16a211e99efe6fee9baf1c28dcc199c43c50ad",
    "mfeat-fac": "83be9bc9fd50c6dd0b0532f6b6101956f1cf51c71b33f22d3f0cd2b5befb31b5",
    "mfeat-kar": "db832668544497d0c06a2c1d1bfa0e17ba672812b7cfa6ed19f0941e19e1d7fa",
    "mfeat-pix": "70a1cd033add46614464a8740ddc23c3693765985bde52ccb6b702bff23b64f1",
    "mfeat-zer": "d4a0e302f2f61e823b906f78818c7c0ef078c0bbc23022affd6607d60ecfe4f3",
    "mfeat-mor": "8767b326d874f096de06d525a2df4e610f4e9dfe91e29c250d8a3054907e3b61",
}


def convert(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """Read six tables without a header; all classes have the same size, class 0 comes first."""
    arrays: Arrays = {}
    for name, width in VIEWS.items():
        values = np.loadtxt(find_file(folder, f"mfeat-{name}"), ndmin=2)
        if values.shape[1] != width:
            raise ValueError(f"mfeat-{name} has {values.shape[1]} columns instead of {width}")
        arrays[name] = values.astype(np.int16) if name in INTEGER_VIEWS else values
    lengths = {len(values) for values in arrays.values()}
    if len(lengths) != 1 or min(lengths) % 10:
        raise ValueError(f"the tables have {lengths} rows")
    yield "mfeat", {"y": np.repeat(np.arange(10, dtype=np.uint8), lengths.pop() // 10), **arrays}


SOURCE = DatasetSource(
    "mfeat",
    routes=(
        DownloadRoute(
            (
                RemoteFile(
                    "mfeat.zip",
                    ("https://archive.ics.uci.edu/static/public/72/multiple+features.zip",),
                ),
            ),
            convert,
            members={name: f"sha256:{checksum}" for name, checksum in CHECKSUMS.items()},
        ),
    ),
    rows={"mfeat": 2_000},
    digests={
        "mfeat": {
            "fac": "eadd1097577adae8712d7aba4d7c495b52e0a2c81f74fbfaf928e90d80526dbf",
            "pix": "865d1c62bcc169ef5b5a7487eb2ffcbfa5aaf6195e649ab307c64c1d56eff33d",
        }
    },
)


def fetch_mfeat(
    *,
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Load the UCI Multiple Features digits as six views.

    Parameters
    ----------
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
        ``data`` (MultiViewData, 2 000 samples), ``target``, ``target_names``, ``splits`` (none are
        official: empty), ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import fetch_mfeat
    >>> data, y = fetch_mfeat(return_X_y=True)  # doctest: +SKIP
    """

    def build(arrays: Arrays) -> LoadedData:
        return as_bunch(
            DESCR,
            {name: arrays[name] for name in VIEWS},
            arrays["y"],
            [str(digit) for digit in range(10)],
            return_X_y=return_X_y,
        )

    return load(SOURCE, "mfeat", build, data_home, download_if_missing, progress)
