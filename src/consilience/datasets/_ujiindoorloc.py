"""UJIIndoorLoc: Wi-Fi fingerprints, with the access points divided into two views."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from consilience.datasets._archives import find_file
from consilience.datasets._download import RemoteFile
from consilience.datasets._source import DatasetSource, DownloadRoute, load
from consilience.datasets._store import Arrays, LoadedData, as_bunch, leading_rows_split

__all__ = ["fetch_ujiindoorloc"]

DESCR = """UJIIndoorLoc: 21 048 Wi-Fi fingerprints of 520 access points in three buildings.

Signal strengths in dBm (-104 … 0) are scaled to (0, 1] by (s + 105) / 105, and an access point
that was not detected is 0; the columns are assigned at random to two views of 300 and 220, as Mao
and Sun (2016) do. task="indoor": buildings 0 and 1 (class 1) against 2, the paper's whole set;
task="indoor_subset": building 0 against 1, without the rows of building 2; task="building": three
classes; task="floor": five. splits["official"]: 19 937 training and 1 111 validation rows (for the
subset 10 445 and 843; the paper's own counts do not add up).

J. Torres-Sospedra et al. (2014), UJIIndoorLoc: a new multi-building and multi-floor database for
WLAN fingerprint-based indoor localization problems, IPIN. UCI Machine Learning Repository, id 310,
doi 10.24432/C5MS59. Licence: CC BY 4.0.
"""

WIDTHS = {"wifi_a": 300, "wifi_b": 220}
NOT_DETECTED = 100
COLUMNS = {
    "longitude": ("longitude", np.float64),
    "latitude": ("latitude", np.float64),
    "floor": ("floor", np.uint8),
    "buildingid": ("building", np.uint8),
    "spaceid": ("space_id", np.int16),
    "relativeposition": ("relative_position", np.uint8),
    "userid": ("user_id", np.uint8),
    "phoneid": ("phone_id", np.uint8),
    "timestamp": ("timestamp", np.int64),
}
TASKS = {
    "indoor": ["building 2", "building 0 or 1"],
    "indoor_subset": ["building 0", "building 1"],
    "building": ["building 0", "building 1", "building 2"],
    "floor": [f"floor {number}" for number in range(5)],
}


def convert(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """Read two tables with a header: 520 signals, then columns about the place and the phone."""
    tables = []
    for name in ("trainingData.csv", "validationData.csv"):
        path = find_file(folder, name)
        with open(path, encoding="ascii") as file:
            header = [title.strip().strip('"') for title in next(file).split(",")]
            if [title.lower() for title in header[-len(COLUMNS) :]] != list(COLUMNS):
                raise ValueError(f"{name} has the columns {header[-len(COLUMNS) :]}")
            tables.append(np.loadtxt(file, delimiter=",", ndmin=2))
    rows = np.vstack(tables)
    arrays: Arrays = {"rssi": rows[:, : -len(COLUMNS)].astype(np.int8)}
    for position, (key, dtype) in enumerate(COLUMNS.values()):
        arrays[key] = rows[:, position - len(COLUMNS)].astype(dtype)
    if arrays["rssi"].shape[1] != sum(WIDTHS.values()):
        raise ValueError(f"{arrays['rssi'].shape[1]} access points instead of 520")
    yield "ujiindoorloc", {**arrays, "n_train": np.int64(len(tables[0]))}


SOURCE = DatasetSource(
    "ujiindoorloc",
    routes=(
        DownloadRoute(
            (
                RemoteFile(
                    "ujiindoorloc.zip",
                    ("https://archive.ics.uci.edu/static/public/310/ujiindoorloc.zip",),
                    "sha256:893512b82dfd7a7c345d84195b1c8019fbca0fa0d7820ce491ce5aa45ec3782f",
                ),
            ),
            convert,
        ),
    ),
    digests={
        "ujiindoorloc": {
            "rssi": "71beb6c3bcd5b9227bd37fa4f3a3e83dbc73c2c34e6eedac8e3382a07379ff13",
            "building": "d83b9d2bec8c68e2d26b573d37eb0a2a67aa4f1f1d8c2b53a90818414cb19e1d",
            "floor": "6cc1adc040ac6f5780f2f7a55ea1134c1bc9bc8acd05c93c024ead3417fc237e",
        }
    },
)


def scale_signals(rssi: np.ndarray) -> sp.csr_array:
    """Signal strengths in (0, 1], zero where the access point was not detected."""
    detected = rssi != NOT_DETECTED
    rows, columns = np.nonzero(detected)
    strength = (rssi[detected].astype(np.float64) + 105) / 105
    # scikit-learn's linear models accept 32-bit indices only
    indices = rows.astype(np.int32), columns.astype(np.int32)
    return sp.csr_array((strength, indices), shape=rssi.shape)


def task_labels(task: str, building: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """Class codes of a task."""
    if task == "indoor":
        return building < 2
    return floor if task == "floor" else building


def fetch_ujiindoorloc(
    *,
    task: str = "indoor",
    random_state: Any = 0,
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Load Wi-Fi fingerprints as two views of 300 and 220 access points.

    Parameters
    ----------
    task : {"indoor", "indoor_subset", "building", "floor"}, default="indoor"
        What to predict: buildings 0 and 1 against 2, or building 0 against 1 (both from Mao and
        Sun 2016), the building, or the floor.
    random_state : int, RandomState or None, default=0
        Seed of the assignment of columns to the two views.
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
        ``data`` (MultiViewData, 21 048 samples; 11 288 in the subset), ``target``,
        ``target_names``, ``splits`` ("official"), ``feature_names`` (number of the access
        point), ``sample_info`` (position, floor, building, user, phone, time), ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import fetch_ujiindoorloc
    >>> data, y = fetch_ujiindoorloc(return_X_y=True)  # doctest: +SKIP
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}")
    columns = check_random_state(random_state).permutation(sum(WIDTHS.values()))
    parts = dict(zip(WIDTHS, np.split(columns, [WIDTHS["wifi_a"]]), strict=True))

    def build(arrays: Arrays) -> LoadedData:
        building, n_train = arrays["building"], int(arrays["n_train"])
        keep = building < 2 if task == "indoor_subset" else np.ones(len(building), dtype=bool)
        signals = scale_signals(arrays["rssi"][keep])
        return as_bunch(
            DESCR,
            {name: signals[:, part] for name, part in parts.items()},
            task_labels(task, building, arrays["floor"])[keep],
            TASKS[task],
            splits=leading_rows_split(int(keep[:n_train].sum()), int(keep.sum())),
            feature_names={name: part + 1 for name, part in parts.items()},
            sample_info={key: arrays[key][keep] for key, _ in COLUMNS.values()},
            return_X_y=return_X_y,
        )

    return load(SOURCE, "ujiindoorloc", build, data_home, download_if_missing, progress)
