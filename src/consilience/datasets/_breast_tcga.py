"""TCGA breast cancer subtypes: three omics tables, one of them missing in the test part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from consilience.datasets._archives import find_file
from consilience.datasets._download import RemoteFile
from consilience.datasets._rdata import MIXOMICS, as_dict, read_factor, read_rda, read_table
from consilience.datasets._source import DatasetSource, DownloadRoute, load
from consilience.datasets._store import Arrays, LoadedData, as_bunch, leading_rows_split

__all__ = ["fetch_breast_tcga"]

DESCR = """TCGA breast cancer: subtypes Basal, Her2 and LumA of 220 tumours, three omics views.

mrna 200, mirna 184, protein 142 columns, a selection made for the mixOmics package.
splits["official"]: 150 training samples with all views and 70 test samples that lack protein.

A. Singh et al. (2019), DIABLO: an integrative approach for identifying key molecular drivers from
multi-omics assays, Bioinformatics 35(17); The Cancer Genome Atlas, open-access tier. Licence: that
of the mixOmics package, GPL (>= 2).
"""

VIEWS = ("mrna", "mirna", "protein")


def convert(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """The list ``breast.TCGA`` of R: tables of a training and a test part, and the subtypes."""
    parts = as_dict(read_rda(find_file(folder, "breast.TCGA.rda"))["breast.TCGA"])
    arrays: Arrays = {}
    for part, suffix in (("data.train", ""), ("data.test", "_test")):
        members = as_dict(parts[part])
        arrays[f"y{suffix}"], levels = read_factor(members["subtype"])
        _set_or_compare(arrays, "target_names", levels)
        for view in VIEWS:
            if view in members:
                values, samples, columns = read_table(members[view])
                arrays[f"{view}{suffix}"] = values.astype(np.float32)
                _set_or_compare(arrays, f"{view}_names", columns)
                _set_or_compare(arrays, f"sample_id{suffix}", samples)
    yield "breast_tcga", arrays


def _set_or_compare(arrays: Arrays, key: str, values: np.ndarray) -> None:
    """Set an array that all parts must have in common, in the same order."""
    if not np.array_equal(arrays.setdefault(key, values), values):
        raise ValueError(f"{key} are not the same in all parts")


SOURCE = DatasetSource(
    "breast_tcga",
    routes=(
        DownloadRoute(
            (RemoteFile("breast.TCGA.rda", (f"{MIXOMICS}/breast.TCGA.rda",)),),
            convert,
        ),
    ),
    rows={"breast_tcga": 150},
    digests={
        "breast_tcga": {
            "mrna": "eb6a50c3fb3e1154d669753da0daa94f22a4f4301da3e6e73ccf302762a587ac",
            "mirna": "cb24b58854442c3cee9e3d348ec2c4dab43bfe35985e6fe09024e96f2030b3bb",
            "protein": "d37f0333386dfec96f137c7e1e2fd0e437f3601b1d8902af7b69243b1d9a557c",
            "mrna_test": "5a1c3f59f0efe5a85294d5e6fa3b1af6d73512bb985b8bde03c03623228408f7",
            "mirna_test": "c61692c65b61e2c827d539d03ee17715204f827559508ab3c8eda00aa71a37ce",
        }
    },
)


def stack_test_rows(arrays: Arrays, view: str) -> np.ndarray:
    """Stack training and test rows; test rows are NaN if the test part lacks the view."""
    train, n_test = arrays[view], len(arrays["y_test"])
    lacking = np.full((n_test, train.shape[1]), np.nan, dtype=train.dtype)
    return np.vstack([train, arrays.get(f"{view}_test", lacking)])


def fetch_breast_tcga(
    *,
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Load TCGA breast cancer subtypes as three omics views.

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
        ``data`` (MultiViewData, 220 samples), ``target``, ``target_names``, ``splits``
        ("official"), ``feature_names``, ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import fetch_breast_tcga
    >>> data, y = fetch_breast_tcga(return_X_y=True)  # doctest: +SKIP
    """

    def build(arrays: Arrays) -> LoadedData:
        n_train, n = len(arrays["y"]), len(arrays["y"]) + len(arrays["y_test"])
        return as_bunch(
            DESCR,
            {view: stack_test_rows(arrays, view) for view in VIEWS},
            np.concatenate([arrays["y"], arrays["y_test"]]),
            arrays["target_names"],
            sample_ids=np.concatenate([arrays["sample_id"], arrays["sample_id_test"]]),
            splits=leading_rows_split(n_train, n),
            feature_names={view: arrays[f"{view}_names"] for view in VIEWS},
            return_X_y=return_X_y,
        )

    return load(SOURCE, "breast_tcga", build, data_home, download_if_missing, progress)
