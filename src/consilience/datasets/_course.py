"""WebKB course pages: the words of a page and of the links that lead to it."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from consilience.datasets._download import RemoteFile
from consilience.datasets._source import DatasetSource, DownloadRoute, load
from consilience.datasets._store import Arrays, LoadedData, as_bunch, sparse_parts, sparse_view

__all__ = ["fetch_course"]

DESCR = """WebKB course: 1 051 web pages of computer science departments, 230 about a course.

Two views: fulltext, the page itself; inlinks, the text of the links that lead to it.
kind="reduced": tf-idf of unit length of the 500 and 82 words that most pages have. Mao and Sun
(2016) have as many, but do not say how they chose them; frequencies are taken over all pages.
kind="counts": counts of all words (16 916 and 1 875), no stop list, no stemming.
kind="text": the HTML documents as strings, for a vectoriser of your own.
kind="tfidf": the tf-idf matrices (3 000 and 1 840 words) that circulate with code for multi-view
clustering, rows in an order of their own. They cannot be downloaded, only be read from a folder
that has them.
There is no official split; Mao and Sun train on half, choose on a quarter, test on a quarter.

A. Blum, T. Mitchell (1998), Combining labeled and unlabeled data with co-training, COLT; CMU World
Wide Knowledge Base project. Licence: none stated, public for research.
"""

VIEWS = ("fulltext", "inlinks")
FILE_STEMS = {
    "reduced": "course_bow",
    "counts": "course_bow",
    "text": "course_raw",
    "tfidf": "course_tfidf",
}
CLASS_CODES = {"course": 1, "non-course": 0}
MARKUP = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)
WORD = re.compile(r"[a-z][a-z0-9]+")


def extract_words(page: str) -> list[str]:
    """Words of an HTML page in lower case: a letter followed by at least one character."""
    return WORD.findall(html.unescape(MARKUP.sub(" ", page)).lower())


def count_words(pages: list[str]) -> tuple[sp.csr_array, np.ndarray]:
    """Counts of all words in the pages, and the words in alphabetical order."""
    counter = CountVectorizer(analyzer=extract_words, dtype=np.int16)
    counts = sp.csr_array(counter.fit_transform(pages))
    return counts, counter.get_feature_names_out().astype("S")


def convert(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """Read files ``fulltext/course/http:^^…``: view, class, and the address of the page."""
    pages: dict[str, dict[tuple[int, str], bytes]] = {view: {} for view in VIEWS}
    for path in folder.rglob("*"):
        view, kind = path.parts[-3], path.parts[-2]
        if path.is_file() and view in pages and kind in CLASS_CODES:
            pages[view][1 - CLASS_CODES[kind], unquote(path.name)] = path.read_bytes()
    order = sorted(pages["fulltext"])
    if not order or order != sorted(pages["inlinks"]):
        raise ValueError("the two views do not have the same pages")
    common = {
        "y": np.array([1 - other for other, _ in order], dtype=np.uint8),
        "target_names": np.array(["non-course", "course"]),
    }
    raw = {"sample_id": np.array([name for _, name in order])}
    counts: Arrays = {}
    for view in VIEWS:
        contents = [pages[view][key] for key in order]
        raw[f"{view}_bytes"] = np.frombuffer(b"".join(contents), dtype=np.uint8)
        raw[f"{view}_offsets"] = np.cumsum([0, *map(len, contents)], dtype=np.int64)
        matrix, words = count_words([content.decode("latin-1") for content in contents])
        counts |= sparse_parts(view, matrix) | {f"{view}_vocabulary": words}
    yield "course_raw", {**common, **raw}
    yield "course_bow", {**common, **counts}


SOURCE = DatasetSource(
    "course",
    routes=(
        DownloadRoute(
            (
                RemoteFile(
                    "course-cotrain-data.tar.gz",
                    (
                        "https://www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-51/www/co-training/data/"
                        "course-cotrain-data.tar.gz",
                    ),
                    "sha256:1f0d9d7f55c90754e7581272d67613e7c358323e44e2b84c438bed063653e7db",
                ),
            ),
            convert,
        ),
    ),
    rows={"course_raw": 1_051, "course_bow": 1_051},
    digests={
        "course_raw": {
            "y": "e43c2405b8ed551550072820cbfdebd7dbf956612ccd154fb30fa14f82e81509",
            "fulltext_bytes": "d583f340682863a4ea99338309731feffbedf816695e4aac4a62ec1aa9ae3437",
            "inlinks_bytes": "db089bc8de037aad3df2d3ca4d90f3e68e251b4218340e675438cd2ad915ad14",
        }
    },
)
TFIDF = DatasetSource("course")


def most_frequent(counts: sp.csr_array, width: int) -> np.ndarray:
    """Indices of the columns with the most non-zero rows; ties go to the first."""
    return np.argsort(-np.bincount(counts.indices, minlength=counts.shape[1]), kind="stable")[
        :width
    ]


def documents(arrays: Arrays, view: str) -> np.ndarray:
    """The pages of a view as strings."""
    text, ends = arrays[f"{view}_bytes"].tobytes(), arrays[f"{view}_offsets"]
    return np.array([text[a:b].decode("latin-1") for a, b in pairwise(ends)], dtype=object)


def build_views(
    kind: str, arrays: Arrays, widths: tuple[int, int]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Views and the names of their columns."""
    if kind == "text":
        return {view: documents(arrays, view) for view in VIEWS}, {}
    if kind == "tfidf":
        return {view: sparse_view(arrays, view) for view in ("page", "link")}, {}
    views = {view: sparse_view(arrays, view) for view in VIEWS}
    words = {view: arrays[f"{view}_vocabulary"].astype(str) for view in VIEWS}
    if kind == "reduced":
        for view, width in zip(VIEWS, widths, strict=True):
            chosen = most_frequent(views[view], width)
            views[view] = sp.csr_array(TfidfTransformer().fit_transform(views[view][:, chosen]))
            words[view] = words[view][chosen]
    return views, words


def fetch_course(
    *,
    kind: str = "reduced",
    widths: tuple[int, int] = (500, 82),
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Load the WebKB course pages as two text views.

    Parameters
    ----------
    kind : {"reduced", "counts", "text", "tfidf"}, default="reduced"
        Which form of the pages; see ``DESCR``.
    widths : pair of int, default=(500, 82)
        Number of words kept of each view by ``kind="reduced"``.
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
        ``data`` (MultiViewData, 1 051 samples), ``target`` (1 = course), ``target_names``,
        ``splits`` (empty: there is no official one), ``feature_names`` (words), ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import fetch_course
    >>> data, y = fetch_course(return_X_y=True)  # doctest: +SKIP
    """
    if kind not in FILE_STEMS:
        raise ValueError(f"kind must be one of {', '.join(FILE_STEMS)}, got {kind!r}")
    if len(widths) != 2 or min(widths) < 1:
        raise ValueError(f"widths must be two integers >= 1, got {widths!r}")

    def build(arrays: Arrays) -> LoadedData:
        views, words = build_views(kind, arrays, widths)
        return as_bunch(
            DESCR,
            views,
            arrays["y"],
            arrays["target_names"],
            feature_names=words,
            return_X_y=return_X_y,
        )

    source = TFIDF if kind == "tfidf" else SOURCE
    return load(source, FILE_STEMS[kind], build, data_home, download_if_missing, progress)
