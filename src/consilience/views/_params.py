"""Parameters inside a dict of view -> estimator, reachable as ``view__param``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator

from consilience.views._storage import shown

__all__ = ["PerViewParams", "per_view"]


class PerViewParams(BaseEstimator):
    """Estimator whose parameter named by ``_per_view`` may be a dict of view -> estimator."""

    _per_view: str = "estimator"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; with ``deep``, those of the estimators of single views as well.

        Parameters
        ----------
        deep : bool, default=True
            Include parameters of nested estimators.

        Returns
        -------
        dict
        """
        params = super().get_params(deep=deep)
        members = params[self._per_view]
        if deep and isinstance(members, Mapping):
            for view, member in members.items():
                params.setdefault(view, member)
                if hasattr(member, "get_params"):
                    nested = member.get_params(deep=True)
                    params.update({f"{view}__{key}": value for key, value in nested.items()})
        return params

    def set_params(self, **params: Any) -> PerViewParams:
        """Set parameters; ``view__param`` reaches into the estimator of one view.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
        """
        # first the whole dict, if it is among them, so that the nested names find it
        if self._per_view in params:
            setattr(self, self._per_view, params.pop(self._per_view))
        members = getattr(self, self._per_view)
        if isinstance(members, Mapping):
            own = super().get_params(deep=False)
            replaced = {k: params.pop(k) for k in list(params) if k in members and k not in own}
            if replaced:
                members = {**members, **replaced}
                setattr(self, self._per_view, members)
            for key in list(params):
                view, _, name = key.partition("__")
                if name and view in members and view not in own:
                    members[view].set_params(**{name: params.pop(key)})
        super().set_params(**params)
        return self


def per_view(value: Any, names: tuple[str, ...], parameter: str) -> dict[str, Any]:
    """One value for every view, or the entries of a dict that must name exactly the views."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    unknown = [name for name in value if name not in names]
    lacking = [name for name in names if name not in value]
    if unknown or lacking:
        raise ValueError(
            f"{parameter} must have one entry for each of the views {shown(names)}; "
            + (f"it has unknown {shown(unknown)}" if unknown else "")
            + (" and " if unknown and lacking else "")
            + (f"it lacks {shown(lacking)}" if lacking else "")
        )
    return {name: value[name] for name in names}
