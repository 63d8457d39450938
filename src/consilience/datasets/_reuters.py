"""Reuters RCV1/RCV2 multilingual: news in five languages."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.io import mmread

from consilience.datasets._archives import find_file
from consilience.datasets._download import RemoteFile
from consilience.datasets._formats import has_word_zero, read_labelled_words
from consilience.datasets._source import DatasetSource, DownloadRoute, load
from consilience.datasets._store import Arrays, LoadedData, as_bunch, sparse_parts, sparse_view

__all__ = ["fetch_reuters_multilingual"]

# an argument of SciPy from 1.15 on, whose default is going to change
AS_ARRAY = {"spmatrix": False} if "spmatrix" in inspect.signature(mmread).parameters else {}

DESCR = """Reuters RCV1/RCV2 multilingual: news and their translations, one view per language.

Bags of words in English (EN), French (FR), German (GR), Italian (IT) and Spanish (SP), six
classes.
subset="full": all stories written in the language ``source``, translated to the other four
(English 18 758, French 26 648, German 29 953, Italian 24 039, Spanish 12 342); source="all" are
all 111 740 of them, one language after the other.
subset="1200": a balanced sample of 1 200 English stories with 2 000 words per language, as
published by Grimal (2012). Copies without names call the views view1 … view5; their order is
probably EN, FR, GR, IT, SP, and their classes are numbered.
subset="600": a balanced sample of 600 English stories with the words and weights of the
collection; its classes are numbered. It cannot be downloaded, only be read from a folder that has
it.
There is no official split; Goyal et al. (2018) keep 30 % of the stories to test.

