"""When something happens in the signals of a sample: what one signal says about another.

Signals of one sample share their time: a movement that begins late is late in all of its axes, and
a pause is a pause in all of them, whatever the values are. The rhythm of a signal is the logarithm
of its mean absolute change between neighbouring points, in about 32 windows of equal length.
Rhythms predict each other as the components of views do (``_cross_view``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._model_types import model_type
from consilience.trust._cross_view import CrossViewModel, fit_cross_views
from consilience.views import MultiViewData
from consilience.views._local_patterns import scale_signal, signal_unit
from consilience.views._maps import ViewMap

__all__ = ["Rhythm", "RhythmModel", "fit_rhythms"]

N_WINDOWS = 32
MIN_POINTS = 16  # of a signal
MIN_CHANGE = 0.01  # that is added to changes, in units of their mean over the training rows


@model_type("trust.Rhythm")
@dataclass(frozen=True, eq=False)
class Rhythm:
    """The map of a signal, and the change that is added before logarithms are taken."""

    map: ViewMap
    floor: float

    @property
    def length(self) -> int:
        """Number of changes in a window."""
        return max(1, (len(self.map.columns) - 1) // N_WINDOWS)

    @property
    def width(self) -> int:
        """Number of windows."""
        return (len(self.map.columns) - 1) // self.length

    def __call__(self, X: Any) -> np.ndarray:
        """Rhythms (n x width) of rows of the view."""
        changes = signal_changes(self.map, X)[:, : self.width * self.length]
        windows = changes.reshape(len(changes), self.width, self.length)
        return np.log(windows.mean(axis=2) + self.floor)


@model_type("trust.RhythmModel")
@dataclass(frozen=True, eq=False)
class RhythmModel:
    """Rhythms of the views that are signals, and how they predict each other."""

    rhythms: dict[str, Rhythm]
    cross_views: CrossViewModel

    def agreements(self, data: MultiViewData) -> np.ndarray:
        """Mean evidence (n x V) that the rhythm of each view is that of the sample's other signals.

        0 for views that are no signals, and where there is no other signal.
        """
        out = np.zeros(data.present.shape)
        Cs, _ = self.cross_views.transform(rhythm_views(data, self.rhythms))
        for v, name in enumerate(self.rhythms):
            agreement = self.cross_views.agreement(Cs, v, Cs[v])
            out[:, data.view_names.index(name)] = agreement
        return out


def signal_changes(view_map: ViewMap, X: Any) -> np.ndarray:
    """Absolute changes (n x points − 1) between neighbouring points, in units of the signals."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    values = np.asarray(X[:, view_map.columns], dtype=np.float64)
    level, unit = signal_unit(view_map.mean, view_map.scale)
    return np.abs(np.diff(scale_signal(values, view_map.mean, level, unit), axis=1))


def fit_rhythms(data: MultiViewData, cross_views: CrossViewModel) -> RhythmModel | None:
    """Rhythms of training rows with these maps of the views; None for fewer than two signals."""
    rhythms = {}
    for v, name in enumerate(data.view_names):
        view_map, rows = cross_views.components[v].map, data.present[:, v]
        if view_map.kind != "standard" or len(view_map.columns) < MIN_POINTS or not rows.any():
            continue
        X = data[rows][name]
        if sp.issparse(X) or not view_map.is_signal(X):
            continue
        floor = MIN_CHANGE * float(signal_changes(view_map, X).mean())
        if floor > 0:
            rhythms[name] = Rhythm(view_map, floor)
    if len(rhythms) < 2:
        return None
    return RhythmModel(rhythms, fit_cross_views(rhythm_views(data, rhythms)))


def rhythm_views(data: MultiViewData, rhythms: dict[str, Rhythm]) -> MultiViewData:
    """The rhythms as views."""
    present = np.array(data.present[:, [data.view_names.index(name) for name in rhythms]])
    views = {}
    for (name, rhythm), has_view in zip(rhythms.items(), present.T, strict=True):
        views[name] = np.zeros((len(data), rhythm.width))
        # nothing is known of the form of a view that no row has
        if has_view.any():
            views[name][has_view] = rhythm(data[has_view][name])
    return MultiViewData(views, present=present)
