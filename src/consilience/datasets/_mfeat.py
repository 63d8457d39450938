"""UCI Multiple Features: six representations of handwritten digits."""

from __future__ import annotations

from consilience.datasets._store import Source, as_bunch, load

__all__ = ["fetch_mfeat"]

DESCR = """Multiple Features: 2 000 handwritten digits, 200 of each class, in six representations.

fou: 76 Fourier coefficients of the outline; fac: 216 profile correlations; kar: 64 Karhunen-Loève
coefficients; pix: 240 averages of 2 x 3 pixels; zer: 47 Zernike moments; mor: 6 morphological
features. Rows are sorted by class; there is no official split.

M. van Breukelen, R. P. W. Duin, D. M. J. Tax, J. E. den Hartog (1998), Handwritten digit
recognition by combined classifiers, Kybernetika 34(4). UCI Machine Learning Repository, id 72, doi
10.24432/C5HC70. Licence: CC BY 4.0.
"""

VIEWS = {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}
SOURCE = Source("mfeat")


def fetch_mfeat(
    *,
    data_home=None,
    download_if_missing=True,
    progress=None,
    return_X_y=False,
):
    """Load the UCI Multiple Features digits as six views.

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
        ``data`` (MultiViewData, 2 000 samples), ``target``, ``target_names``, ``splits`` (none are
        official: empty), ``DESCR``.
    """

    def build(arrays):
        return as_bunch(
            DESCR,
            {name: arrays[name] for name in VIEWS},
            arrays["y"],
            [str(digit) for digit in range(10)],
            return_X_y=return_X_y,
        )

    return load(SOURCE, "mfeat", build, data_home, download_if_missing, progress)
