"""TCGA breast cancer subtypes: three omics tables, one of them missing in the test part."""

from __future__ import annotations

import numpy as np

from consilience.datasets._store import Source, as_bunch, first_rows_split, load

__all__ = ["fetch_breast_tcga"]

DESCR = """TCGA breast cancer: subtypes Basal, Her2 and LumA of 220 tumours, three omics views.

mrna 200, mirna 184, protein 142 columns, a selection made for the mixOmics package.
splits["official"]: 150 training samples with all views and 70 test samples that lack protein.

A. Singh et al. (2019), DIABLO: an integrative approach for identifying key molecular drivers from
multi-omics assays, Bioinformatics 35(17); The Cancer Genome Atlas, open-access tier. Licence: that
of the mixOmics package, GPL (>= 2).
"""

VIEWS = ("mrna", "mirna", "protein")
SOURCE = Source("breast_tcga")


def with_test_rows(arrays, view):
    """Training rows above test rows; a view the test part lacks is NaN there."""
    train, n_test = arrays[view], len(arrays["y_test"])
    lacking = np.full((n_test, train.shape[1]), np.nan, dtype=train.dtype)
    return np.vstack([train, arrays.get(f"{view}_test", lacking)])


def fetch_breast_tcga(
    *,
    data_home=None,
    download_if_missing=True,
    progress=None,
    return_X_y=False,
):
    """Load TCGA breast cancer subtypes as three omics views.

    Parameters
    ----------
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
        ``data`` (MultiViewData, 220 samples), ``target``, ``target_names``, ``splits``
        ("official"), ``feature_names``, ``DESCR``.
    """

    def build(arrays):
        n_train, n = len(arrays["y"]), len(arrays["y"]) + len(arrays["y_test"])
        return as_bunch(
            DESCR,
            {view: with_test_rows(arrays, view) for view in VIEWS},
            np.concatenate([arrays["y"], arrays["y_test"]]),
            arrays["target_names"],
            sample_ids=np.concatenate([arrays["sample_id"], arrays["sample_id_test"]]),
            splits=first_rows_split(n_train, n),
            feature_names={view: arrays[f"{view}_names"] for view in VIEWS},
            return_X_y=return_X_y,
        )

    return load(SOURCE, "breast_tcga", build, data_home, download_if_missing, progress)
