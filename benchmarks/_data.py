"""Real data for the benchmark scripts, from a mirror beside the checkout or the user's own."""

import os
from pathlib import Path

import numpy as np

from consilience.datasets import load_dataset

MIRROR = Path(os.environ.get("CONSILIENCE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def available(quick=False):
    """Whether to measure on real data: not in a quick run, and only if they are there."""
    if quick:
        print("real data: left out of a quick run")
    elif not MIRROR.is_dir():
        print("real data: not found, see CONSILIENCE_DATA")
    else:
        return True
    return False


def load(name):
    return load_dataset(name, data_home=MIRROR, download_if_missing=False)


def real(name, rows=20_000):
    """The first rows of a data set (None: all) and their labels."""
    bunch = load(name)
    return bunch.data[:rows], bunch.target[:rows]


def few_labels(y, n_train, seed, n_test=2000):
    """Balanced training rows (at least two of each class) and up to ``n_test`` other rows."""
    rng = np.random.RandomState(seed)
    classes = np.unique(y)
    size = max(2, n_train // len(classes))
    train = np.concatenate([rng.permutation(np.flatnonzero(y == k))[:size] for k in classes])
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), train))
    return train, rest[:n_test]
