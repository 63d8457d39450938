"""Further multi-view sets of the evidence for the default classifier, read from a local folder."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from consilience.datasets._source import DatasetSource, load
from consilience.datasets._store import Arrays, LoadedData, as_bunch, sparse_view

__all__ = ["FURTHER", "load_further"]

# what each set is, its source, and the repository that the file was made from
FURTHER = {
    "acm": (
        "Papers in three fields of computer science: text, authors and terms; sparse. "
        "X. Wang et al. (2019), Heterogeneous graph attention network, WWW; "
        "ACM.mat of ChuanbinZhang/Multi-view-datasets. Licence: none stated."
    ),
    "adult": (
        "Census income, above or below 50 000 dollars, as three tables. R. Kohavi (1996), Scaling "
        "up the accuracy of naive-Bayes classifiers, KDD (published again by UCI in 2017). "
        "Licence: CC BY 4.0."
    ),
    "basicmotions": (
        "Four activities by six motion sensors, with an official split. A. Bagnall et al. (2018), "
        "The UEA multivariate time series classification archive. Licence: none stated."
    ),
    "landuse21": (
        "Aerial images of 21 kinds of land: GIST, PHOG, LBP. Y. Yang, S. Newsam (2010), "
        "Bag-of-visual-words and spatial extensions for land-use classification, GIS; "
        "LandUse-21.mat of XLearning-SCU/2021-CVPR-Completer. Licence: none stated."
    ),
    "ngs": (
        "News of five newsgroups in three preprocessings; sparse. S. F. Hussain, G. Bisson, "
        "C. Grimal (2010), An improved co-similarity measure for document clustering, ICMLA; "
        "NGs.mat of xiyu1007/Multi-view-datasets. Licence: none stated."
    ),
    "prokaryotic": (
        "Prokaryotic species: gene repertoire, proteome, text. M. Brbić et al. (2016), The "
        "landscape of microbial phenotypic traits and associated genes, NAR 44; "
        "Prokaryotic.mat of kissbee/MCPL. Licence: none stated."
    ),
    "rosmap": (
        "Alzheimer's disease against controls: mRNA, methylation, miRNA, with an official split. "
        "T. Wang et al. (2021), MOGONET, Nature Communications 12 (data of P. L. De Jager et al., "
        "2018); txWang/MOGONET. Licence: none stated."
    ),
    "threesources": (
        "News of six topics in three newspapers; sparse. D. Greene, P. Cunningham (2009), A "
        "matrix factorization approach for integrating multiple data views, ECML; 3Sources.mat of "
        "ChuanbinZhang/Multi-view-datasets. Licence: non-commercial research."
    ),
    "webkb203": (
        "Web pages of four kinds: text, anchors, links; sparse. M. Craven et al. (1998), Learning "
        "to extract symbolic knowledge from the World Wide Web, AAAI; WebKB_clean.mat of "
        "alcs417/MvC. Licence: none stated."
    ),
}
SOURCE = DatasetSource("more")


def read_views(arrays: Arrays) -> dict[str, Any]:
    """Views v0, v1, …: dense arrays, or the parts of CSR matrices."""
    names = sorted({key.split("_")[0] for key in arrays if key[0] == "v"})
    return {name: arrays[name] if name in arrays else sparse_view(arrays, name) for name in names}


def load_further(
    *,
    name: str,
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Load one of the sets in ``FURTHER``, which cannot be downloaded.

    Parameters
    ----------
    name : str
        Name of the set, the stem of its file in the folder ``more``.
    data_home : path, optional
        Folder of the data sets; by default ``CONSILIENCE_DATA`` or the user's cache.
    download_if_missing, progress
        Have no effect.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data``, ``target`` (0 … K − 1), ``target_names``, ``splits`` ("official", if there is
        one), ``DESCR``.
    """

    def build(arrays: Arrays) -> LoadedData:
        official = {"train": arrays["tr"], "test": arrays["te"]} if "tr" in arrays else None
        return as_bunch(
            FURTHER[name],
            read_views(arrays),
            arrays["y"],
            [str(k) for k in np.unique(arrays["y"])],
            splits={"official": official} if official else None,
            return_X_y=return_X_y,
        )

    return load(SOURCE, name, build, data_home, download_if_missing, progress)
