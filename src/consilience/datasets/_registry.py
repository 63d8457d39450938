"""Data sets by name, as used by ``consilience datasets``, ``fetch``, ``compare`` and ``bench``.

Downloads are verified by a checksum of the original file, of the files in its archive or of the
arrays made from it. No checksum is known of the originals of uwave, reuters, reuters-1200 and the
distance matrices of flower17, which nobody publishes: their first download is trusted, and later
ones must agree with it (``first-use.sha256`` in the folder of the data set).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sklearn.utils import Bunch

from consilience.datasets._ads import fetch_ads
from consilience.datasets._breast_tcga import fetch_breast_tcga
from consilience.datasets._course import fetch_course
from consilience.datasets._digits import load_digits_views
from consilience.datasets._flower17 import fetch_flower17
from consilience.datasets._further import load_further
from consilience.datasets._mfeat import fetch_mfeat
from consilience.datasets._mnist import fetch_mnist_views
from consilience.datasets._nutrimouse import fetch_nutrimouse
from consilience.datasets._reuters import fetch_reuters_multilingual
from consilience.datasets._store import DatasetError, data_folder
from consilience.datasets._ujiindoorloc import fetch_ujiindoorloc
from consilience.datasets._uwave import fetch_uwave

__all__ = ["DATASETS", "Dataset", "available", "load_dataset"]


@dataclass(frozen=True)
class Dataset:
    """A named data set: a loader and its settings.

    Examples
    --------
    >>> from consilience.datasets import DATASETS
    >>> DATASETS["digits"].file is None  # part of scikit-learn, nothing is downloaded
    True
    """

    name: str
    summary: str
    loader: Callable[..., Any]
    settings: dict[str, Any] = field(default_factory=dict)
    file: str | None = None  # below the folder of data sets; None for bundled ones

    def is_available(self, data_home: str | os.PathLike | None = None) -> bool:
        """Whether the data set can be loaded without a download."""
        if self.file is None:
            return True
        try:
            return (data_folder(data_home) / self.file).is_file()
        except DatasetError:  # there is no folder of data sets
            return False

    def load(self, **options: Any) -> Bunch:
        """Load it; ``options`` are ``data_home``, ``download_if_missing`` and ``progress``."""
        return self.loader(**self.settings, **(options if self.file else {}))


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset("digits", "four quarters of 8 x 8 digits", load_digits_views),
        Dataset(
            "digits-features",
            "five representations of 8 x 8 digits",
            load_digits_views,
            {"kind": "features"},
        ),
        Dataset(
            "mnist-1",
            "MNIST, four quarters of 28 x 28 digits",
            fetch_mnist_views,
            {"windows": "quarters"},
            "mnist/mnist.npz",
        ),
        Dataset(
            "mnist-2",
            "MNIST, four overlapping windows of 16 x 16",
            fetch_mnist_views,
            {"windows": 16},
            "mnist/mnist.npz",
        ),
        Dataset(
            "reuters",
            "English news and translations, five languages",
            fetch_reuters_multilingual,
            {"subset": "full"},
            "reuters_multilingual/reuters_en.npz",
        ),
        Dataset(
            "reuters-all",
            "news of all five languages and their translations, 111 740 documents",
            fetch_reuters_multilingual,
            {"subset": "full", "source": "all"},
            "reuters_multilingual/reuters_sp.npz",
        ),
        Dataset(
            "reuters-1200",
            "sample of 1200 news, 2000 words per language",
            fetch_reuters_multilingual,
            {"subset": "1200"},
            "reuters_multilingual/reuters1200.npz",
        ),
        Dataset(
            "reuters-600",
            "sample of 600 news, all words",
            fetch_reuters_multilingual,
            {"subset": "600"},
            "reuters_multilingual/reuters600.npz",
        ),
        Dataset(
            "uwave", "gestures, three axes of acceleration", fetch_uwave, {}, "uwave/uwave.npz"
        ),
        Dataset(
            "flower17",
            "flowers, seven published distance matrices",
            fetch_flower17,
            {"kind": "distances"},
            "flower17/flower17.npz",
        ),
        Dataset(
            "flower17-descriptors",
            "flowers, seven recomputed descriptors",
            fetch_flower17,
            {"kind": "descriptors"},
            "flower17_recomputed/flower17_recomputed.npz",
        ),
        Dataset(
            "course",
            "course web pages, 500 page and 82 link words",
            fetch_course,
            {"kind": "reduced"},
            "course/course_bow.npz",
        ),
        Dataset(
            "course-counts",
            "course web pages, counts of all words",
            fetch_course,
            {"kind": "counts"},
            "course/course_bow.npz",
        ),
        Dataset(
            "ads",
            "images on web pages, 587 image and 967 link words",
            fetch_ads,
            {"views": "paper"},
            "ads/ads.npz",
        ),
        Dataset(
            "ads-groups",
            "images on web pages, six groups of columns, some missing",
            fetch_ads,
            {"views": "groups"},
            "ads/ads.npz",
        ),
        Dataset(
            "indoor",
            "Wi-Fi fingerprints, buildings 0 and 1 against 2",
            fetch_ujiindoorloc,
            {"task": "indoor"},
            "ujiindoorloc/ujiindoorloc.npz",
        ),
        Dataset(
            "indoor-subset",
            "Wi-Fi fingerprints, building 0 against 1",
            fetch_ujiindoorloc,
            {"task": "indoor_subset"},
            "ujiindoorloc/ujiindoorloc.npz",
        ),
        Dataset(
            "indoor-floor",
            "Wi-Fi fingerprints, five floors",
            fetch_ujiindoorloc,
            {"task": "floor"},
            "ujiindoorloc/ujiindoorloc.npz",
        ),
        Dataset("mfeat", "digits in six representations", fetch_mfeat, {}, "mfeat/mfeat.npz"),
        Dataset(
            "breast-tcga",
            "tumours, three omics tables, one missing at test",
            fetch_breast_tcga,
            {},
            "breast_tcga/breast_tcga.npz",
        ),
        Dataset(
            "nutrimouse",
            "mice, genes and lipids, genotype",
            fetch_nutrimouse,
            {"target": "genotype"},
            "nutrimouse/nutrimouse.npz",
        ),
        Dataset(
            "nutrimouse-diet",
            "mice, genes and lipids, diet",
            fetch_nutrimouse,
            {"target": "diet"},
            "nutrimouse/nutrimouse.npz",
        ),
        *(
            Dataset(name, summary, load_further, {"name": name}, f"more/{name}.npz")
            for name, summary in (
                ("acm", "papers: text, authors, terms"),
                ("adult", "census income as three tables"),
                ("basicmotions", "activities by six motion sensors"),
                ("landuse21", "aerial images: GIST, PHOG, LBP"),
                ("ngs", "newsgroups in three preprocessings"),
                ("prokaryotic", "species: genes, proteome, text"),
                ("rosmap", "Alzheimer's disease: three omics tables"),
                ("threesources", "news in three newspapers"),
                ("webkb203", "web pages: text, anchors, links"),
            )
        ),
    )
}


def available(data_home: str | os.PathLike | None = None) -> list[str]:
    """Names of the data sets that can be loaded without a download.

    Parameters
    ----------
    data_home : path, optional
        Folder of the data sets; by default ``CONSILIENCE_DATA`` or the user's cache.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from consilience.datasets import available
    >>> "digits" in available()
    True
    """
    return [name for name, dataset in DATASETS.items() if dataset.is_available(data_home)]


def load_dataset(
    name: str,
    *,
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
) -> Bunch:
    """Load a data set by its name in ``DATASETS``.

    Parameters
    ----------
    name : str
        One of the names that ``consilience datasets`` lists.
    data_home : path, optional
        Folder of the data sets; by default ``CONSILIENCE_DATA`` or the user's cache.
    download_if_missing : bool, default=True
        Whether to download the data set if it is not in the folder.
    progress : bool, optional
        Whether to show a progress bar; by default if standard error is a terminal.

    Returns
    -------
    Bunch
        ``data``, ``target``, ``target_names``, ``splits``, ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import load_dataset
    >>> load_dataset("digits").data.shape
    (1797, 64)
    """
    if name not in DATASETS:
        raise ValueError(f"unknown data set {name!r}; known are {', '.join(DATASETS)}")
    return DATASETS[name].load(
        data_home=data_home, download_if_missing=download_if_missing, progress=progress
    )
