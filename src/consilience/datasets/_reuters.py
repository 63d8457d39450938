"""Reuters RCV1/RCV2 multilingual: news in five languages."""

from __future__ import annotations

import numpy as np

from consilience.datasets._store import Source, as_bunch, load, sparse_view

__all__ = ["fetch_reuters_multilingual"]

DESCR = """Reuters RCV1/RCV2 multilingual: news and their translations, one view per language.

Bags of words in English (EN), French (FR), German (GR), Italian (IT) and Spanish (SP), six
classes.
subset="full": all stories written in the language ``source``, translated to the other four
(English 18 758, French 26 648, German 29 953, Italian 24 039, Spanish 12 342).
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

LANGUAGES = ("EN", "FR", "GR", "IT", "SP")
SOURCE = Source("reuters_multilingual")


def view_names(arrays):
    """Views that are stored as the parts of a CSR matrix, in the order of the file."""
    return [key.removesuffix("_indptr") for key in arrays if key.endswith("_indptr")]


def fetch_reuters_multilingual(
    *,
    subset="full",
    source="EN",
    data_home=None,
    download_if_missing=True,
    progress=None,
    return_X_y=False,
):
    """Load the multilingual Reuters news as five sparse views, one for each language.

    Parameters
    ----------
    subset : {"full", "1200", "600"}, default="full"
        The whole collection, or a balanced sample of English stories.
    source : {"EN", "FR", "GR", "IT", "SP"}, default="EN"
        The language in which the stories were written; the samples have English ones only.
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
        ``data`` (MultiViewData, 5 sparse views), ``target``, ``target_names``, ``splits`` (none are
        official: empty), ``DESCR``.
    """
    if str(subset) not in ("full", "1200", "600"):
        raise ValueError(f"subset must be 'full', '1200' or '600', got {subset!r}")
    if source not in LANGUAGES:
        raise ValueError(f"source must be one of {', '.join(LANGUAGES)}, got {source!r}")
    if str(subset) != "full" and source != "EN":
        raise ValueError(f"subset {subset!r} has stories written in English (EN) only")
    stem = f"reuters_{source.lower()}" if subset == "full" else f"reuters{subset}"

    def build(arrays):
        numbered = [f"class {code}" for code in range(6)]
        return as_bunch(
            DESCR,
            {name: sparse_view(arrays, name) for name in view_names(arrays)},
            arrays["y"],
            arrays.get("target_names", np.array(numbered)),
            return_X_y=return_X_y,
        )

    return load(SOURCE, stem, build, data_home, download_if_missing, progress)
