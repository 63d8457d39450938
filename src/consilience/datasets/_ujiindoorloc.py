"""UJIIndoorLoc: Wi-Fi fingerprints, the access points dealt out to two views."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from consilience.datasets._store import Source, as_bunch, first_rows_split, load

__all__ = ["fetch_ujiindoorloc"]

DESCR = """UJIIndoorLoc: 21 048 Wi-Fi fingerprints of 520 access points in three buildings.

Signal strengths in dBm (-104 … 0) are scaled to (0, 1] by (s + 105) / 105, and an access point
that was not heard is 0; the columns are dealt out at random to two views of 300 and 220, as Mao
and Sun (2016) do. task="indoor": buildings 0 and 1 (class 1) against 2, the paper's whole set;
task="indoor_subset": building 0 against 1, without the rows of building 2; task="building": three
classes; task="floor": five. splits["official"]: 19 937 training and 1 111 validation rows (for the
subset 10 445 and 843; the paper's own counts do not add up).

J. Torres-Sospedra et al. (2014), UJIIndoorLoc: a new multi-building and multi-floor database for
WLAN fingerprint-based indoor localization problems, IPIN. UCI Machine Learning Repository, id 310,
doi 10.24432/C5MS59. Licence: CC BY 4.0.
"""

WIDTHS = {"wifi_a": 300, "wifi_b": 220}
NOT_HEARD = 100
INFO = ("longitude", "latitude", "floor", "building", "space_id", "relative_position", "user_id",
        "phone_id", "timestamp")  # fmt: skip
TASKS = {
    "indoor": ["building 2", "building 0 or 1"],
    "indoor_subset": ["building 0", "building 1"],
    "building": ["building 0", "building 1", "building 2"],
    "floor": [f"floor {number}" for number in range(5)],
}
SOURCE = Source("ujiindoorloc")


def scaled_signals(rssi):
    """Signal strengths in (0, 1], zero where the access point was not heard."""
    heard = rssi != NOT_HEARD
    rows, columns = np.nonzero(heard)
    strength = (rssi[heard].astype(np.float64) + 105) / 105
    return sp.csr_array((strength, (rows, columns)), shape=rssi.shape)


def labels_of(task, building, floor):
    """Class codes of a task."""
    if task == "indoor":
        return building < 2
    return floor if task == "floor" else building


def fetch_ujiindoorloc(
    *,
    task="indoor",
    random_state=0,
    data_home=None,
    download_if_missing=True,
    progress=None,
    return_X_y=False,
):
    """Load Wi-Fi fingerprints as two views of 300 and 220 access points.

    Parameters
    ----------
    task : {"indoor", "indoor_subset", "building", "floor"}, default="indoor"
        What to predict: buildings 0 and 1 against 2, or building 0 against 1 (both from Mao and
        Sun 2016), the building, or the floor.
    random_state : int, RandomState or None, default=0
        Seed of the deal of the columns to the two views.
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
        ``data`` (MultiViewData, 21 048 samples; 11 288 in the subset), ``target``,
        ``target_names``, ``splits`` ("official"), ``feature_names`` (number of the access
        point), ``sample_info`` (position, floor, building, user, phone, time), ``DESCR``.
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}")
    columns = check_random_state(random_state).permutation(sum(WIDTHS.values()))
    parts = dict(zip(WIDTHS, np.split(columns, [WIDTHS["wifi_a"]]), strict=True))

    def build(arrays):
        building, n_train = arrays["building"], int(arrays["n_train"])
        keep = building < 2 if task == "indoor_subset" else np.ones(len(building), dtype=bool)
        signals = scaled_signals(arrays["rssi"][keep])
        return as_bunch(
            DESCR,
            {name: signals[:, part] for name, part in parts.items()},
            labels_of(task, building, arrays["floor"])[keep],
            TASKS[task],
            splits=first_rows_split(int(keep[:n_train].sum()), int(keep.sum())),
            feature_names={name: part + 1 for name, part in parts.items()},
            sample_info={key: arrays[key][keep] for key in INFO},
            return_X_y=return_X_y,
        )

    return load(SOURCE, "ujiindoorloc", build, data_home, download_if_missing, progress)
