"""UCI Internet Advertisements: images on web pages, described by their text and links."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from consilience.datasets._archives import find_file
from consilience.datasets._download import RemoteFile
from consilience.datasets._source import DatasetSource, DownloadRoute, load
from consilience.datasets._store import Arrays, LoadedData, as_bunch

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

WORD_COUNTS = {"url": 457, "origurl": 495, "ancurl": 472, "alt": 111, "caption": 19}
PAPER_VIEWS = {"image": ("url", "alt", "caption"), "links": ("origurl", "ancurl")}


def read_names(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Names of the columns in order, and the group of each, which precedes the asterisk."""
    names, content = [], path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    for line in text.splitlines():
        line = line.partition("|")[0].strip()
        if ":" in line:
            names.append(line.rpartition(":")[0].strip())
    groups = [name.partition("*")[0] for name in names]
    return np.array(names), np.array([g if g in WORD_COUNTS else "geometry" for g in groups])


def convert(folder: Path) -> Iterator[tuple[str, Arrays]]:
    """Read comma-separated values with a question mark for missing ones and the class last."""
    names, group = read_names(find_file(folder, "ad.names"))
    rows, labels = [], []
    with open(find_file(folder, "ad.data"), encoding="latin-1") as file:
        for line in filter(str.strip, file):
            *values, label = (value.strip() for value in line.split(","))
            rows.append([np.nan if value == "?" else float(value) for value in values])
            labels.append(label.rstrip("."))
    table, classes = np.array(rows), ["nonad", "ad"]
    if table.shape[1:] != names.shape or not set(labels) <= set(classes):
        raise ValueError(
            f"{table.shape} values for {len(names)} names and the classes {set(labels)}"
        )
    words = {name: table[:, group == name] for name in WORD_COUNTS}
    if not all(np.isin(values, (0, 1)).all() for values in words.values()):
        raise ValueError("a word indicator is neither 0 nor 1")
    yield (
        "ads",
        {
            "y": np.array([classes.index(label) for label in labels], dtype=np.uint8),
            "target_names": np.array(classes),
            "feature_names": names,
            "feature_group": group,
            "geometry": table[:, group == "geometry"].astype(np.float32),
            **{name: values.astype(np.uint8) for name, values in words.items()},
        },
    )


SOURCE = DatasetSource(
    "ads",
    routes=(
        DownloadRoute(
            (
                RemoteFile(
                    "ads.zip",
                    ("https://archive.ics.uci.edu/static/public/51/internet+advertisements.zip",),
                ),
            ),
            convert,
            members={
                "ad.data": "sha256:4841bab145e0b2df2bc17893ecd9d62f8fbeac2c389b41ca59d77da682c0c4eb"
            },
        ),
    ),
    rows={"ads": 3_279},
    digests={
        "ads": {
            "y": "20a344917f79693bd0a6b904afb3e0e2938c9b4e25009aaf9f25b4acdeb8b64b",
            "geometry": "f4be825904dd040f76eeaf9ce36202eb0c37232322cdff05e677c9ca4c617799",
            "url": "d692ca0d62398795d2ef5f64339ae0a35cb6248bee2bff070aac6641aaf5c0ff",
            "origurl": "1dafc198909ce0e20bc245a996fa9f27471cc955dec5998aec5c9b19fd8122aa",
            "ancurl": "4133343563eacdcee2caaae812e05ac71b672a0a6d0cb1e30abad9a7e5b81cbd",
            "alt": "fa91e149d5cdf35854e47662374345cd7015b1ceba1610cf41ed0bb9cce98414",
            "caption": "38247fd1a0b370f4eea156379f26b545a3b657627f6a11d4917ec628f75242a1",
        }
    },
)


def word_view(arrays: Arrays, groups: tuple[str, ...]) -> sp.csr_array:
    """Concatenate groups of binary columns."""
    return sp.csr_array(np.hstack([arrays[group] for group in groups]), dtype=np.float64)


def column_names(arrays: Arrays, groups: tuple[str, ...]) -> np.ndarray:
    """Names of the columns of these groups."""
    names, name_groups = arrays["feature_names"], arrays["feature_group"]
    return np.concatenate([names[name_groups == group] for group in groups])


def fetch_ads(
    *,
    views: str = "paper",
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    progress: bool | None = None,
    return_X_y: bool = False,
) -> LoadedData:
    """Load the UCI Internet Advertisements as two or six views.

    Parameters
    ----------
    views : {"paper", "groups"}, default="paper"
        The two views of Mao and Sun (2016), or the six groups of columns of the original.
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
        ``data`` (MultiViewData, 3 279 samples), ``target`` (1 = advertisement),
        ``target_names``, ``splits`` (empty: there is no official one), ``feature_names``,
        ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import fetch_ads
    >>> data, y = fetch_ads(return_X_y=True)  # doctest: +SKIP
    """
    if views not in ("paper", "groups"):
        raise ValueError(f"views must be 'paper' or 'groups', got {views!r}")

    def build(arrays: Arrays) -> LoadedData:
        groups = PAPER_VIEWS if views == "paper" else {name: (name,) for name in WORD_COUNTS}
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
            feature_names={name: column_names(arrays, parts) for name, parts in groups.items()},
            return_X_y=return_X_y,
        )

    return load(SOURCE, "ads", build, data_home, download_if_missing, progress)
