"""Real data for the benchmark scripts, read from a mirror of NumPy files beside the checkout."""

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from consilience import MultiViewData
from consilience.datasets import load_digits_views

MIRROR = Path(os.environ.get("CONSILIENCE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def available():
    return MIRROR.is_dir()


def mnist(window=14, rows=None):
    """Quarters of the images; a window above 14 pixels makes them overlap."""
    file = np.load(MIRROR / "mnist" / "mnist.npz")
    images = next(file[k] for k in file.files if file[k].ndim >= 2 and len(file[k]) == 70_000)
    images = images.reshape(-1, 28, 28)[:rows]
    first, last = slice(0, window), slice(28 - window, 28)
    corners = {"tl": (first, first), "tr": (first, last), "bl": (last, first), "br": (last, last)}
    views = {n: images[:, r, c].reshape(len(images), -1) for n, (r, c) in corners.items()}
    return MultiViewData(views), file["y"][:rows].astype(int)


def mfeat():
    file = np.load(MIRROR / "mfeat" / "mfeat.npz")
    return MultiViewData({k: file[k] for k in file.files if k != "y"}), file["y"].astype(int)


def uwave():
    file = np.load(MIRROR / "uwave" / "uwave.npz")
    return MultiViewData({k: file[k] for k in ("x", "y_axis", "z")}), file["y"].astype(int)


def reuters():
    file = np.load(MIRROR / "reuters_multilingual" / "reuters1200.npz")
    names = [k.removesuffix("_indptr") for k in file.files if k.endswith("_indptr")]
    views = {
        n: sp.csr_array(
            (file[f"{n}_data"].astype(float), file[f"{n}_indices"], file[f"{n}_indptr"]),
            shape=tuple(file[f"{n}_shape"]),
        )
        for n in names
    }
    return MultiViewData(views), file["y"].astype(int)


def digits():
    return load_digits_views(return_X_y=True)


SETS = {
    "mnist_1": lambda: mnist(14, 20_000),
    "mnist_2": lambda: mnist(16, 20_000),
    "mfeat": mfeat,
    "digits": digits,
    "uwave": uwave,
    "reuters": reuters,
}


def few_labels(y, n_train, seed, n_test=2000):
    """Balanced training rows (at least two of each class) and up to ``n_test`` other rows."""
    rng = np.random.RandomState(seed)
    classes = np.unique(y)
    size = max(2, n_train // len(classes))
    train = np.concatenate([rng.permutation(np.flatnonzero(y == k))[:size] for k in classes])
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), train))
    return train, rest[:n_test]