M.-R. Amini, N. Usunier, C. Goutte (2009), Learning from multiple partially observed views, NIPS
22; sample: G. Bisson, C. Grimal (2012). UCI Machine Learning Repository, id 259, doi
10.24432/C5FS3V. Licence: CC BY 4.0 as stated by UCI; the distributors ask for research use only.
"""

# number of words of each language
LANGUAGES = {"EN": 21_531, "FR": 24_893, "GR": 34_279, "IT": 15_506, "SP": 11_547}
DOCUMENTS = {"EN": 18_758, "FR": 26_648, "GR": 29_953, "IT": 24_039, "SP": 12_342}
FOLDER = "reuters_multilingual"


def convert_full(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """Read files ``Index_EN-FR``: English stories in French, a class and index:value pairs."""
    files = {
        (source, language): find_file(folder, f"Index_{source}-{language}")
        for source in LANGUAGES
        for language in LANGUAGES
    }
    zero_based = any(has_word_zero(path) for path in files.values())
    for source in LANGUAGES:
        arrays: Arrays = {}
        classes: Any = None
        for language, n_words in LANGUAGES.items():
            path = files[source, language]
            words, labels = read_labelled_words(path, n_words, zero_based)
            if classes is not None and not np.array_equal(labels, classes):
                raise ValueError(f"{path.name} has different classes from the other languages")
            classes = labels
            arrays |= sparse_parts(language, words)
        names, codes = np.unique(classes, return_inverse=True)
        yield (
            f"reuters_{source.lower()}",
            {"y": codes.astype(np.uint8), "target_names": names, **arrays},
        )


def convert_sample(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """Read the first of several samples, in Matrix Market files ``reutersEN_1_FR.mtx``."""
    labels = find_file(folder, "labels.txt").read_text(encoding="utf-8").split()
    codes = np.array(find_file(folder, "reutersEN_act.txt").read_text(encoding="ascii").split())
    first = min(path.name for path in folder.rglob("reutersEN_*_EN.mtx"))
    arrays: Arrays = {}
    for language in LANGUAGES:
        name = first.replace("_EN.mtx", f"_{language}.mtx")
        words = sp.csr_array(mmread(find_file(folder, name), **AS_ARRAY), dtype=np.float32)
        if words.shape[0] != len(codes):
            raise ValueError(f"{name} has {words.shape[0]} documents for {len(codes)} classes")
        arrays |= sparse_parts(language, words)
    numbers, codes = np.unique(codes.astype(int), return_inverse=True)
    if len(numbers) != len(labels):
        raise ValueError(f"{len(numbers)} classes for {len(labels)} names")
    yield (
        "reuters1200",
        {"y": codes.astype(np.uint8), "target_names": np.array(labels), **arrays},
    )


SOURCES = {
    "full": DatasetSource(
        FOLDER,
        routes=(
            DownloadRoute(
                (
                    RemoteFile(
                        "reuters.zip",
                        (
                            "https://archive.ics.uci.edu/static/public/259/reuters+rcv1+rcv2+multilingual"
                            "+multiview+text+categorization+test+collection.zip",
                        ),
                        trust_first_use=True,
                    ),
                ),
                convert_full,
            ),
        ),
        rows={f"reuters_{source.lower()}": n for source, n in DOCUMENTS.items()},
    ),
    "1200": DatasetSource(
        FOLDER,
        routes=(
            DownloadRoute(
                (
                    RemoteFile(
                        "ReutersEN.tar.gz",
                        ("https://lig-membres.imag.fr/grimal/data/ReutersEN.tar.gz",),
                        trust_first_use=True,
                    ),
                ),
                convert_sample,
            ),
        ),
        rows={"reuters1200": 1_200},
    ),
    "600": DatasetSource(FOLDER),
}


def view_names(arrays: Arrays) -> list[str]:
    """Names of the views that are stored as CSR matrices, in the order of the file."""
    return [key.removesuffix("_indptr") for key in arrays if key.endswith("_indptr")]


def fetch_reuters_multilingual(
    *,
    subset: str = "full",
    source: str = "EN",
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Load the multilingual Reuters news as five sparse views, one for each language.

    Parameters
    ----------
    subset : {"full", "1200", "600"}, default="full"
        The whole collection, or a balanced sample of English stories.
    source : {"EN", "FR", "GR", "IT", "SP", "all"}, default="EN"
        The language in which the stories were written, or the stories of all five languages; the
        samples have English ones only.
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
        ``data`` (MultiViewData, 5 sparse views), ``target``, ``target_names``, ``splits`` (none are
        official: empty), ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import fetch_reuters_multilingual
    >>> data, y = fetch_reuters_multilingual(return_X_y=True)  # doctest: +SKIP
    """
    place = data_home, download_if_missing, progress
    subset = str(subset)
    if subset not in SOURCES:
        raise ValueError(f"subset must be 'full', '1200' or '600', got {subset!r}")
    if source not in (*LANGUAGES, "all"):
        raise ValueError(f"source must be one of {', '.join(LANGUAGES)} or 'all', got {source!r}")
    if subset != "full" and source != "EN":
        raise ValueError(f"subset {subset!r} has stories written in English (EN) only")
    if source == "all":
        parts = [
            load(SOURCES["full"], f"reuters_{part.lower()}", dict, *place) for part in LANGUAGES
        ]
        return _bunch(stack_sources(parts), return_X_y)
    stem = f"reuters_{source.lower()}" if subset == "full" else f"reuters{subset}"
    return load(SOURCES[subset], stem, lambda arrays: _bunch(arrays, return_X_y), *place)


def stack_sources(parts: list[Arrays]) -> Arrays:
    """Stack the stories of several languages; their classes must have the same names."""
    names = parts[0]["target_names"]
    if any(not np.array_equal(part["target_names"], names) for part in parts):
        raise ValueError("the stories of different languages have different classes")
    arrays: Arrays = {"y": np.concatenate([part["y"] for part in parts]), "target_names": names}
    for language in view_names(parts[0]):
        words = sp.vstack([sparse_view(part, language) for part in parts], format="csr")
        arrays |= sparse_parts(language, sp.csr_array(words))
    return arrays


def _bunch(arrays: Arrays, return_X_y: bool) -> LoadedData:
    numbered = [f"class {code}" for code in range(6)]
    return as_bunch(
        DESCR,
        {name: sparse_view(arrays, name) for name in view_names(arrays)},
        arrays["y"],
        arrays.get("target_names", np.array(numbered)),
        return_X_y=return_X_y,
    )
