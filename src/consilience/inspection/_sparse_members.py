"""Contributions of columns in the sparse linear methods; columns off the panel have none."""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.inspection._family_members import (
    ViewPart,
    ViewParts,
    linear_part,
    logistic_part,
    present_shares,
)
from consilience.views import MultiViewData

__all__ = ["block_spls_parts", "penalised_parts", "stacked_parts"]


def penalised_parts(model: Any, means: dict[str, np.ndarray]) -> ViewParts:
    """Penalised regressions: one sum of coefficients over all views, the logits are the scores."""
    coefs = dict(zip(model.view_names_, model._coefs, strict=True))
    parts = {name: linear_part(coefs[name], means[name]) for name in coefs if name in means}
    return ViewParts(parts, _presence)


def block_spls_parts(model: Any, means: dict[str, np.ndarray]) -> ViewParts | None:
    """Averages of the views' regressions on their components; votes have no contributions."""
    if not model.prediction.endswith("average"):
        return None
    parts: dict[str, ViewPart] = {}
    for name, rotation, regression in zip(
        model.view_names_, model._rotations, model._regressions, strict=True
    ):
        if name in means:
            parts[name] = linear_part(rotation @ (regression * model._y_scale), means[name])
    votes = model._correlations.mean(axis=1)
    return ViewParts(
        parts,
        present_shares(votes if model.prediction.startswith("weighted") else (votes > 0) * 1.0),
    )


def stacked_parts(model: Any, means: dict[str, np.ndarray]) -> ViewParts:
    """Probabilities of the views' logistic regressions, with the weights of the final vote."""
    parts: dict[str, ViewPart] = {}
    for name, point in zip(model.view_names_, model._points, strict=True):
        if point is None or name not in means:
            continue
        coef, intercept = point
        if coef.shape[1] == 1:
            coef = np.hstack([-coef, coef]) / 2
            intercept = np.concatenate([-intercept, intercept]) / 2
        parts[name] = logistic_part(coef, intercept, means[name])
    return ViewParts(parts, lambda data: data.present * model.final_coef_)


def _presence(data: MultiViewData) -> np.ndarray:
    return data.present.astype(np.float64)
