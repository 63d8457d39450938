"""Nutrimouse: genes and lipids of 40 mice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from consilience.datasets._archives import find_file
from consilience.datasets._download import RemoteFile
from consilience.datasets._rdata import MIXOMICS, as_dict, read_factor, read_rda, read_table
from consilience.datasets._source import DatasetSource, DownloadRoute, load
from consilience.datasets._store import Arrays, LoadedData, as_bunch

__all__ = ["fetch_nutrimouse"]

DESCR = """Nutrimouse: 40 mice of two genotypes on five diets, two views.

gene: expression of 120 genes in liver cells; lipid: percentages of 21 hepatic fatty acids.
target="genotype": wild type or without PPAR-alpha, 20 each. target="diet": five oils, eight each.
There is no official split.

P. G. P. Martin et al. (2007), Novel aspects of PPARα-mediated regulation of lipid and xenobiotic
metabolism revealed through a nutrigenomic study, Hepatology 45(3). Licence: that of the mixOmics
package, GPL (>= 2).
"""

VIEWS = ("gene", "lipid")
TARGETS = ("genotype", "diet")


def convert(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """The list ``nutrimouse`` of R: two tables and two factors."""
    members = as_dict(read_rda(find_file(folder, "nutrimouse.rda"))["nutrimouse"])
    arrays: Arrays = {}
    for view in VIEWS:
        values, _, columns = read_table(members[view])
        arrays |= {view: values.astype(np.float32), f"{view}_names": columns}
    for target in TARGETS:
        arrays[target], arrays[f"{target}_names"] = read_factor(members[target])
    yield "nutrimouse", arrays


SOURCE = DatasetSource(
    "nutrimouse",
    routes=(
        DownloadRoute(
            (RemoteFile("nutrimouse.rda", (f"{MIXOMICS}/nutrimouse.rda",)),),
            convert,
        ),
    ),
    digests={
        "nutrimouse": {
            "gene": "cadb7a0679bd6bc82904d0644cfc92d29ac1342addaa660786ed7ed92238640b",
            "lipid": "fa351fbb56cb1006705c908679efdf294e59762a37f6f2b7530afd0bdbaf56ba",
        }
    },
)


def fetch_nutrimouse(
    *,
    target: str = "genotype",
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Load genes and lipids of 40 mice as two views.

    Parameters
    ----------
    target : {"genotype", "diet"}, default="genotype"
        What to predict.
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
        ``data`` (MultiViewData, 40 samples), ``target``, ``target_names``, ``splits`` (none are
        official: empty), ``feature_names``, ``sample_info`` (both targets), ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import fetch_nutrimouse
    >>> data, y = fetch_nutrimouse(return_X_y=True)  # doctest: +SKIP
    """
    if target not in TARGETS:
        raise ValueError(f"target must be 'genotype' or 'diet', got {target!r}")

    def build(arrays: Arrays) -> LoadedData:
        return as_bunch(
            DESCR,
            {view: arrays[view] for view in VIEWS},
            arrays[target],
            arrays[f"{target}_names"],
            feature_names={view: arrays[f"{view}_names"] for view in VIEWS},
            sample_info={key: arrays[key] for key in TARGETS},
            return_X_y=return_X_y,
        )

    return load(SOURCE, "nutrimouse", build, data_home, download_if_missing, progress)
