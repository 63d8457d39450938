"""WebKB course pages: the words of a page and of the links that lead to it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from consilience.datasets._store import Source, as_bunch, load, sparse_view

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
STEMS = {
    "reduced": "course_bow",
    "counts": "course_bow",
    "text": "course_raw",
    "tfidf": "course_tfidf",
}
SOURCE = Source("course")


def most_frequent(counts, width):
    """The columns with the most non-zero rows; the first of equals."""
    return np.argsort(-np.bincount(counts.indices, minlength=counts.shape[1]), kind="stable")[
        :width
    ]


def documents(arrays, view):
    """The pages of a view as strings."""
    text, ends = arrays[f"{view}_bytes"].tobytes(), arrays[f"{view}_offsets"]
    return np.array([text[a:b].decode("latin-1") for a, b in pairwise(ends)], dtype=object)


def matrices_of(kind, arrays, widths):
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
    kind="reduced",
    widths=(500, 82),
    data_home=None,
    download_if_missing=True,
    progress=None,
    return_X_y=False,
):
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
        Whether a set that is not in the folder may be downloaded.
    progress : bool, optional
        Whether a download shows a progress bar; by default where it can be seen.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data`` (MultiViewData, 1 051 samples), ``target`` (1 = course), ``target_names``,
        ``splits`` (none are official: empty), ``feature_names`` (words), ``DESCR``.
    """
    if kind not in STEMS:
        raise ValueError(f"kind must be one of {', '.join(STEMS)}, got {kind!r}")
    if len(widths) != 2 or min(widths) < 1:
        raise ValueError(f"widths must be two numbers >= 1, got {widths!r}")

    def build(arrays):
        views, words = matrices_of(kind, arrays, widths)
        return as_bunch(
            DESCR,
            views,
            arrays["y"],
            arrays["target_names"],
            feature_names=words,
            return_X_y=return_X_y,
        )

    return load(SOURCE, STEMS[kind], build, data_home, download_if_missing, progress)
