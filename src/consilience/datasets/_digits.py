"""Views of scikit-learn's bundled digits: quarters of the image, or different representations."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from consilience.views import MultiViewData

__all__ = ["load_digits_views"]

DESCR = """Handwritten digits as several views.

1797 images of 8 x 8 pixels, ten classes: the test part of the UCI set "Optical Recognition of
Handwritten Digits" (E. Alpaydin and C. Kaynak, 1998, CC BY 4.0), bundled with scikit-learn.

kind="quarters": the four 4 x 4 quarters of the image, each a weak view of 16 pixels.
kind="features": pixels (64); fourier, magnitudes of the 2-D spectrum (40); profiles, row and column
sums and the depth of the outline from the four sides (48); gradients, orientation histograms of the
four quarters (32); moments, mass and normalised central moments up to order four (13).
"""


def quarters(images: np.ndarray) -> dict[str, np.ndarray]:
    """Top left, top right, bottom left, bottom right."""
    parts = {
        "top_left": images[:, :4, :4],
        "top_right": images[:, :4, 4:],
        "bottom_left": images[:, 4:, :4],
        "bottom_right": images[:, 4:, 4:],
    }
    return {name: part.reshape(len(images), -1) for name, part in parts.items()}


def fourier(images: np.ndarray) -> np.ndarray:
    """Magnitudes of the two-dimensional spectrum, which do not change when the digit is shifted."""
    return np.abs(np.fft.rfft2(images)).reshape(len(images), -1)


def profiles(images: np.ndarray) -> np.ndarray:
    """Row sums, column sums, and the distance of the ink from each side (0 … 8)."""

    def depth(ink: np.ndarray) -> np.ndarray:
        return np.where(ink.any(axis=2), ink.argmax(axis=2), ink.shape[2])

    ink = images > 4
    turned = ink.transpose(0, 2, 1)
    outline = [depth(ink), depth(ink[:, :, ::-1]), depth(turned), depth(turned[:, :, ::-1])]
    return np.hstack([images.sum(axis=2), images.sum(axis=1), *outline]).astype(np.float64)


def gradients(images: np.ndarray, n_orientations: int = 8) -> np.ndarray:
    """Histograms of gradient directions, weighted by magnitude, in each quarter."""
    dy, dx = np.gradient(images, axis=(1, 2))
    magnitude = np.hypot(dx, dy)
    angle = np.arctan2(dy, dx) % (2 * np.pi)
    direction = (angle / (2 * np.pi) * n_orientations).astype(int) % n_orientations
    maps = magnitude[..., None] * (direction[..., None] == np.arange(n_orientations))
    cells = maps.reshape(len(images), 2, 4, 2, 4, n_orientations).sum(axis=(2, 4))
    return cells.reshape(len(images), -1)


def moments(images: np.ndarray, order: int = 4) -> np.ndarray:
    """Mass, and central moments x^p y^q of order 2 … 4, normalised by the mean spread."""
    grid = np.arange(images.shape[1], dtype=np.float64)
    mass = images.sum(axis=(1, 2))
    x = grid - (images.sum(axis=1) @ grid / mass)[:, None]
    y = grid - (images.sum(axis=2) @ grid / mass)[:, None]
    powers = [(p, s - p) for s in range(2, order + 1) for p in range(s + 1)]
    central = {
        pq: np.einsum("nij,ni,nj->n", images, y ** pq[1], x ** pq[0]) / mass for pq in powers
    }
    spread = np.sqrt((central[2, 0] + central[0, 2]) / 2)
    return np.column_stack([mass, *(m / spread ** (p + q) for (p, q), m in central.items())])


def load_digits_views(*, kind: str = "quarters", return_X_y: bool = False) -> Any:
    """Load the bundled digits as several views; nothing is downloaded.

    Parameters
    ----------
    kind : {"quarters", "features"}, default="quarters"
        Four quarters of the image (16 pixels each), or five representations of the whole image:
        pixels, fourier, profiles, gradients, moments.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data`` (MultiViewData, 1797 samples), ``target``, ``target_names``, ``splits`` (none
        are official: an empty dict) and ``DESCR``.

    Examples
    --------
    >>> from consilience.datasets import load_digits_views
    >>> load_digits_views(kind="features").data
    MultiViewData: 1797 samples, 5 views
      pixels     features  64 columns  float64  0.0% missing
      fourier    features  40 columns  float64  0.0% missing
      profiles   features  48 columns  float64  0.0% missing
      gradients  features  32 columns  float64  0.0% missing
      moments    features  13 columns  float64  0.0% missing
    """
    digits = load_digits()
    images = digits.images
    if kind == "quarters":
        views = quarters(images)
    elif kind == "features":
        views = {
            "pixels": digits.data,
            "fourier": fourier(images),
            "profiles": profiles(images),
            "gradients": gradients(images),
            "moments": moments(images),
        }
    else:
        raise ValueError(f"kind must be 'quarters' or 'features', got {kind!r}")
    data = MultiViewData(views)
    if return_X_y:
        return data, digits.target
    return Bunch(
        data=data,
        target=digits.target,
        target_names=digits.target_names,
        splits={},
        DESCR=DESCR,
    )
