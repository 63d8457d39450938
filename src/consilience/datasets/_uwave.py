"""uWave: gestures measured by the three axes of an accelerometer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from consilience.datasets._archives import find_file
from consilience.datasets._download import RemoteFile
from consilience.datasets._formats import read_ts
from consilience.datasets._source import DatasetSource, DownloadRoute, load
from consilience.datasets._store import Arrays, LoadedData, as_bunch, leading_rows_split

__all__ = ["fetch_uwave"]

DESCR = """uWave: 4 478 recordings of 8 gestures, one view for each axis of an accelerometer.

UWaveGestureLibraryAll of the UCR archive: views x, y, z of 315 values each, every series
z-normalised.
splits["official"]: 896 training and 3 582 test recordings. target_names are the gesture numbers.
Where the folder has been filled from the raw recordings, sample_info has subject, day and
repetition for splits by subject or day, and the test rows are sorted by them; a download has the
archive's order.

J. Liu, L. Zhong, J. Wickramasuriya, V. Vasudevan (2009), uWave: accelerometer-based personalized
gesture recognition and its applications, Pervasive and Mobile Computing 5(6); H. A. Dau et al.
(2018), The UCR time series classification archive. Licence: none stated, public for research.
"""

AXIS_KEYS = {"x": "x", "y": "y_axis", "z": "z"}
AXIS_LENGTH = 315


def convert(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """Read series of 945 values, in which the three axes follow one another."""
    parts = [
        read_ts(find_file(folder, f"UWaveGestureLibraryAll_{part}.ts"))
        for part in ("TRAIN", "TEST")
    ]
    values = np.concatenate([values.reshape(len(values), -1) for values, _ in parts])
    if values.shape[1] != 3 * AXIS_LENGTH:
        raise ValueError(f"series of {values.shape[1]} values instead of {3 * AXIS_LENGTH}")
    axes = np.split(values.astype(np.float32), 3, axis=1)
    yield (
        "uwave",
        {
            **dict(zip(AXIS_KEYS.values(), axes, strict=True)),
            "y": np.concatenate([labels for _, labels in parts]).astype(np.uint8),
            "n_train": np.int64(len(parts[0][1])),
        },
    )


SOURCE = DatasetSource(
    "uwave",
    routes=(
        DownloadRoute(
            (
                RemoteFile(
                    "uwave.zip",
                    (
                        "https://timeseriesclassification.com/aeon-toolkit/UWaveGestureLibraryAll.zip",
                    ),
                    trust_first_use=True,
                ),
            ),
            convert,
        ),
    ),
    rows={"uwave": 4_478},
)


def fetch_uwave(
    *,
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Load the uWave gestures as three views, one for each axis.

    Parameters
    ----------
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
        ``data`` (MultiViewData, 4 478 samples), ``target``, ``target_names``, ``splits``
        ("official"), ``sample_info`` (subject, day, repetition where known), ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import fetch_uwave
    >>> data, y = fetch_uwave(return_X_y=True)  # doctest: +SKIP
    """

    def build(arrays: Arrays) -> LoadedData:
        gesture = arrays["y"]
        known = [key for key in ("subject", "day", "repetition") if key in arrays]
        return as_bunch(
            DESCR,
            {view: arrays[key] for view, key in AXIS_KEYS.items()},
            gesture.astype(np.intp) - 1,
            [str(number) for number in range(1, 9)],
            splits=leading_rows_split(int(arrays["n_train"]), len(gesture)),
            sample_info={key: arrays[key] for key in known},
            return_X_y=return_X_y,
        )

    return load(SOURCE, "uwave", build, data_home, download_if_missing, progress)
