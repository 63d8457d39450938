"""UCI Internet Advertisements: an image on a page, by what it is and where it leads."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from consilience.datasets._store import Source, as_bunch, load

__all__ = ["fetch_ads"]

DESCR = """Internet Advertisements: 3 279 images on web pages, 459 of them advertisements.

views="paper": the two views of Mao and Sun (2016): image, 587 words of the image's address,
alternative text and caption; links, 967 words of the addresses of its page and of what it links
to.
views="groups": the six groups of the original: geometry (height, width, ratio, whether it is
local), url 457, origurl 495, ancurl 472, alt 111, caption 19. Geometry is not fully known for 920
images, which miss that view. Words are 0 or 1, in CSR matrices. There is no official split; the
paper draws 600 images, half of them to train, a quarter to choose settings, a quarter to test.

N. Kushmerick (1999), Learning to remove Internet advertisements, Autonomous Agents. UCI Machine
Learning Repository, id 51, doi 10.24432/C5V011. Licence: CC BY 4.0.
"""

WORDS = {"url": 457, "origurl": 495, "ancurl": 472, "alt": 111, "caption": 19}
PAPER = {"image": ("url", "alt", "caption"), "links": ("origurl", "ancurl")}
SOURCE = Source("ads")


def word_view(arrays, groups):
    """Groups of binary columns side by side."""
    return sp.csr_array(np.hstack([arrays[group] for group in groups]), dtype=np.float64)


def names_of(arrays, groups):
    """Names of the columns of these groups."""
    names, of = arrays["feature_names"], arrays["feature_group"]
    return np.concatenate([names[of == group] for group in groups])


def fetch_ads(
    *,
    views="paper",
    data_home=None,
    download_if_missing=True,
    progress=None,
    return_X_y=False,
):
    """Load the UCI Internet Advertisements as two or six views.

    Parameters
    ----------
    views : {"paper", "groups"}, default="paper"
        The two views of Mao and Sun (2016), or the six groups of columns of the original.
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
        ``data`` (MultiViewData, 3 279 samples), ``target`` (1 = advertisement),
        ``target_names``, ``splits`` (none are official: empty), ``feature_names``, ``DESCR``.
    """
    if views not in ("paper", "groups"):
        raise ValueError(f"views must be 'paper' or 'groups', got {views!r}")

    def build(arrays):
        groups = PAPER if views == "paper" else {name: (name,) for name in WORDS}
        matrices = {name: word_view(arrays, parts) for name, parts in groups.items()}
        if views == "groups":
            groups = {"geometry": ("geometry",), **groups}
            matrices = {"geometry": arrays["geometry"], **matrices}
        present = np.ones((len(arrays["y"]), len(matrices)), dtype=bool)
        if views == "groups":
            present[:, 0] = ~np.isnan(arrays["geometry"]).any(axis=1)
        return as_bunch(
            DESCR,
            matrices,
            arrays["y"],
            arrays["target_names"],
            present=present,
            feature_names={name: names_of(arrays, parts) for name, parts in groups.items()},
            return_X_y=return_X_y,
        )

    return load(SOURCE, "ads", build, data_home, download_if_missing, progress)
